/**
 * The gateway without what keeps it safe: it admits everybody, counts nothing, keeps no breaker and writes no log. All else
 * is the same code in the same order, so that what the rest costs can be seen beside it.
 */
import { createApp, pluginFacts } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { LoadShedder } from "../../src/http/load_shedding.ts";
import { Breaker } from "../../src/routing/circuit_breaker.ts";

class NoBreaker extends Breaker {
  override order<T>(targets: readonly T[]): T[] {
    return [...targets];
  }
  override succeeded(): void {}
  override failed(): void {}
}

const breaker = new NoBreaker(Date.now);
const load: LoadShedder = { check() {}, acquire: () => () => {}, running: () => 0, limitBytes: () => Infinity };
const env = (name: string) => Deno.env.get(name);
const { config } = loadConfig({ path: Deno.args[0], ...pluginFacts(), env });
// An app takes these over from the one before it.
const parts = new Map<string, { from: string; part: unknown }>([
  ["breaker", { from: "null", part: breaker }],
  ["load", { from: "null", part: load }],
]);
const app = createApp({ config, env, log: () => {}, after: { parts } });
for (const [name, { part }] of parts) {
  if (app.parts.get(name)?.part !== part) throw new Error(`The gateway has a "${name}" of its own`);
}

Deno.serve({ hostname: "127.0.0.1", port: 0 }, (request, { remoteAddr }) => app.fetch(request, { remoteAddr }));
