/** The laws of `tests/laws` on Node's own engine, as far as they are pure: what opens sockets or starts processes is Deno's. */
import { assert } from "@std/assert";
import { copy } from "../support/copy.ts";
import { install, NODE } from "./install.ts";
import { withProgram } from "./node_gateway.ts";

const TESTS = new URL("../", import.meta.url);
/** Two open sockets; the description of the API is judged by a validator, which says the same here as there. */
const NOT_HERE = ["openapi_test.ts", "reading_test.ts", "retries_test.ts"];

const installed = await install(NODE, "node");

Deno.test({
  name: `node: the laws hold on it${"reason" in installed ? ` (skipped: ${installed.reason})` : ""}`,
  ignore: "reason" in installed,
  async fn() {
    if ("reason" in installed) return;
    await withProgram(async (folder) => {
      await copy(TESTS.pathname, `${folder}/tests`);
      const { imports } = JSON.parse(await Deno.readTextFile(`${folder}/tests/deno.json`));
      const packages = ["deno-std", "fast-check"].map((name) => imports[name].replace("npm:", ""));
      const quiet = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
      const npm = await new Deno.Command("npm", { args: ["install", ...quiet, ...packages], cwd: folder }).output();
      assert(npm.success, new TextDecoder().decode(npm.stderr));
      const laws = [...Deno.readDirSync(`${folder}/tests/laws`)].map(({ name }) => name)
        .filter((name) => name.endsWith("_test.ts") && !NOT_HERE.includes(name));
      const { success, stdout } = await new Deno.Command(installed.program, {
        args: [
          ...["--import", "./tests/clients/deno_on_node.ts", "--test", "--test-reporter=dot"],
          ...laws.map((name) => `tests/laws/${name}`),
        ],
        cwd: folder,
        env: { NO_COLOR: "1", LANEWAY_RELIABILITY: "most" },
        stdin: "null",
        stderr: "null",
      }).output();
      assert(success, new TextDecoder().decode(stdout).slice(-20_000));
    });
  },
});
