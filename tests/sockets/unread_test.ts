/** Clients that take nothing of their streams, over real sockets: their places go to others. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { formatLogLine } from "../../src/observe/log.ts";
import { CHAT, chatBody, type ConfigInput } from "../support/app.ts";
import { ENDING, word } from "../support/chat.ts";
import { delay, until } from "../support/wait.ts";
import { type Setting, type SettingOptions, testEach, withGateway } from "./gateway.ts";
import { type Asked, chunk, LAST_CHUNK, STREAM_HEAD, type TcpClient } from "./tcp.ts";

/** Long enough that a machine that is busy does not blame a client which only waits for its turn. */
const STALL_MS = 1_000;
const PIECE = chunk(word("Z".repeat(64 * 1024)));
/** An answer fills the buffers of two connections, and more. */
const LIMITS = { sendStallMs: STALL_MS, answerText: 2 ** 30 };

/** A stream of which the client reads nothing, and whose upstream sends for as long as somebody takes it. */
async function neglect({ connect, upstream }: Setting): Promise<{ client: TcpClient; asked: Asked }> {
  const client = await connect();
  await client.post(CHAT, chatBody({ stream: true }));
  const asked = await upstream.next();
  await asked.write(STREAM_HEAD);
  (async () => {
    for (;;) await asked.write(PIECE);
  })().catch(() => {}); // the gateway has let go
  return { client, asked };
}

/** One that reads all of a short stream. */
async function attend({ connect, upstream }: Setting): Promise<void> {
  const client = await connect();
  await client.post(CHAT, chatBody({ stream: true }));
  const asked = await upstream.next();
  await asked.write(STREAM_HEAD + chunk(word("Hello") + ENDING) + LAST_CHUNK);
  assertStringIncludes(await client.readUntil("[DONE]"), "200 OK");
}

const PLACES: Record<string, SettingOptions> = {
  "its upstream's place": { upstream: { concurrency: { running: 2, waiting: 10, waitMs: 15_000 } }, limits: LIMITS },
  "the gateway's own": { limits: { ...LIMITS, concurrentRequests: 2 } },
};

for (const [what, options] of Object.entries(PLACES)) {
  testEach(`a client that takes nothing loses ${what}, and is told by the end of its connection`, async () => {
    await withGateway(async (setting) => {
      const { app } = setting;
      const neglected = [await neglect(setting), await neglect(setting)];
      if ("concurrentRequests" in options.limits!) await until(() => app.logs.length === 2);
      await attend(setting);
      await until(() => app.logs.length === 3);
      for (const { asked } of neglected) await asked.left;
      const lines = app.logs.map((entry) => JSON.parse(formatLogLine(entry)));
      const [third, first, second] = lines.toSorted((one, other) => one.status - other.status);
      for (const { status, error, cause } of [first, second]) {
        assertEquals([status, error], [499, "client_closed"]);
        assertEquals(cause, "The client read nothing of the response for 1 s");
      }
      assertEquals([third.status, third.error], [200, undefined]);
      const { client } = neglected[0]!;
      const rest = await client.readToEnd();
      // A body in chunks is whole only with its last one, which is empty.
      assert(rest.length > 0 && !rest.endsWith(LAST_CHUNK), rest.slice(-100));
    }, options);
  });
}

testEach("a client that reads a little at a time keeps its place for as long as it reads", async () => {
  await withGateway(async (setting) => {
    const { client } = await neglect(setting);
    // Far beyond what the system's buffers hold, in a time far beyond what a client may take nothing.
    const begun = performance.now();
    for (let read = 0; read < 40 * 2 ** 20 || performance.now() - begun < 4 * STALL_MS;) {
      read += await client.count("Z", "Z");
      await delay(1);
    }
    assertEquals(setting.app.logs, []);
  }, { limits: LIMITS });
});

testEach("a client that waits for a silent upstream keeps its place", async () => {
  await withGateway(async ({ app, connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const asked = await upstream.next();
    await asked.write(STREAM_HEAD + chunk(word("Hello")));
    await client.readUntil("Hello");
    await client.readUntil(": keep-alive", 20);
    await asked.write(chunk(ENDING) + LAST_CHUNK);
    await client.readUntil("[DONE]");
    await until(() => app.logs.length === 1);
    assertEquals(app.logs[0]!.status, 200);
  }, { limits: { sendStallMs: 100 } satisfies ConfigInput["limits"], pace: { keepAliveMs: 50 } });
});
