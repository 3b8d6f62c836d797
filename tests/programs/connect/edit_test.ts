import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import process from "node:process";
import { withoutSettings, withSettings } from "../../../src/programs/connect/edit.ts";
import { FormatError, inFile } from "../../../src/programs/connect/formats/format.ts";
import { formatOf } from "../../../src/programs/connect/formats/mod.ts";
import { restored } from "../../../src/programs/connect/undo.ts";
import type { FileFormat, Setting, SettingsFile } from "../../../src/contract/client.ts";

const SETTINGS: readonly Setting[] = [
  { at: ["env", "BASE_URL"], value: "http://127.0.0.1:8000/oss" },
  { at: ["provider", "laneway"], value: { url: "http://127.0.0.1:8000/oss/v1", models: ["glm-5.3"] } },
  { at: ["model"], value: "glm-5.3" },
];

function fileIn(format: FileFormat, settings: readonly Setting[] = SETTINGS): SettingsFile {
  return { path: "/home/user/settings", format, settings };
}

const CASES: { name: string; format: FileFormat; before: string; kept: string[] }[] = [
  {
    name: "JSON with comments, trailing commas and tabs",
    format: "jsonc",
    before: '{\n\t// mine\n\t"model": "old", // the model\n\t"env": { "A": "1", },\n\t"url": "http://x//y",\n}\n',
    kept: ["\t// mine\n", "// the model", '"A": "1"', '"url": "http://x//y"'],
  },
  {
    name: "JSON with CRLF and a byte order mark",
    format: "json",
    before: '\ufeff{\r\n    "theme": "dark",\r\n    "model": "old"\r\n}\r\n',
    kept: ['\ufeff{\r\n    "theme": "dark",\r\n'],
  },
  { name: "JSON on one line", format: "json", before: '{"theme":"dark","nested":{"deep":[1,2]}}', kept: ['"theme"'] },
  { name: "empty JSON", format: "json", before: "", kept: [] },
  {
    name: "TOML with comments and tables",
    format: "toml",
    before: '# mine\nmodel = "old" # the model\n\n[tools]\nweb = true\n\n[[lists]]\nname = "a"\n',
    kept: ["# mine\n", "# the model", "[tools]\nweb = true\n", '[[lists]]\nname = "a"\n'],
  },
  {
    name: "YAML with comments and a layout of its own",
    format: "yaml",
    before: "# mine\nmodel:   old # the model\nlist:\n- a\n- {b: 1}\nquoted: 'x'\n",
    kept: ["# mine\n", "# the model", "list:\n- a\n- {b: 1}\nquoted: 'x'\n"],
  },
];

for (const { name, format, before, kept } of CASES) {
  Deno.test(`connect: ${name}: the settings stand in it, and the rest stays as it was`, () => {
    const file = fileIn(format);
    const after = withSettings(before, file);
    const values = formatOf(file).read(after) as Record<string, Record<string, unknown>>;
    assertEquals(values.model as unknown, "glm-5.3");
    assertEquals(values.env?.BASE_URL, "http://127.0.0.1:8000/oss");
    assertEquals(values.provider?.laneway, { url: "http://127.0.0.1:8000/oss/v1", models: ["glm-5.3"] });
    for (const part of kept) assert(after.includes(part), `${JSON.stringify(part)} is gone from\n${after}`);
    if (before.includes("\r\n")) assert(!/[^\r]\n/.test(after), "a line ends in LF alone");
  });

  Deno.test(`connect: ${name}: connected twice, it says the same`, () => {
    const file = fileIn(format);
    const once = withSettings(before, file);
    assertEquals(withSettings(once, file), once);
  });

  Deno.test(`connect: ${name}: taken out again, it says what it said`, () => {
    const file = fileIn(format);
    const { text, left } = withoutSettings(withSettings(before, file), before, file);
    assertEquals(left, []);
    const read = (text: string) => formatOf(file).read(text) ?? {};
    assertEquals(read(text), read(before));
    for (const part of kept) assert(text.includes(part), `${JSON.stringify(part)} is gone from\n${text}`);
  });
}

/** What the file becomes when it is taken back after somebody has changed another part of it. */
async function takenBack(format: FileFormat, before: string | undefined, edit: (after: string) => string) {
  const folder = await Deno.makeTempDir();
  try {
    const file = { ...fileIn(format), path: `${folder}/settings` };
    const after = withSettings(before ?? "", file);
    await Deno.writeTextFile(file.path, edit(after));
    return restored({ ...file, before, after, folders: [] });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("connect: undo gives the file back byte for byte", async () => {
  for (const { format, before } of CASES) {
    assertEquals((await takenBack(format, before, (after) => after)).text, before);
  }
});

Deno.test("connect: a file that was made is removed, and kept where somebody has written into it", async () => {
  assertEquals((await takenBack("json", undefined, (after) => after)).text, undefined);
  const { text } = await takenBack("json", undefined, (after) => after.replace("{", '{\n  "theme": "dark",'));
  assertEquals(JSON.parse(text!), { theme: "dark" });
});

Deno.test("connect: undo keeps what was written into other parts since, byte for byte", async () => {
  const edits: [FileFormat, string, string, string][] = [
    ["jsonc", CASES[0]!.before, "// mine", "// mine and yours"],
    ["json", CASES[1]!.before, '"dark"', '"light"'],
    ["toml", CASES[4]!.before, "web = true", "web = false # since today"],
    ["yaml", CASES[5]!.before, "quoted: 'x'", "quoted: 'y'   # since today"],
  ];
  for (const [format, before, old, now] of edits) {
    const { text, left } = await takenBack(format, before, (after) => after.replace(old, now));
    assertEquals([text, left], [before.replace(old, now), []]);
  }
});

Deno.test("connect: undo leaves a setting that somebody has changed since, and says so", async () => {
  for (const { format, before } of CASES) {
    const { text, left } = await takenBack(format, before, (after) => after.replace("glm-5.3", "glm-6"));
    assertEquals(left.length, 1, format);
    assert(text!.includes("glm-6"), format);
  }
});

Deno.test("connect: an object of a list takes the place of its own kind, and goes away alone", () => {
  const entry = { name: "Laneway", model: "glm-5.3" };
  const file = fileIn("yaml", [{ at: ["models"], by: "name", entry }]);
  const before = "models:\n  - name: Other # mine\n    model: x\n";
  const once = withSettings(before, file);
  assertEquals(formatOf(file).read(once), { models: [{ name: "Other", model: "x" }, entry] });
  const newer = { ...entry, model: "glm-6" };
  const other = fileIn("yaml", [{ at: ["models"], by: "name", entry: newer }]);
  const twice = withSettings(once, other);
  assertEquals(formatOf(file).read(twice), { models: [{ name: "Other", model: "x" }, newer] });
  assertEquals(withoutSettings(twice, before, other).text, before);
});

Deno.test("connect: YAML keeps the layout that its user gave it, also beside what is added", () => {
  const entry = { name: "Laneway", roles: ["chat"] };
  const file = fileIn("yaml", [{ at: ["models"], by: "name", entry }, { at: ["model"], value: "glm-5.3" }]);
  const layouts = [
    "models:\n- {name: A,  model: b}   # flow\n- name: B\n  roles: [chat]\nother:\n    deep:   1\n",
    "set-env:\n- A=b\nread: [a.md,b.md]\n",
    "a:\n    - x\n    -   y\nmodels:\n    - name: B\n",
  ];
  for (const before of layouts) {
    const after = withSettings(before, file);
    const kept = before.split("\n").filter((line) => !after.split("\n").includes(line));
    assertEquals(kept, [], after);
    assertEquals(withoutSettings(`${after}since: 1\n`, before, file).text, `${before}since: 1\n`);
  }
});

Deno.test("connect: a whole file that is a list", () => {
  const file = fileIn("jsonc", [{ at: [], by: "name", entry: { name: "Laneway" } }]);
  assertEquals(JSON.parse(withSettings("", file)), [{ name: "Laneway" }]);
  const before = '[\n  { "name": "Other" } // mine\n]\n';
  assertEquals(formatOf(file).read(withSettings(before, file)), [{ name: "Other" }, { name: "Laneway" }]);
  const { text } = withoutSettings(withSettings(before, file), before, file);
  assertEquals(formatOf(file).read(text), [{ name: "Other" }]);
});

Deno.test("connect: a default is written into a new file only", () => {
  const file = fileIn("json", [{ at: ["version"], value: 1, isDefault: true }, { at: ["model"], value: "m" }]);
  assertEquals(JSON.parse(withSettings("", file)), { version: 1, model: "m" });
  assertEquals(JSON.parse(withSettings('{"a":1}', file)), { a: 1, model: "m" });
});

Deno.test("connect: a file that its client could not read is refused with the place of the mistake", () => {
  const broken: [FileFormat, string, RegExp][] = [
    ["json", '{\n  // a comment\n  "a": 1\n}', /line 2, column 3/],
    ["json", '{"a": 1,}', /line 1/],
    ["jsonc", '{\n  "a": \n', /line/],
    ["toml", 'a = "x\n', /./],
    ["yaml", "a: [1,\nb: 2", /./],
    ["shell", "# laneway: begin\nexport A='1'\n", /no "# laneway: end"/],
    ["json", '{\n  "model": "a",\n  "model": "b"\n}', /"model" stands there twice, again at line 3/],
    ["jsonc", '{ "env": {}, "env": {} }', /"env" stands there twice/],
    ["yaml", "a: &a [1]\nb: *a\nc: *none\n", /none/],
    ["json", '{"env": "text"}', /"env" is no object/],
    ["json", "[]", /The file is no object/],
    ["yaml", "just text", /The file is no object/],
  ];
  for (const [format, text, message] of broken) {
    const error = assertThrows(() => withSettings(text, fileIn(format)), FormatError);
    assert(message.test(error.message), `${format} ${text}: ${error.message}`);
  }
});

Deno.test("connect: a file that is nested without end is refused, and nothing of any file is printed", () => {
  const deep: [FileFormat, string][] = [
    ["json", "[".repeat(20_000) + "]".repeat(20_000)],
    ["jsonc", '{"a":'.repeat(8_000) + "1" + "}".repeat(8_000)],
    ["toml", `a = ${"[".repeat(3_000)}${"]".repeat(3_000)}\n`],
    ["yaml", "[".repeat(3_000) + "]".repeat(3_000)],
  ];
  for (const [format, text] of deep) {
    const error = assertThrows(() => inFile("settings", () => withSettings(text, fileIn(format))), FormatError);
    assert(error.message.startsWith("settings: ") && error.message.length < 200, error.message);
  }
  const emitted: unknown[] = [];
  const { emitWarning } = process;
  process.emitWarning = ((warning: unknown) => void emitted.push(warning)) as typeof emitWarning;
  try {
    withSettings("? [a secret]\n: 1\n", fileIn("yaml"));
  } finally {
    process.emitWarning = emitWarning;
  }
  assertEquals(emitted, []);
});

Deno.test("connect: variables stand between two marks, as every shell reads them", () => {
  const settings = [{ at: ["A"], value: "it's $HOME `x`" }, { at: ["B"], value: { env: "KEY" } }];
  const shell: SettingsFile = { path: "/home/user/.bashrc", format: "shell", settings };
  const before = "alias ll='ls -l'";
  const after = withSettings(before, shell);
  assertEquals(
    after,
    "alias ll='ls -l'\n# laneway: begin\nexport A='it'\\''s $HOME `x`'\nexport B=\"$KEY\"\n# laneway: end\n",
  );
  assertEquals(withSettings(after, shell), after);
  assertEquals(withoutSettings(after, before, shell).text, `${before}\n`);
  const fish = { ...shell, path: "/home/user/.config/fish/conf.d/laneway.fish" };
  assert(withSettings("", fish).includes('set -gx B "$KEY"'));
});

Deno.test("connect: whatever JSON a file holds, settings put into it and taken out again change nothing else", () => {
  const key = fc.constantFrom("a", "b", "env", "provider", "model", "x.y", "__proto__", "");
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
  const { object } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, leaf, fc.array(tie("value"), { maxLength: 3 }), tie("object")),
    object: fc.dictionary(key, tie("value"), { maxKeys: 5 }),
  }));
  const indent = fc.constantFrom(undefined, 2, 4, "\t");
  fc.assert(fc.property(object!, indent, (object, indent) => {
    const before = JSON.stringify(object, null, indent);
    for (const format of ["json", "jsonc"] as const) {
      const file = fileIn(format);
      let after: string;
      try {
        after = withSettings(before, file);
      } catch (error) {
        assert(error instanceof FormatError);
        continue;
      }
      const { text, left } = withoutSettings(after, before, file);
      assertEquals([JSON.parse(text), left], [JSON.parse(before), []]);
    }
  }));
});

Deno.test("connect: what somebody has written between the marks stays, also where it is none of our lines", () => {
  const before = "alias ll='ls -l'\n";
  for (const format of ["shell", "dotenv"] as const) {
    const file: SettingsFile = { path: "/home/user/rc", format, settings: [{ at: ["A"], value: "1" }] };
    for (const line of ["# mine", "PATH=$PATH:~/bin", 'B="a\\q"']) {
      const edited = withSettings(before, file).replace("# laneway: end", `${line}\n# laneway: end`);
      assertEquals(
        withSettings(edited, { ...file, settings: [{ at: ["A"], value: "2" }] }).includes(`${line}\n`),
        true,
      );
      const { text } = withoutSettings(edited, before, file);
      assert(text.includes(`${line}\n`) && !text.includes("A="), text);
    }
  }
});

Deno.test("connect: fish reads backslashes and quotes as they were given", () => {
  const value = "it's \\ and \\";
  const fish: SettingsFile = { path: "/home/user/laneway.fish", format: "shell", settings: [{ at: ["A"], value }] };
  const text = withSettings("", fish);
  assert(text.includes(String.raw`set -gx A 'it\'s \\ and \\'`), text);
  assertEquals(formatOf(fish).read(text), { A: value });
});
