import { assertEquals } from "@std/assert";
import { CHAT, chatBody } from "../support/app.ts";
import { ANSWER } from "../support/chat.ts";
import { COMPLETIONS } from "../support/endpoints.ts";
import { until } from "../support/wait.ts";
import { testEach, withGateway } from "./gateway.ts";
import { chunk, jsonAnswer, STREAM_HEAD } from "./tcp.ts";

const SHORT = { model: "model", prompt: "function add(", stream: true };
/** It arrives in several pieces, of whose client Deno says nothing before the head is out. */
const LONG = { ...SHORT, prompt: "word ".repeat(20_000) };

/** One piece of a completion, or its end. */
function piece(text: string, finish_reason: string | null = null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, text, finish_reason }] })}\n\n`;
}

const WHOLE = { choices: [{ index: 0, text: "a, b)", finish_reason: "stop" }] };

for (const [name, body] of Object.entries({ short: SHORT, long: LONG })) {
  testEach(`a client that drops a ${name} completion stops the silent upstream at once`, async () => {
    await withGateway(async ({ app, connect, upstream }) => {
      const client = await connect();
      await client.post(COMPLETIONS, body);
      const asked = await upstream.next();
      client.close();
      await asked.left;
      await until(() => app.logs.length > 0);
      assertEquals(app.logs.map(({ status }) => status), [499]);
      // Far later than the test may take: the head of a completion does not wait for it.
    }, { pace: { headAfterMs: 3_600_000, keepAliveMs: 50 } });
  });
}

testEach(
  "the head of a streamed completion is out before the upstream answers, and its failure is in the stream",
  async () => {
    await withGateway(async ({ connect, upstream }) => {
      const client = await connect();
      await client.post(COMPLETIONS, SHORT);
      const asked = await upstream.next();
      await client.readUntil("200 OK");
      await asked.write(jsonAnswer({ error: { message: "There is no such model" } }, "400 Bad Request"));
      const text = await client.readUntil("no such model");
      assertEquals(/"error":\{/.test(text), true);
    }, { pace: { headAfterMs: 3_600_000, keepAliveMs: 50 } });
  },
);

testEach("completions do not wait behind conversations at an upstream, nor the other way round", async () => {
  await withGateway(async ({ app, connect, upstream }) => {
    const [talker, editor, other, last] = [await connect(), await connect(), await connect(), await connect()];
    await talker.post(CHAT, chatBody());
    const turn = await upstream.next();
    await editor.post(COMPLETIONS, SHORT);
    const filled = await upstream.next();
    await filled.write(STREAM_HEAD + chunk(piece("a, b)") + piece("", "stop") + "data: [DONE]\n\n"));
    await editor.readUntil("[DONE]");
    await turn.write(jsonAnswer(ANSWER));
    await talker.readUntil("whole");
    // Their places are free once they are over.
    await until(() => app.logs.length === 2);
    await other.post(COMPLETIONS, { ...SHORT, stream: false });
    const held = await upstream.next();
    await last.post(CHAT, chatBody());
    await (await upstream.next()).write(jsonAnswer(ANSWER));
    await last.readUntil("whole");
    await held.write(jsonAnswer(WHOLE));
    await other.readUntil("a, b)");
    await until(() => app.logs.length === 4);
    assertEquals(app.logs.map(({ status }) => status), [200, 200, 200, 200]);
  }, { upstream: { concurrency: { running: 1, waiting: 0 } } });
});

testEach("conversations are served while completions take all of their own places in the gateway", async () => {
  await withGateway(async ({ connect, upstream }) => {
    const [editor, refused, talker] = [await connect(), await connect(), await connect()];
    await editor.post(COMPLETIONS, SHORT);
    await upstream.next();
    await refused.post(COMPLETIONS, SHORT);
    await refused.readUntil("503");
    await talker.post(CHAT, chatBody());
    await (await upstream.next()).write(jsonAnswer(ANSWER));
    await talker.readUntil("whole");
  }, { limits: { concurrentCompletions: 1 } });
});

testEach("of many completions that are dropped none is left at the upstream, and the last one is served", async () => {
  await withGateway(async ({ app, connect, upstream }) => {
    for (let key = 0; key < 30; key++) {
      const client = await connect();
      await client.post(COMPLETIONS, { ...SHORT, prompt: SHORT.prompt.repeat(key * 20 + 1) });
      const asked = await upstream.next();
      if (key % 3 === 1) await asked.write(STREAM_HEAD);
      if (key % 3 === 2) {
        await asked.write(STREAM_HEAD + chunk(piece("a")));
        await client.readUntil('"text":"a"');
      }
      client.close();
      await asked.left;
    }
    await until(() => app.logs.length === 30);
    assertEquals(new Set(app.logs.map(({ status }) => status)), new Set([499]));
    const client = await connect();
    await client.post(COMPLETIONS, { ...SHORT, stream: false });
    await (await upstream.next()).write(jsonAnswer(WHOLE));
    await client.readUntil("a, b)");
  }, { upstream: { concurrency: { running: 1, waiting: 0 } }, limits: { concurrentCompletions: 1 } });
});
