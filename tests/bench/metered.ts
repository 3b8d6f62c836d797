/**
 * The gateway with a meter beside it: `metered.ts <configuration>`. `GET /meter` tells the longest that its one thread has
 * been held since it was asked last, in milliseconds of processor time: what other programs do meanwhile does not count.
 */
import { createApp, pluginFacts } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { standardStreams } from "../../src/observe/standard.ts";
import { deno } from "../../src/platform/deno.ts";

const TICK_MS = 1;
const env = (name: string) => Deno.env.get(name);
const { config } = loadConfig({ path: Deno.args[0], ...pluginFacts(), env });
const app = createApp({ config, env, log: () => {} });

let heldMs = 0;
let before = threadMs();
setInterval(() => {
  const now = threadMs();
  heldMs = Math.max(heldMs, now - before);
  before = now;
}, TICK_MS);

const onListen = ({ port }: Deno.NetAddr) => standardStreams(deno).say(`http://127.0.0.1:${port}`);
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, (request, { remoteAddr }) => {
  if (!request.url.endsWith("/meter")) return app.fetch(request, { remoteAddr });
  const reading = { heldMs };
  heldMs = 0;
  return Response.json(reading);
});

/** Processor time of the thread that runs all JavaScript; the clock's where the platform has no `/proc`. */
function threadMs(): number {
  if (Deno.build.os !== "linux") return performance.now();
  return Number(Deno.readTextFileSync("/proc/self/schedstat").split(" ")[0]) / 1e6;
}
