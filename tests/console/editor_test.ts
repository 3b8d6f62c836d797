/** What the editor of the configuration knows of its text. */
import { assert, assertEquals } from "@std/assert";
import { diffLines, hunks, withEndsOf } from "../../src/console/diff.js";
import { findSetting, offsetOf, placeAt } from "../../src/console/json_place.js";
import { maskText, unmaskText } from "../../src/config/mask_text.ts";
import { allSettings, completionAt } from "../../src/pages/console/completion.ts";
import { runUnsliced } from "../../src/util/sliced_work.ts";

/** Where `|` is. */
function placeIn(text: string) {
  const offset = text.indexOf("|");
  const { path, kind, from, to, taken } = placeAt(text.replace("|", ""), offset);
  return { path, kind, word: text.replace("|", "").slice(from, to), taken };
}

Deno.test("editor: where the cursor is, also in a text that is not whole", () => {
  const cases: [text: string, path: (string | number)[], kind: string, word: string, taken?: string[]][] = [
    ["|", [], "value", ""],
    ["{|", [], "name", ""],
    ['{ "a": 1, "la|', [], "name", '"la', ["a", "la"]],
    ['{ "a": 1, "la|nes": 2 }', [], "name", '"lanes"', ["a", "lanes"]],
    ['{ "a": |', ["a"], "value", ""],
    ['{ "a": tr|ue }', ["a"], "value", "true"],
    ['{ "a": "x y|z" }', ["a"], "value", '"x yz"'],
    ['{ "a": tr| "b": 1 }', ["a"], "value", "tr"],
    ['{ "a": "x" | }', ["a"], "value", ""],
    ['{ "a": [1, { "b": 2 }, |] }', ["a", 2], "value", ""],
    ['{ "a": [1, { "b": 2, | }] }', ["a", 1], "name", "", ["b"]],
    ['{ "a": { "b\\"c": { | } } }', ["a", 'b"c'], "name", "", []],
    ['{ "a": { "b": 1 }, | }', [], "name", "", ["a"]],
    ['{ "a": "{[,:", "b": |', ["b"], "value", ""],
    ['}]|{ "a": [', [], "value", ""],
  ];
  for (const [text, path, kind, word, taken = placeIn(text).taken] of cases) {
    assertEquals(placeIn(text), { path, kind, word, taken }, text);
  }
});

Deno.test("editor: a setting is found by its path, in which some names may be any", () => {
  const text =
    '{ "retry": { "rounds": 2 }, "keys": [{ "name": "a" }, { "team": "t" }], "upstreams": { "x.y": { "driver": "chat" } } }';
  const found = (...path: string[]) => {
    const { from, to, isThere } = findSetting(text, path);
    return [text.slice(from, to), isThere];
  };
  assertEquals(found("retry", "rounds"), ['"rounds"', true]);
  assertEquals(found("retry", "budgetMs"), ['"retry"', false]);
  assertEquals(found("keys", "#", "team"), ['"team"', true]);
  assertEquals(found("keys", "#", "lanes"), ['"keys"', false]);
  assertEquals(found("upstreams", "*", "driver"), ['"driver"', true]);
  assertEquals(found("upstreams", "x.y", "relax"), ['"x.y"', false]);
  assertEquals(found("upstreams", "*"), ['"x.y"', true]);
  assertEquals(found("stop"), ["", false]);
});

Deno.test("editor: all settings can be searched, those in lists and under free names, too", () => {
  const settings = new Map(allSettings().map(({ path, description }) => [path, description]));
  assert(settings.size > 200);
  for (const path of ["retry.rounds", "keys.#.budget.dollars", "upstreams.*.timeouts.headMs"]) {
    assert(settings.get(path), path);
  }
});

Deno.test("editor: a problem is found where it stands, else where it would", () => {
  const text = '{ "lanes": { "oss": { "models": [1, { "x.y": 2 }] } } }';
  const at = (path: string) => text.slice(offsetOf(text, path));
  assertEquals(at("lanes.oss.models[1].x.y").startsWith('"x.y": 2'), true);
  assertEquals(at("lanes.oss.models[0]").startsWith("1"), true);
  assertEquals(at("lanes.oss.missing").startsWith('"oss"'), true);
  assertEquals([offsetOf(text, ""), offsetOf(text, "nowhere"), offsetOf("", "a")], [0, 0, 0]);
});

Deno.test("editor: the lines that differ, with some around them", () => {
  const before = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].join("\n");
  const after = ["a", "B", "c", "d", "e", "f", "g", "h", "h2", "i"].join("\n");
  const lines = diffLines(before, after);
  assertEquals(lines.filter(({ kind }) => kind !== " ").map(({ kind, text }) => kind + text), ["-b", "+B", "+h2"]);
  assertEquals(lines.filter(({ kind }) => kind !== "+").map(({ text }) => text).join("\n"), before);
  assertEquals(lines.filter(({ kind }) => kind !== "-").map(({ text }) => text).join("\n"), after);
  assertEquals(hunks(lines, 1).map((line) => line && line.kind + line.text), [
    " a",
    "-b",
    "+B",
    " c",
    undefined,
    " h",
    "+h2",
    " i",
  ]);
  assertEquals([diffLines("x", "x").length, hunks(diffLines("x", "x"))], [1, []]);
});

Deno.test("editor: each line ends as it did, whatever the others do", () => {
  const cases: [before: string, after: string, whole: string][] = [
    ["a\nb\n", "a\nc\n", "a\nc\n"],
    ["a\r\nb\r\n", "a\nnew\nb\n", "a\r\nnew\r\nb\r\n"],
    ["a\nb\r\nc\rd", "a\nb\nc\nd", "a\nb\r\nc\rd"],
    ["a\nb\r\nc\rd", "a\nB\nnew\nc\nd\n", "a\nB\r\nnew\r\nc\rd\r"],
    ["a\nb\r\nc", "a", "a"],
  ];
  for (const [before, after, whole] of cases) {
    assertEquals(withEndsOf(before, after), whole, JSON.stringify([before, after]));
  }
});

Deno.test("editor: what may stand where is what the schema says", () => {
  const names = (...path: (string | number)[]) => completionAt(path).names.map(({ name }) => name);
  assertEquals((names()).includes("upstreams"), true);
  assertEquals((names("upstreams", "mine")).includes("baseUrl"), true);
  assertEquals((names("keys", 3)).includes("secret"), true);
  assertEquals(names("keys", 3, "secret"), ["env", "file"]);
  assertEquals((completionAt(["transport"])).values, ['"fetch"', '"node"']);
  assertEquals((completionAt(["storedKeys"])).values, ["true", "false"]);
  assertEquals((completionAt(["listen", "port"])).values, ["8000"]);
  for (const path of [["constructor"], ["__proto__", "x"], [0], ["listen", "port", "deeper"]]) {
    assertEquals(completionAt(path), { names: [], values: [], description: undefined }, JSON.stringify(path));
  }
});

Deno.test("editor: what is secret is hidden and put back, and nothing else changes", () => {
  const text = `{
  "secret": { "env": "HF_TOKEN" }, "a": "sk-12345678 and more", // no JSON
  "upstreams": { "x": { "headers": { "X-Api-Key": "k\\"1", "x-team": "blue" }, "baseUrl": "http://me:pw@h/v1" } },
  "keys": [{ "secret": "typed here", "name": "token" }, { "secret": "client" }],
  "s\\u0065cret": "escaped name", "b": "sk\\u002d12345678", "url": "redis:\\/\\/:inurl@h", "sk-12345678": 1, "c": "***1***",
  "mcp": { "url": "https://h/mcp?team=blue&api_key=in%20query" }, "list": { "url": "https://h/mcp?team=blue" },
  "password": "no end
}\r\n`;
  const masked = runUnsliced(maskText(text, (plain) => plain.includes("sk-12345678")));
  const hidden = ["12345678", 'k\\"1', "me:pw", "typed here", "escaped name", "inurl", "query", "no end"];
  for (const secret of hidden) assertEquals(masked.text.includes(secret), false, secret);
  for (
    const kept of [
      "HF_TOKEN",
      '"x-team": "blue"',
      '"name": "token"',
      '"secret": "client"',
      'mcp?team=blue"',
      "// no JSON",
    ]
  ) {
    assertEquals(masked.text.includes(kept), true, kept);
  }
  assertEquals(runUnsliced(unmaskText(masked.text, masked)), { text, lost: [] });
});

Deno.test("editor: what is hidden comes back where it is hidden, and nowhere else", () => {
  const masked = runUnsliced(maskText('{ "headers": { "x-key": "typed" }, "url": "http://me:pw@h" }', () => false));
  const put = (text: string) => runUnsliced(unmaskText(text, masked));
  assertEquals(put('{ "headers": { "x-token": "***1***" } }').text, '{ "headers": { "x-token": "typed" } }');
  assertEquals(put('{ "other": "***2***" }').text, '{ "other": "http://me:pw@h" }');
  for (const text of ['{ "name": "***1***" }', '{ "***1***": 1 }', '["***1***"]', '{ "secret": "***3***" }']) {
    assertEquals(put(text), { text, lost: [/"\*.*\*"/.exec(text)![0]] });
  }
});

Deno.test("editor: a comment with a secret is hidden whole and comes back in a comment alone", () => {
  const isSecret = (plain: string) => plain.includes("sk-12345678");
  const text = `{
  // { "secret": "old one" }
  // password = hunter2
  /* "headers": { "x-key": "typed" } */ "a": 1, // sk-12345678
  // "b": "sk\\u002d12345678"
  // http://me:pw@h/
  // keys: one a team, don't { forget
  // "secret": { "env": "HF_TOKEN" },
  "secret": "k1", // "client"
}`;
  const masked = runUnsliced(maskText(text, isSecret));
  for (const secret of ["old one", "hunter2", "typed", "12345678", "me:pw", "k1"]) {
    assertEquals(masked.text.includes(secret), false, secret);
  }
  for (const kept of ["keys: one a team, don't { forget", "HF_TOKEN", '// "client"']) {
    assertEquals(masked.text.includes(kept), true, kept);
  }
  assertEquals(runUnsliced(unmaskText(masked.text, masked)), { text, lost: [] });
  const put = (moved: string) => runUnsliced(unmaskText(moved, masked)).text;
  const [, comment] = /(\/\/"\*\*\*\d+\*\*\*")/.exec(masked.text)!;
  const [, secret] = /"secret": ("\*\*\*\d+\*\*\*")/.exec(masked.text)!;
  assertEquals(put(comment!), '// { "secret": "old one" }');
  assertEquals(put(`[${comment!.slice(2)}]`), `[${comment!.slice(2)}]`);
  // A line that an operator puts into a comment keeps its secret, which stays hidden there.
  assertEquals(put(`// "secret": ${secret}`), '// "secret": "k1"');
  assertEquals(put(`// "name": ${secret}`), `// "name": ${secret}`);
});

Deno.test("editor: comments and trailing commas change no place", () => {
  const text = `{
  // { "a": [
  "keys": [/* "b": */ { "name": "x" }, { "name": "y", },], // "c": 1
}`;
  assertEquals(text.slice(offsetOf(text, "keys[1].name")).startsWith('"name": "y"'), true);
  assertEquals(placeIn('{ "a": 1, // b\n "lis|" }').path, []);
  assertEquals(placeIn('{ "keys": [/* { */ {}, { "na|" }] }'), {
    path: ["keys", 1],
    kind: "name",
    word: '"na"',
    taken: ["na"],
  });
});
