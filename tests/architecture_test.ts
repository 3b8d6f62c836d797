import { assert, assertEquals } from "@std/assert";
import { drivers, protocols } from "../plugins/mod.ts";
import { importCycles, verbsOf, violations } from "./support/architecture.ts";

const ROOT = new URL("../", import.meta.url);

/** What git keeps, and what others wrote. */
const SKIPPED = new Set([".git", "node_modules"]);

function* filesBelow(folder: string): Generator<string> {
  for (const entry of Deno.readDirSync(new URL(folder || "./", ROOT))) {
    if (SKIPPED.has(entry.name)) continue;
    if (entry.isDirectory) yield* filesBelow(`${folder}${entry.name}/`);
    else yield `${folder}${entry.name}`;
  }
}

const read = (path: string) => Deno.readTextFileSync(new URL(path, ROOT));
const files = [...filesBelow("src/"), ...filesBelow("plugins/")].filter((path) => /\.(ts|json)$/.test(path));

Deno.test("every file keeps the rules of the house", () => {
  assert(files.length > 30, "The tree was not found");
  assertEquals(files.flatMap((path) => violations(path, read(path))), []);
});

const MERGE_MARK = /^(?:<{7}|>{7}|\|{7})(?= |$)/m;

Deno.test("no file has the marks of a merge that was not finished", () => {
  const all = [...filesBelow("")];
  assert(all.includes("README.md") && all.includes("docs/deployment.md"), "The tree was not found");
  assertEquals(all.filter((path) => MERGE_MARK.test(read(path))), []);
  assert(MERGE_MARK.test(`one\n${"<".repeat(7)} HEAD\ntwo\n`));
});

const VERB = /^plugins\/(\w+)\/((?:parse|serialize)_(?:request|response|stream))\.ts$/;

Deno.test("a wire's folder has a file for each verb of the sides that speak it and for no other, which exports the verb", () => {
  const folders = new Set(files.flatMap((path) => VERB.exec(path)?.[1] ?? []));
  assert(folders.has("chat"));
  for (const folder of folders) {
    for (const file of ["mod", "wire"]) {
      assert(files.includes(`plugins/${folder}/${file}.ts`), `plugins/${folder}/${file}.ts`);
    }
    const found = files.flatMap((path) => path.startsWith(`plugins/${folder}/`) ? VERB.exec(path)?.[2] ?? [] : []);
    assertEquals(found.sort(), verbsOf(folder, protocols, drivers), `plugins/${folder}/`);
    for (const verb of found) {
      const name = verb.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      assert(
        new RegExp(`^export function ${name}\\(`, "m").test(read(`plugins/${folder}/${verb}.ts`)),
        `plugins/${folder}/${verb}.ts does not export ${name}`,
      );
    }
  }
});

Deno.test("a wire that is spoken on one side only has the verbs of that side", () => {
  const stream = { framing: "ndjson" as const, writer: () => ({ write() {} }) };
  const way = {
    request: () => ({ path: "" }),
    response: () => ({ model: "m", vectors: [], usage: { inputTokens: 1 } }),
  };
  assertEquals(verbsOf("own", [{ wire: "own", stream }], []), [
    "parse_request",
    "serialize_response",
    "serialize_stream",
  ]);
  const client = () => Promise.reject(new Error("It is not loaded"));
  assertEquals(verbsOf("own", [{ wire: "own", stream, client }], []), [
    "parse_request",
    "parse_stream",
    "serialize_request",
    "serialize_response",
    "serialize_stream",
  ]);
  assertEquals(verbsOf("own", [{ wire: "own" }, { wire: "other", stream }], []), [
    "parse_request",
    "serialize_response",
  ]);
  assertEquals(verbsOf("own", [], [{ wire: "own", operations: { embed: way } }]), [
    "parse_response",
    "serialize_request",
  ]);
});

Deno.test("no file imports itself by way of others", () => {
  const texts = new Map(files.filter((path) => path.endsWith(".ts")).map((path) => [path, read(path)]));
  assertEquals(importCycles(texts), []);
});

Deno.test("a knot of imports is found, types included", () => {
  const texts = new Map([
    ["src/a.ts", 'import { b } from "./b.ts";'],
    ["src/b.ts", 'import type { C } from "./c/c.ts";'],
    ["src/c/c.ts", 'export * from "../a.ts";'],
    ["src/d.ts", 'import { a } from "./a.ts";'],
  ]);
  assertEquals(importCycles(texts), [["src/a.ts", "src/b.ts", "src/c/c.ts"]]);
});

Deno.test("the rules catch what they are for", () => {
  const broken: [path: string, text: string, complaint: string][] = [
    ["src/errors.ts", 'import type { Extra } from "./canonical/extra.ts";', "imports src/canonical/extra.ts"],
    ["src/canonical/json.ts", 'export * from "../contract/driver.ts";', "imports src/contract/driver.ts"],
    ["src/contract/driver.ts", 'import { readBody } from "../http/body.ts";', "imports src/http/body.ts"],
    ["src/http/body.ts", 'import { send } from "../upstream/send.ts";', "imports src/upstream/send.ts"],
    ["src/upstream/run.ts", 'import {\n  handle,\n} from "../handle.ts";', "imports src/handle.ts"],
    ["src/handle.ts", 'import app from "./app.ts";', "imports src/app.ts"],
    ["src/app.ts", 'import "./main.ts";', "imports src/main.ts"],
    ["src/app.ts", 'import { chatDriver } from "../plugins/chat/mod.ts";', "imports plugins/chat/mod.ts"],
    ["src/main.ts", 'import { protocols } from "../plugins/mod.ts";', "imports plugins/mod.ts"],
    ["src/lanes/lane.ts", 'const lists = import("../../plugins/mod.ts");', "imports plugins/mod.ts"],
    ["src/misc.ts", "", "has no place in the tree"],
    ["plugins/chat/mod.ts", 'import { WIRE } from "../messages/wire.ts";', "imports plugins/messages/wire.ts"],
    [
      "plugins/chat/mod.ts",
      'import { readFrames } from "../../src/upstream/frames.ts";',
      "imports src/upstream/frames.ts",
    ],
    [
      "plugins/chat/mod.ts",
      'import gateway from "../../gateway.default.json" with { type: "json" };',
      "imports gateway.default.json",
    ],
    ["plugins/shared/errors.ts", 'import { WIRE } from "../chat/wire.ts";', "imports plugins/chat/wire.ts"],
    ["plugins/errors.ts", "", "has no place in the tree"],
    ["src/routing/retry.ts", 'import { send } from "../upstream/send.ts";', "imports src/upstream/send.ts"],
    ["src/canonical/extra.ts", 'import { Turns } from "../transforms/turns.ts";', "imports src/transforms/turns.ts"],
    ["plugins/mod.ts", "const plugin = await import(name);", "imports what a variable names: import(name)"],
    [
      "src/app.ts",
      "await import(`../plugins/${name}/mod.ts`)",
      "imports what a variable names: import(`../plugins/${name}/mod.ts`)",
    ],
    ["plugins/chat/mod.ts", 'await fetch("http://x")', "touches the world: fetch("],
    ["plugins/chat/mod.ts", 'const home = Deno.env.get("HOME");', "touches the world: Deno"],
    ["plugins/chat/mod.ts", 'console.log("here")', "touches the world: console"],
    ["src/lanes/lane.ts", "const started = Deno.args;", "needs Deno"],
    ["src/http/framing.ts", "// as the Claude client wants it", 'names a vendor: "Claude"'],
    ["src/http/auth.ts", "const openaiError = 1;", 'names a vendor: "openai"'],
    ["src/lanes/lane.ts", 'if (upstream === "together") return;', 'names a vendor: ""together""'],
    ["src/config/gateway.schema.json", '{"description": "A llama.cpp server"}', 'names a vendor: "llama"'],
  ];
  for (const [path, text, complaint] of broken) assertEquals(violations(path, text), [`${path} ${complaint}`]);
});

Deno.test("the rules leave alone what is right", () => {
  const right: [path: string, text: string][] = [
    ["src/upstream/run.ts", 'import type { Driver } from "../contract/driver.ts";\nimport { send } from "./send.ts";'],
    ["src/app.ts", 'import { protocols } from "../plugins/mod.ts";\nimport { z } from "zod";'],
    ["src/app.ts", "/** The parts are put together here; a cursor, a coherent whole. */"],
    ["src/app.ts", 'import { version } from "../deno.json" with { type: "json" };'],
    ["plugins/mod.ts", 'export { chatDriver } from "./chat/mod.ts";'],
    ["plugins/chat/mod.ts", 'import { WIRE } from "./wire.ts";\nimport { upstreamError } from "../shared/errors.ts";'],
    [
      "plugins/chat/tools.ts",
      "/** vLLM calls it by another name; no console, no Deno here. */\n// fetch(url) is the core's",
    ],
    ["plugins/mod.ts", 'const plugin = await import("./chat/mod.ts");'],
    ["src/lanes/lane.ts", "// Deno does so, too"],
    ["src/platform/deno.ts", "const started = Deno.args;"],
    ["src/state/kv_file.ts", "const kv = await Deno.openKv();"],
  ];
  for (const [path, text] of right) assertEquals(violations(path, text), []);
});
