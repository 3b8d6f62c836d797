import { assertEquals } from "@std/assert";
import type { z } from "zod";
import { type Config, configSchema } from "../../src/config/schema.ts";
import { reload } from "../../src/cli/reload.ts";

function configOf(store: z.input<typeof configSchema>["store"]): Config {
  return configSchema.parse({ store });
}

/** What becomes of a gateway whose `store` is changed. */
function changed(from: Parameters<typeof configOf>[0], to: Parameters<typeof configOf>[0]): string {
  const load = () => ({ config: configOf(to) });
  const reloaded = reload(configOf(from), {
    load,
    platform: { env: () => undefined, os: "linux", isGranted: () => true },
  });
  return "kept" in reloaded ? reloaded.kept : "serves";
}

Deno.test("reload: how long conversations are kept can change, where they are kept cannot", () => {
  const otherStore = "Another store needs a restart";
  assertEquals(changed({ path: "/a" }, { path: "/a", retentionDays: 7 }), "serves");
  assertEquals(changed({ path: "/a" }, { path: "/b" }), otherStore);
  assertEquals(changed({ path: "/a" }, {}), otherStore);
  assertEquals(changed({}, { kind: "memory" }), otherStore);
});
