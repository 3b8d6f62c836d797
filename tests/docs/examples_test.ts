/** Configurations in the documents load, and programs in them run. */
import { assert, assertEquals } from "@std/assert";
import { createApp, pluginFacts } from "../../src/app.ts";
import { parseConfig } from "../../src/config/load.ts";
import { mergeJson } from "../../src/util/config_text.ts";
import { devConfig, devEnv } from "../support/dev_hub.ts";
import { withFolder } from "../support/process.ts";
import { blocksOf, documents, ROOT } from "./documents.ts";
import { libraryOf, obstacleTo, runProgram } from "./programs.ts";

const blocks = documents().flatMap(blocksOf);
/** Its programs run in a test of their own, each in front of what it needs. */
const COOKBOOK = "docs/cookbook.md";
const defaults = JSON.parse(Deno.readTextFileSync(new URL("gateway.default.json", ROOT)));

/** The whole configuration that an example is part of: one that extends the default, or a single key. Nothing for other JSON. */
function configIn(value: Record<string, unknown>): unknown {
  if ("secret" in value && "name" in value) return mergeJson(defaults, { keys: [value] });
  if (value.extends !== "default") return undefined;
  return mergeJson(defaults, { ...value, extends: null });
}

Deno.test("examples: every configuration in the documents can be used", () => {
  const json = blocks.filter(({ language }) => language === "json").map(({ path, code }) => ({
    path,
    value: JSON.parse(code),
  }));
  const configs = json.map(({ path, value }) => ({ path, config: configIn(value) })).filter(({ config }) => config);
  assert(configs.length > 8, "The configurations were not found");
  for (const { path, config } of configs) {
    const env = (name: string) => name.endsWith("_URL") ? "redis://127.0.0.1" : "a-secret-of-more-than-16-characters";
    parseConfig(config, path, { ...pluginFacts(), env });
  }
});

const programs = blocks.filter(({ language, code, path }) =>
  /^(ts|python)$/.test(language) && code.includes("http://127.0.0.1:8000") && path !== COOKBOOK
);
for (const block of programs) {
  const obstacle = obstacleTo(block);
  const name = `examples: the ${block.language} program in ${block.path} that uses ${libraryOf(block)} gets an answer`;
  Deno.test({
    name: obstacle === undefined ? name : `${name} (skipped: ${obstacle})`,
    ignore: obstacle !== undefined,
    async fn() {
      const app = createApp({ config: devConfig("http://127.0.0.1:9"), env: devEnv, log: () => {} });
      const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, app.fetch);
      try {
        await withFolder(async (folder) => {
          const out = await runProgram(block, [`http://127.0.0.1:${server.addr.port}`], folder);
          assertEquals(out.trim() === "", false, "It printed nothing");
        });
      } finally {
        await server.shutdown();
        await app.close();
      }
    },
  });
}

Deno.test("examples: each program that calls the gateway stands there in TypeScript, in Python and as curl", () => {
  for (const path of new Set(programs.map(({ path }) => path))) {
    const of = (language: string) => programs.filter((block) => block.path === path && block.language === language);
    assertEquals(of("ts").length, of("python").length, path);
    const calls = blocks.filter((block) => block.path === path && /^curl http:\/\/127/m.test(block.code));
    assert(calls.length >= of("ts").length, path);
  }
});
