/** Threads at several gateways on one server. */
import { assert, assertEquals } from "@std/assert";
import { parseRedisUrl } from "../../../src/config/redis_url.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { openRedisStore } from "../../../src/state/redis/open.ts";
import {
  after,
  assertRefused,
  type Client,
  CREATE,
  newClient,
  textOf,
  user,
} from "../../plugins/messages/thread_rig.ts";
import { CONFIG, MODES } from "../../regressions/support.ts";
import { NOW } from "../../support/app.ts";
import { isRedisMissing, startRedis } from "../../support/redis_server.ts";
import { until, within } from "../../support/wait.ts";

const SKIPPED = isRedisMissing ? " (skipped: there is no Redis server)" : "";

async function withGateways(
  count: number,
  use: (clients: Client[], server: Awaited<ReturnType<typeof startRedis>>) => Promise<void>,
) {
  const server = await startRedis();
  const stores = Array.from(
    { length: count },
    () => openRedisStore({ address: parseRedisUrl(server.url)!, now: () => NOW }),
  );
  let ids = 0;
  const clients = stores.map((store) =>
    newClient([{ text: "said" }], { config: CONFIG, store, newId: () => String(++ids), pace: { storeMs: 600_000 } })
  );
  try {
    await use(clients, server);
  } finally {
    for (const { app } of clients) await app.close();
    for (const store of stores) store.close();
    await server.stop();
  }
}

for (const mode of MODES) {
  Deno.test({
    name: `threads, redis: however many gateways are asked at once, one continues a response (${mode})${SKIPPED}`,
    ignore: isRedisMissing,
    fn: () =>
      withGateways(3, async (clients) => {
        let { id } = await clients[0]!.ask({ system: "Be brief.", messages: [user("0")], thread: CREATE }, mode);
        for (let turn = 1; turn <= 5; turn++) {
          const turns = await Promise.all(
            Array.from({ length: 9 }, (_, at) =>
              clients[at % 3]!.ask({ messages: [user(`${turn}`)], thread: after(id) }, mode)),
          );
          const served = turns.filter(({ status }) =>
            status === 200
          );
          assertEquals(served.length, 1);
          for (const { status, error } of turns) {
            if (status !== 200) {
              assert(/^thread_(already_continued|continue_in_flight)$/.test(error!.details!.error_code!));
            }
          }
          for (const client of clients) {
            // The request that was served may not have given its claim back yet. The turn itself tells.
            assertRefused(
              await client.ask({ messages: [user("again")], thread: after(id) }, mode),
              "thread_already_continued",
            );
          }
          id = served[0]!.id;
        }
        const last = await clients[1]!.ask({ messages: [user("end")], thread: after(id) }, mode);
        assertEquals(textOf(last), "said");
        const { messages } = clients[1]!.bodies().at(-1) as { messages: JsonObject[] };
        const users = messages.filter(({ role }) => role === "user").map(({ content }) => content);
        assertEquals(users, ["0", "1", "2", "3", "4", "5", "end"]);
      }),
  });

  Deno.test({
    name: `threads, redis: while the server is frozen nothing is continued, and then everything is (${mode})${SKIPPED}`,
    ignore: isRedisMissing,
    fn: () =>
      withGateways(2, async ([one, two], server) => {
        const first = await one!.ask({ messages: [user("a")], thread: CREATE }, mode);
        server.kill("SIGSTOP");
        const refused = await within(two!.ask({ messages: [user("b")], thread: after(first.id) }, mode));
        assertEquals([refused.status, refused.error?.type], [529, "overloaded_error"]);
        const lost = await within(one!.ask({ messages: [user("x")], thread: CREATE }, mode));
        assertEquals([lost.status, lost.notes.includes("could not store")], [200, true]);
        server.kill("SIGCONT");
        await until(async () =>
          (await two!.ask({ messages: [user("b")], thread: after(first.id) }, mode)).status === 200
        );
        // The server may have got the turn although the gateway has given it up. Then it is there as a whole.
        const answered = await two!.ask({ messages: [user("y")], thread: after(lost.id) }, mode);
        if (answered.status !== 200) return assertRefused(answered, "thread_not_found", 404);
        const { messages } = two!.bodies().at(-1) as { messages: JsonObject[] };
        assertEquals(messages.map(({ content }) => content), ["x", "said", "y"]);
      }),
  });
}
