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

Deno.test("reload: what the fetcher was started by needs a restart, what the gateway asks of it does not", () => {
  type WebFetch = NonNullable<z.input<typeof configSchema>["hostedTools"]>["webFetch"];
  const becomes = (from: WebFetch, to: WebFetch) => {
    const configOf = (webFetch: WebFetch) => configSchema.parse({ hostedTools: { webFetch } });
    const platform = { env: () => undefined, os: "linux", isGranted: () => true };
    const reloaded = reload(configOf(from), { load: () => ({ config: configOf(to) }), platform });
    return "kept" in reloaded ? reloaded.kept : "serves";
  };
  const needsRestart = "Starting the fetcher differently needs a restart";
  assertEquals(becomes({}, { timeoutMs: 1_000, maxCharacters: 2_000 }), "serves");
  assertEquals(becomes({}, { allow: ["http://wiki.internal"] }), needsRestart);
  assertEquals(becomes({}, { obeyRobots: false }), needsRestart);
  assertEquals(becomes({}, undefined), needsRestart);
  assertEquals(becomes(undefined, {}), needsRestart);
  const apart = { url: "http://10.0.0.7:8100", secret: { env: "FETCHER_TOKEN" } };
  assertEquals(becomes(apart, { ...apart, url: "http://10.0.0.8:8100" }), "serves");
});
