/** Budgets of gateways that are processes of their own, on one store, and that are killed. */
import { assert, assertEquals } from "@std/assert";
import { type GatewayProcess, startGateway } from "../support/gateway_process.ts";
import { isRedisMissing, startRedis } from "../support/redis_server.ts";
import { ANSWER } from "../support/chat.ts";
import { until } from "../support/wait.ts";
import { withFolder } from "../state/temp_folder.ts";

/** In thousandths of a dollar: what all may spend, what one answer may cost, and what it costs. */
const LIMIT = 400;
const MAY_COST = 20;
const COSTS = 10;

const USAGE = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };

/** An upstream that answers a little later, and knows how many of its answers were begun. */
function newUpstream() {
  let begun = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    await request.text().catch(() => "");
    begun++;
    await new Promise((resolve) => setTimeout(resolve, 5));
    return Response.json({ ...ANSWER, usage: USAGE });
  });
  return { url: `http://127.0.0.1:${server.addr.port}/v1`, begun: () => begun, stop: () => server.shutdown() };
}

async function ask(gateway: GatewayProcess): Promise<number> {
  const body = { model: "model", max_tokens: 10, messages: [{ role: "user", content: "Hello" }] };
  try {
    const response = await fetch(`${gateway.url}/oss/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}

/** What was spent, in thousandths of a dollar. */
async function spentBy(gateway: GatewayProcess): Promise<number> {
  const { budgets: [{ spent }] } = await (await fetch(`${gateway.url}/usage`)).json();
  return Math.round(Number(spent) * 1_000);
}

async function writeConfig(folder: string, upstream: string, store: object): Promise<string> {
  const path = `${folder}/gateway.json`;
  const targets = [{ upstream: "fake", model: "m", price: { input: 1_000, output: 1_000 } }];
  await Deno.writeTextFile(
    path,
    JSON.stringify({
      upstreams: { fake: { driver: "chat", baseUrl: upstream } },
      lanes: { oss: { models: { model: { task: "chat", targets } } } },
      budget: { dollars: LIMIT / 1_000, period: "total" },
      store,
    }),
  );
  return path;
}

const STORES: Record<
  string,
  { isMissing?: boolean; open(folder: string): Promise<{ store: object; stop?(): Promise<void> }> }
> = {
  "a file": { open: (folder) => Promise.resolve({ store: { kind: "kv", path: `${folder}/store.sqlite3` } }) },
  "a Redis server": {
    isMissing: isRedisMissing,
    async open() {
      const server = await startRedis();
      Deno.env.set("BUDGET_REDIS_URL", server.url);
      return { store: { kind: "redis", url: { env: "BUDGET_REDIS_URL" } }, stop: () => server.stop() };
    },
  },
};

for (const [name, { isMissing = false, open }] of Object.entries(STORES)) {
  Deno.test({
    name: `budget: two processes on ${name}, of which one is killed in the middle, spend one budget`,
    ignore: isMissing,
    fn: () =>
      withFolder(async (folder) => {
        const upstream = newUpstream();
        const { store, stop } = await open(folder);
        const config = await writeConfig(folder, upstream.url, store);
        let [doomed, other] = await Promise.all([startGateway(config), startGateway(config)]);
        try {
          // Finished answers are known to the next process.
          for (let count = 0; count < 5; count++) assertEquals(await ask(doomed), 200);
          await until(async () => await spentBy(other) === 5 * COSTS);
          const running = [doomed, other].flatMap((gateway) => Array.from({ length: 8 }, () => ask(gateway)));
          await doomed.kill();
          await Promise.all(running);
          doomed = await startGateway(config);
          // What the dead one held is not free yet, and neither is what it spent.
          for (let round = 0; round < 10; round++) {
            await Promise.all([doomed, other].flatMap((gateway) => Array.from({ length: 8 }, () => ask(gateway))));
          }
          assertEquals(await ask(other), 402);
          const mostSpent = upstream.begun() * COSTS;
          assert(mostSpent <= LIMIT, `${mostSpent} of ${LIMIT}`);
          await until(async () => await spentBy(other) === await spentBy(doomed));
          const spent = await spentBy(other);
          // Only what was on its way when the process was killed may be missing.
          assert(spent <= mostSpent && spent >= mostSpent - 8 * COSTS, `${spent} of ${mostSpent}`);
          assert(spent >= LIMIT - 8 * MAY_COST - 2 * MAY_COST - LIMIT / 4, `Only ${spent} of ${LIMIT} could be spent`);
        } finally {
          await doomed.stop();
          await other.stop();
          await upstream.stop();
          await stop?.();
          Deno.env.delete("BUDGET_REDIS_URL");
        }
      }),
  });
}
