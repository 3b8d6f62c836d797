import { assertEquals } from "@std/assert";
import { CHAT, chatBody } from "../support/app.ts";
import { ANSWER, ENDING, word } from "../support/chat.ts";
import { turns, until } from "../support/wait.ts";
import { type Setting, testEach, withGateway } from "./gateway.ts";
import { type Asked, chunk, jsonAnswer, postHead, STREAM_HEAD, type TcpClient } from "./tcp.ts";

interface Phase {
  stream: boolean;
  /** Brings the exchange to the phase in which the client leaves. */
  reach(client: TcpClient, asked: Asked): Promise<unknown>;
}

const PHASES: Record<string, Phase> = {
  "before the upstream's head, whole": { stream: false, reach: () => Promise.resolve() },
  "before the upstream's head, streamed": { stream: true, reach: () => Promise.resolve() },
  "inside a whole answer": {
    stream: false,
    reach: (_, asked) =>
      asked.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{"),
  },
  "after the head, before the first event": { stream: true, reach: (_, asked) => asked.write(STREAM_HEAD) },
  "after an early head": {
    stream: true,
    reach: (client) => client.readUntil(": keep-alive"),
  },
  "between events": {
    stream: true,
    async reach(client, asked) {
      await asked.write(STREAM_HEAD + chunk(word("one")));
      await client.readUntil('"content":"one"');
    },
  },
  "inside a frame": {
    stream: true,
    async reach(client, asked) {
      await asked.write(STREAM_HEAD + chunk(word("one") + 'data: {"choi'));
      await client.readUntil('"content":"one"');
    },
  },
};

for (const [name, { stream, reach }] of Object.entries(PHASES)) {
  testEach(`a client that leaves stops the upstream: ${name}`, async () => {
    await withGateway(async ({ app, connect, upstream }) => {
      const client = await connect();
      await client.post(CHAT, chatBody({ stream }));
      const asked = await upstream.next();
      await reach(client, asked);
      const start = performance.now();
      client.close();
      const took = await asked.left - start;
      // deno-lint-ignore no-console -- a figure that people want to see
      console.log(`the upstream was stopped after ${took.toFixed(1)} ms`);
      await expectEntry499({ app });
      assertEquals(app.logs[0]!.stream, stream);
    }, { pace: { headAfterMs: 50, keepAliveMs: 50 } });
  });
}

// Phases in which it waits for its turn at an upstream

for (const stream of [false, true]) {
  const mode = stream ? "streamed" : "whole";

  testEach(`a client that leaves while it waits for a place at the upstream gives its turn away: ${mode}`, async () => {
    await withGateway(async (setting) => {
      const { app, connect, upstream } = setting;
      const [first, waiting, next] = [await connect(), await connect(), await connect()];
      await first.post(CHAT, chatBody({ stream }));
      const asked = await upstream.next();
      await waiting.post(CHAT, chatBody({ stream, user: "waiting" }));
      await reached(setting);
      waiting.close();
      await until(() => app.logs.length > 0);
      assertEquals([app.logs[0]!.status, app.logs[0]!.attempts], [499, undefined]);

      await next.post(CHAT, chatBody({ stream, user: "next" }));
      await reached(setting);
      await asked.write(jsonAnswer(ANSWER));
      const served = await upstream.next();
      assertEquals(JSON.parse(served.body).user, "next");
      await served.write(jsonAnswer(ANSWER));
      await next.readUntil("whole");
      await until(() => app.logs.length === 3);
    }, { upstream: { concurrency: { running: 1, waiting: 5 } } });
  });

  testEach(`a client that leaves between two rounds of attempts ends them: ${mode}`, async () => {
    await withGateway(async (setting) => {
      const { app, connect, upstream } = setting;
      const client = await connect();
      await client.post(CHAT, chatBody({ stream }));
      const failure = jsonAnswer({ error: { message: "Later" } }, "503 Service Unavailable\r\nretry-after: 3");
      await (await upstream.next()).write(failure);
      await reached(setting);
      client.close();
      await until(() => app.logs.length > 0);
      assertEquals(setting.app.logs[0]!.status, 499);
      assertEquals(upstream.asked.length, 1);
    }, { retry: { budgetMs: 10_000 } });
  });
}

testEach("a client that leaves while two targets are asked stops both", async () => {
  const target = (model: string) => ({ upstream: "tcp", model });
  await withGateway(async ({ app, connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const both = [await upstream.next(), await upstream.next()];
    client.close();
    await Promise.all(both.map(({ left }) => left));
    await expectEntry499({ app });
    assertEquals(app.logs[0]!.attempts, 2);
  }, { model: { targets: [target("one"), target("two")], hedgeAfterMs: 20 } });
});

testEach("of two targets that are asked, the one that lost is let go while the other still speaks", async () => {
  const target = (model: string) => ({ upstream: "tcp", model });
  await withGateway(async ({ connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const [silent, quick] = [await upstream.next(), await upstream.next()];
    await quick.write(STREAM_HEAD + chunk(word("one")));
    await client.readUntil('"content":"one"');
    await silent.left;
    await quick.write(chunk(ENDING));
    await client.readUntil("[DONE]");
  }, { model: { targets: [target("one"), target("two")], hedgeAfterMs: 20 } });
});

/** Once the gateway has answered a later request, and had time for what it was told before, it has come as far as it can. */
async function reached({ url }: Setting): Promise<void> {
  for (let time = 0; time < 3; time++) await (await fetch(`${url}/healthz`)).body?.cancel();
  await turns(20);
}

// The platform does not tell of a client that leaves before the head of the answer when its request came in several pieces.
testEach("a client that leaves after a long request stops the upstream when its stream's head goes out", async () => {
  await withGateway(async ({ app, connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true, messages: [{ role: "user", content: "word ".repeat(20_000) }] }));
    const asked = await upstream.next();
    client.close();
    await asked.left;
    await expectEntry499({ app });
  }, { pace: { headAfterMs: 50, keepAliveMs: 50 } });
});

testEach("a client that leaves while it sends its body is logged, and nothing is asked", async () => {
  await withGateway(async ({ app, url, connect, upstream }) => {
    const client = await connect();
    await client.send(`${postHead(CHAT, 1_000)}{"model": "model", `);
    // Once a later request is answered this one is being read.
    await (await fetch(`${url}/healthz`)).body?.cancel();
    client.close();
    await expectEntry499({ app });
    assertEquals(upstream.asked.length, 0);
  });
});

testEach("a client that leaves after its whole answer is no client that left", async () => {
  await withGateway(async ({ app, connect }) => {
    for (const stream of [false, true]) {
      const client = await connect();
      await client.post(CHAT, { ...chatBody({ stream }), model: "sandbox" });
      await client.readUntil(stream ? "[DONE]" : '"usage"');
      client.close();
    }
    await until(() => app.logs.length === 2);
    assertEquals(app.logs.map(({ status }) => status), [200, 200]);
  });
});

testEach("a client that leaves at [DONE], as the SDK does, has had its whole answer", async () => {
  await withGateway(async ({ app, connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const asked = await upstream.next();
    // The upstream's body goes on, so the gateway's cannot end before the client leaves.
    await asked.write(STREAM_HEAD + chunk(word("one") + ENDING));
    await client.readUntil("[DONE]");
    client.close();
    await asked.left;
    await until(() => app.logs.length === 1);
    assertEquals(app.logs[0]!.status, 200);
  });
});

async function expectEntry499({ app }: Pick<Setting, "app">): Promise<void> {
  await until(() => app.logs.length > 0);
  assertEquals(app.logs.map(({ status }) => status), [499]);
}
