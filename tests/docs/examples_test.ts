/** Configurations in the documents load, and programs in them run. */
import { assert, assertEquals } from "@std/assert";
import { createApp, pluginFacts } from "../../src/app.ts";
import { parseConfig } from "../../src/config/load.ts";
import { mergeJson } from "../../src/util/config_text.ts";
import { devConfig, devEnv } from "../support/dev_hub.ts";
import { withFolder } from "../support/process.ts";
import { blocksOf, documents, ROOT } from "./documents.ts";

const blocks = documents().flatMap(blocksOf);
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

/** The names under which the tests have the packages. */
const PACKAGES: Record<string, string> = { "@anthropic-ai/sdk": "anthropic-sdk" };

for (
  const { path, code } of blocks.filter(({ language, code }) => language === "ts" && code.includes("127.0.0.1:8000"))
) {
  const [, name = ""] = /from "([^"]+)"/.exec(code) ?? [];
  Deno.test(`examples: the program in ${path} that uses ${name} gets an answer`, async () => {
    const app = createApp({ config: devConfig("http://127.0.0.1:9"), env: devEnv, log: () => {} });
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, app.fetch);
    try {
      await withFolder(async (folder) => {
        const program = code.replace(`from "${name}"`, `from "${PACKAGES[name] ?? name}"`)
          .replace("127.0.0.1:8000", `127.0.0.1:${server.addr.port}`);
        await Deno.writeTextFile(`${folder}/program.ts`, program);
        const config = new URL("tests/deno.json", ROOT).pathname;
        const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
          args: ["run", "--config", config, "--allow-all", `${folder}/program.ts`],
          env: { NO_COLOR: "1" },
        }).output();
        const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
        assert(success, err);
        assertEquals(out!.trim() === "", false, "It printed nothing");
      });
    } finally {
      await server.shutdown();
      await app.close();
    }
  });
}
