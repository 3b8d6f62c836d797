import { assertEquals, assertGreater, assertLess, assertStringIncludes } from "@std/assert";
import { withFolder, withLaunched } from "../support/process.ts";
import { within } from "../support/wait.ts";
import { config, post, talkative } from "./endless.ts";
import { report, scaled } from "./scale.ts";

/** What containers and service managers wait for, at the least of the usual, before they kill. */
const PATIENCE_MS = 30_000;

Deno.test({
  name: "drain: a stream that does not end is told so within a container's patience",
  // The limit is what takes its time.
  ignore: scaled(1, 0) === 0,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const { baseUrl, stop } = talkative(50);
    try {
      await withFolder(async (folder) => {
        const path = `${folder}/gateway.json`;
        await Deno.writeTextFile(path, JSON.stringify({ store: { kind: "memory" }, ...config(baseUrl) }));
        await withLaunched([], { cwd: folder }, async ({ url, kill, ended }) => {
          const response = await post(url);
          const begun = performance.now();
          kill("SIGTERM");
          const text = await within(response.text(), PATIENCE_MS);
          const code = await within(ended, PATIENCE_MS);
          const took = performance.now() - begun;
          report(`an endless stream was ended ${(took / 1000).toFixed(1)} s after SIGTERM`);
          assertStringIncludes(text.slice(-300), '"code":"unavailable"');
          assertEquals(code, 1);
          // Nor is it cut short.
          assertGreater(took, 20_000);
          assertLess(took, PATIENCE_MS);
        });
      });
    } finally {
      await stop();
    }
  },
});
