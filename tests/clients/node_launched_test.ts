/** The tests that start the launcher, once more with Node in Deno's place: the same files, the same words, the same limits. */
import { assert } from "@std/assert";
import { install, NODE } from "./install.ts";
import { withProgram } from "./node_gateway.ts";

const TESTS = new URL("../", import.meta.url);

/**
 * Left out are those whose launcher is a copy with another command in it (guide, restart), and those of Deno's own: its cache, its
 * permissions, its resolution of packages.
 */
const FILES: readonly (readonly string[])[] = [
  ["cli/workers", "cli/secret_files", "cli/metrics_listener", "cli/health", "cli/usage", "cli/provider_start"],
  ["cli/life"],
  ["observe/traces", "observe/exported_metrics", "observe/audit"],
  ["programs/check", "programs/probe", "programs/init/launched", "fetcher/process"],
  ["clients/connect"],
];

/** The library that exports traces. The program's own version of the API is newer than it knows, hence the option. */
const SDK = ["install", "--no-save", "--force", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];

const installed = await install(NODE, "node");

Deno.test({
  name: `node: what starts the launcher holds on it, too${
    "reason" in installed ? ` (skipped: ${installed.reason})` : ""
  }`,
  ignore: "reason" in installed,
  async fn(t) {
    if ("reason" in installed) return;
    await withProgram(async (folder) => {
      const npm = new Deno.Command("npm", { args: [...SDK, "@opentelemetry/sdk-node@0.223.0"], cwd: folder });
      const { success, stderr } = await npm.output();
      assert(success, new TextDecoder().decode(stderr));
      const where = JSON.stringify({ node: installed.program, folder });
      for (const files of FILES) {
        await t.step(files.join(", "), async () => {
          const { success, stdout } = await new Deno.Command(Deno.execPath(), {
            args: [
              ...["test", "--config", `${TESTS.pathname}deno.json`, "--no-check", "--allow-all", "--quiet"],
              ...files.map((file) => `${TESTS.pathname}${file}_test.ts`),
            ],
            env: { LANEWAY_TESTS_ON_NODE: where, NO_COLOR: "1" },
            stdin: "null",
            stderr: "null",
          }).output();
          const text = new TextDecoder().decode(stdout);
          assert(success, text.slice(Math.max(0, text.indexOf(" ERRORS "))).slice(0, 20_000));
        });
      }
    });
  },
});
