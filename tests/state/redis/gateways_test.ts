/** Gateways on one server, as people run them. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { parseRedisUrl } from "../../../src/config/redis_url.ts";
import { openRedisStore } from "../../../src/state/redis/open.ts";
import { CONFIG, newApp, NOW } from "../../support/app.ts";
import { runLaunched, withFolder, withLaunched } from "../../support/process.ts";
import { isRedisMissing, startRedis } from "../../support/redis_server.ts";
import { until, within } from "../../support/wait.ts";
import { answerTo, echoUpstream, respond, said, WAYS } from "../continuity/echo.ts";

Deno.test({
  name: "redis: two gateways with no more permissions than they ask for go on with each other's conversations and keys",
  ignore: isRedisMissing,
  fn: () =>
    withFolder(async (cwd) => {
      const server = await startRedis(["--requirepass", "pass-5f2a"]);
      const config = {
        extends: "default",
        storedKeys: true,
        store: { kind: "redis", url: { env: "STORE_URL" } },
      };
      await Deno.writeTextFile(`${cwd}/gateway.json`, JSON.stringify(config));
      const options = { cwd, env: { STORE_URL: server.url.replace("//", "//:pass-5f2a@") } };
      try {
        const { stdout: key, stderr } = await runLaunched(["keys", "create", "ada"], options);
        assertEquals(key.slice(0, 8), "laneway_", stderr);
        const ask = async (url: string, body: object) => {
          const response = await fetch(`${url}/oss/v1/responses`, {
            method: "POST",
            headers: { "content-type": "application/json", "x-api-key": key.trim() },
            body: JSON.stringify({ model: "sandbox", ...body }),
          });
          return { status: response.status, body: await response.json() };
        };
        await withLaunched([], options, async (one) => {
          assertStringIncludes(
            await one.said("Keys: "),
            `Stored conversations: on 127.0.0.1:${server.port}, for 30 days`,
          );
          await withLaunched([], options, async (two) => {
            const first = await ask(one.url, { input: "Hello" });
            assertEquals([first.status, first.body.store], [200, true], JSON.stringify(first.body));
            const second = await ask(two.url, { input: "Again", previous_response_id: first.body.id });
            assertEquals([second.status, second.body.previous_response_id], [200, first.body.id]);
            assertEquals((await runLaunched(["keys", "revoke", "ada"], options)).code, 0);
            await until(async () => (await ask(one.url, { input: "Hello" })).status === 401);
            await until(async () => (await ask(two.url, { input: "Hello" })).status === 401);
          });
        });
      } finally {
        await server.stop();
      }
    }),
});

for (const [way, respondBy] of Object.entries(WAYS)) {
  Deno.test({
    name:
      `redis: while the server is frozen, answers come with a note that they are not stored, and are stored again after: ${way}`,
    ignore: isRedisMissing,
    async fn() {
      const server = await startRedis();
      const store = openRedisStore({ address: parseRedisUrl(server.url)!, now: () => NOW });
      // The store gives up by itself: nobody waits as long as any store may take.
      const app = newApp({ config: CONFIG, fetch: echoUpstream().fetch, store, pace: { storeMs: 600_000 } });
      try {
        const { body: before } = await respond(app, { input: "a" });
        server.kill("SIGSTOP");
        const asked = respondBy(app, { input: "b" });
        const lost = await within(asked);
        assertEquals([lost.status, lost.body.store, said(lost.body)], [200, false, answerTo("b")]);
        const { status } = await within(respond(app, { input: "c", previous_response_id: before.id }));
        assertEquals(status, 503);
        server.kill("SIGCONT");
        await until(async () => (await respond(app, { input: "d", previous_response_id: before.id })).status === 200);
        const { status: unknown } = await respond(app, { input: "e", previous_response_id: lost.body.id });
        assertEquals(unknown, 400);
      } finally {
        await app.close();
        store.close();
        await server.stop();
      }
    },
  });
}
