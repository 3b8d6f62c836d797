import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { isJsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { ConfigError, loadConfig, parseConfig } from "../../src/config/load.ts";
import { withoutComments } from "../../src/util/config_text.ts";
import { anyConfig, catalogs, drivers, environment, problemsOf } from "./surroundings.ts";

const env = environment();
const surroundings = { drivers, catalogs, env };

/** Calls `use` with the path of a file that holds `content`. */
function withFile<T>(content: string, use: (path: string) => T): T {
  const path = Deno.makeTempFileSync({ suffix: ".json" });
  try {
    Deno.writeTextFileSync(path, content);
    return use(path);
  } finally {
    Deno.removeSync(path);
  }
}

function load(content: unknown, options: Partial<Parameters<typeof loadConfig>[0]> = {}) {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return withFile(text, (path) => loadConfig({ path, ...surroundings, ...options }).config);
}

const small = { upstreams: { sandbox: { driver: "sandbox" } }, lanes: { oss: {} } };

Deno.test("loadConfig: three mistakes are reported at once, with their paths", () => {
  const config = {
    listen: { port: 80000 },
    upstreams: { local: { driver: "chat", baseUrl: "http://127.0.0.1:8080/v1", timeout: {} } },
    lanes: { oss: { models: { m: { task: "chat", targets: [{ upstream: "lokal", model: "m" }] } } } },
  };
  assertEquals(problemsOf(() => load(config)), [
    "listen.port: Must be at most 65535",
    'upstreams.local.timeout: Unknown setting; did you mean "timeouts"?',
    'lanes.oss.models.m.targets[0].upstream: Cannot find upstream "lokal"; did you mean "local"?',
  ]);
});

Deno.test("loadConfig: the message has the file and a line for each problem", () => {
  withFile('{ "lanes": {}, "keys": 1, "x": 2 }', (path) => {
    const error: Error = assertThrows(() => loadConfig({ path, ...surroundings }), ConfigError);
    const [head, ...lines] = error.message.split("\n");
    assertEquals(head, `Cannot use the configuration in "${path}":`);
    assertEquals(lines.map((line) => line.split(":")[0]), ["  keys", "  x", "  lanes"]);
  });
});

for (
  const [name, content, problem] of [
    ["an empty file", "", "The file is empty"],
    ["a file of spaces", " \n", "The file is empty"],
    ["an array", "[]", "Expected an object, got an array"],
    ["null", "null", "Expected an object, got null"],
    ["a number", "1", "Expected an object, got 1"],
    ["broken JSON", '{\n  "lanes": oss\n}', "line 2, column 12: Unexpected token 'o'"],
    [
      "a mistake behind a comment",
      '{ /* mine\n*/ // "x":\n  "lanes": oss, }',
      "line 3, column 12: Unexpected token 'o'",
    ],
    ["a comment without its end", '{\n  /* mine "lanes": {} }', "line 2, column 3: Expected property name or '}'"],
    ["two commas", '{ "lanes": {},, }', "line 1, column 15: Expected double-quoted property name"],
    ["a comma alone", "{ , }", "line 1, column 3: Expected property name or '}'"],
    ["JSON that ends early", '{\n  "lanes": {', "line 2, column 13: Expected property name or '}'"],
    ["text after the JSON", "{}\n}", "line 2, column 1: Unexpected non-whitespace character"],
    ["another type", { ...small, listen: { port: "8000" } }, "listen.port: Expected a number, got a string"],
    ["a fraction", { ...small, listen: { port: 1.5 } }, "listen.port: Expected an integer, got 1.5"],
    ["a list in place of an object", { ...small, limits: [] }, "limits: Expected an object, got an array"],
    ["null", { ...small, limits: null }, "limits: Expected an object, got null"],
    [
      "what is missing",
      { ...small, upstreams: { ...small.upstreams, a: {} } },
      "upstreams.a.driver: Missing: expected a string",
    ],
    [
      "a lane's name",
      { ...small, lanes: { v1: {} } },
      'lanes.v1: Cannot name a lane "v1", because paths inside a lane begin with it',
    ],
    [
      "an unknown task",
      { ...small, lanes: { oss: { upstreams: { chatt: "sandbox" } } } },
      'lanes.oss.upstreams.chatt: Unknown setting; did you mean "chat"?',
    ],
    [
      "an unknown key far from all",
      { ...small, listen: { colour: 1 } },
      'listen.colour: Unknown setting; known: "hostname", "port"',
    ],
    [
      "a secret that is written into the file",
      { ...small, upstreams: { sandbox: { driver: "sandbox", secret: "hunter2" } } },
      'upstreams.sandbox.secret: Expected { "env": "NAME" }: a secret itself is never written here',
    ],
    [
      "a variable's name that is none",
      { ...small, keys: [{ name: "a", secret: { env: "a=b" } }] },
      "keys[0].secret.env: Expected the name of an environment variable",
    ],
    [
      "what both passes see, once",
      { ...small, listen: { hostname: "" } },
      "listen.hostname: Must have at least 1 character",
    ],
    [
      "no task",
      { ...small, lanes: { oss: { models: { m: { targets: [{ upstream: "sandbox", model: "m" }] } } } } },
      'lanes.oss.models.m.task: Missing: expected one of "chat", "embedding", "rerank", "speech", "transcription", "image"',
    ],
    ["another base", { ...small, extends: "other" }, 'extends: Expected "default"'],
  ] as const
) {
  Deno.test(`loadConfig: says what is wrong with ${name}: ${problem}`, () => {
    assertEquals(problemsOf(() => load(content)), [problem]);
  });
}

Deno.test("loadConfig: a file that cannot be read is an error, not a reason to use another", () => {
  assertEquals(problemsOf(() => loadConfig({ path: "/nowhere/gateway.json", ...surroundings })), [
    "Cannot read it: No such file",
  ]);
  const [problem] = problemsOf(() => loadConfig({ path: ".", ...surroundings }));
  assertStringIncludes(problem!, "Cannot read it: ");
});

Deno.test("loadConfig: reads a file that begins with a byte order mark", () => {
  assertEquals(Object.keys(load(`\ufeff${JSON.stringify(small)}`).lanes), ["oss"]);
});

Deno.test("loadConfig: LANEWAY_CONFIG names the file, and a path given goes before it", () => {
  withFile(JSON.stringify(small), (path) => {
    const variable = environment({ LANEWAY_CONFIG: path });
    assertEquals(loadConfig({ drivers, catalogs, env: variable }).source, `"${path}"`);
    withFile(JSON.stringify(small), (given) => {
      assertEquals(loadConfig({ path: given, drivers, catalogs, env: variable }).source, `"${given}"`);
    });
  });
});

Deno.test("loadConfig: the command line goes before the file, and is checked like it", () => {
  const listen = { hostname: "localhost", port: 0 };
  assertEquals(load({ ...small, listen: { port: 9 } }, { listen }).listen, listen);
  assertEquals(load({ ...small, listen: { port: 9 } }, { listen: { port: undefined } }).listen.port, 9);
  assertEquals(problemsOf(() => load({ ...small, listen: 1 }, { listen: {} })), ["listen: Expected an object, got 1"]);
  const [problem] = problemsOf(() => load(small, { listen: { hostname: "0.0.0.0" } }));
  assertStringIncludes(problem!, 'listen.hostname: Cannot listen on "0.0.0.0" without keys');
});

Deno.test("loadConfig: the default needs no key and has the embedded upstream in both lanes", () => {
  const { listen, keys, lanes } = load({ extends: "default" });
  assertEquals({ listen, keys }, { listen: { hostname: "127.0.0.1", port: 8000 }, keys: [] });
  assertEquals(lanes.oss?.models.sandbox?.targets, [{ upstream: "sandbox", model: "sandbox" }]);
  assertEquals(lanes.hf?.models["laneway/sandbox"]?.targets, [{ upstream: "sandbox", model: "sandbox" }]);
  const hub = { embedding: "hub", rerank: "hub", speech: "hub", transcription: "hub", image: "hub" };
  assertEquals([lanes.hf?.upstreams, lanes.hf?.catalog], [{ chat: "router", ...hub }, ["router", "hub"]]);
  for (const task of ["embedding", "rerank", "speech", "transcription", "image"]) {
    assertEquals(lanes.oss?.models[`sandbox-${task}`]?.task, task);
    assertEquals(lanes.hf?.models[`laneway/sandbox-${task}`]?.task, task);
  }
});

Deno.test("loadConfig: the default's curated names are plain words, and their models have an owner and a name", () => {
  for (
    const [name, { targets, ownedBy, displayName }] of Object.entries(load({ extends: "default" }).lanes.oss!.models)
  ) {
    assertMatch(name, /^[a-z0-9.-]+\*?$/);
    const [owner] = targets[0]!.model.split("/");
    assertEquals(ownedBy, name.includes("sandbox") ? "laneway" : owner);
    assert(displayName);
  }
});

Deno.test("loadConfig: the default's names that an agent needs say which open model answers", () => {
  const { models } = load({ extends: "default" }).lanes.oss!;
  const forAgents = Object.entries(models).filter(([name]) => name.startsWith("claude"));
  assert(forAgents.length > 5);
  for (const [name, { targets, displayName = "" }] of forAgents) {
    assert(!/claude/i.test(displayName), name);
    for (const { model } of targets) {
      assert(displayName.toLowerCase().includes(model.split("/").at(-1)!.toLowerCase()), `${name}: ${displayName}`);
    }
  }
});

Deno.test("loadConfig: the default's curated models agree wherever they have the same first target", () => {
  const seen = new Map<string, string>();
  for (const [name, alias] of Object.entries(load({ extends: "default" }).lanes.oss!.models)) {
    if (name.includes("*") || alias.targets.length > 1) continue;
    const { contextLength, inputModalities, efforts } = alias;
    const facts = JSON.stringify({ contextLength, inputModalities, efforts });
    assertEquals(seen.get(alias.targets[0]!.model) ?? facts, facts, name);
    seen.set(alias.targets[0]!.model, facts);
  }
});

Deno.test("loadConfig: a secret's file replaces the default's variable, and the rest of the upstream stays", () => {
  const file = "gateway.hub.secret";
  const { upstreams, catalogs } = load({
    extends: "default",
    upstreams: { router: { secret: { file } }, hub: { secret: { file, header: "x-token" } } },
    catalogs: { hub: { secret: { env: "OTHER" } } },
  });
  assertEquals([upstreams.router!.secret, upstreams.router!.driver], [{ file }, "chat"]);
  assertEquals(upstreams.hub!.secret, { file, header: "x-token" });
  assertEquals(catalogs.hub!.secret, { env: "OTHER" });
});

Deno.test("loadConfig: extends the default key by key", () => {
  const config = load({
    extends: "default",
    upstreams: { router: { baseUrl: "http://127.0.0.1:1/v1", secret: null, refuses: ["user"] } },
    lanes: {
      hf: null,
      oss: { models: { vision: null, mine: { task: "chat", targets: [{ upstream: "router", model: "m" }] } } },
    },
  });
  const { router } = config.upstreams;
  assertEquals(router?.driver, "chat");
  assertEquals(router?.baseUrl, "http://127.0.0.1:1/v1");
  assertEquals(router?.secret, undefined);
  assertEquals(router?.refuses, ["user"]);
  assertEquals(Object.keys(config.lanes), ["oss"]);
  const models = Object.keys(config.lanes.oss!.models);
  assert(models.includes("sandbox") && models.includes("mine") && !models.includes("vision"));
  assertEquals("extends" in config, false);
});

Deno.test("loadConfig: what is removed from the default and still used is reported", () => {
  const problems = problemsOf(() => load({ extends: "default", upstreams: { sandbox: null } }));
  assertEquals(problems.length, 13);
  assertEquals(
    problems[0],
    'lanes.oss.models.sandbox.targets[0].upstream: Cannot find upstream "sandbox"; known: "router", "hub"',
  );
});

Deno.test("loadConfig: a key named __proto__ changes no prototype", () => {
  assertEquals(problemsOf(() => load('{ "extends": "default", "__proto__": { "keys": 1 } }')).length, 1);
});

Deno.test("parseConfig: any JSON gives a configuration or a ConfigError", () => {
  fc.assert(
    fc.property(anyConfig, (value) => {
      problemsOf(() => parseConfig(value, "a test", surroundings));
    }),
    { numRuns: 1_000, seed: 1 },
  );
});

Deno.test("loadConfig: what is nested beyond all reason is an error, valid or not, wherever it is", () => {
  const deep = (open: string, close: string) => open.repeat(100_000) + close.repeat(100_000);
  const texts = [
    `{ "extends": "default", "lanes": { "a": ${deep('{"a":', "}").replace(":}", ":1}")} } }`,
    `{ "extends": "default", "upstreams": { "a": { "headers": ${deep("[", "]")} } } }`,
    deep("[", "]"),
    '{ "extends": "default", "lanes": '.repeat(100_000),
  ];
  for (const text of texts) {
    assertEquals(problemsOf(() => load(text)), ["Its JSON is nested more than 512 levels deep"]);
  }
  const fits = `{ "extends": "default", "lanes": { "a": ${'{"a":'.repeat(500)}1${"}".repeat(500)} } }`;
  assert(!problemsOf(() => load(fits)).join().includes("nested"));
});

Deno.test("loadConfig: comments and trailing commas anywhere change nothing", () => {
  const gap = fc.constantFrom("", " ", "\n", '// {"a": 1, ]\n', '/* "b", } // */', "// don't\r\n");
  const comma = fc.constantFrom("", ",");
  fc.assert(fc.property(fc.jsonValue(), fc.infiniteStream(gap), fc.infiniteStream(comma), (value, gaps, commas) => {
    const next = () => gaps.next().value!;
    const write = (one: JsonValue): string => {
      const list = (open: string, items: string[], close: string) =>
        `${open}${items.join(`${next()},${next()}`)}${next()}${
          items.length > 0 ? commas.next().value : ""
        }${next()}${close}`;
      if (Array.isArray(one)) return list("[", one.map(write), "]");
      if (!isJsonObject(one)) return JSON.stringify(one);
      return list("{", Object.entries(one).map(([key, own]) => `${JSON.stringify(key)}${next()}:${write(own!)}`), "}");
    };
    const text = `${next()}${write(value as JsonValue)}${next()}`;
    const json = withoutComments(text);
    assertEquals(JSON.parse(json), JSON.parse(JSON.stringify(value)));
    assertEquals(json.length, text.length);
  }));
});
