import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody } from "../support/app.ts";
import { ANSWER, ENDING, word } from "../support/chat.ts";
import { until } from "../support/wait.ts";
import { testEach, withGateway } from "./gateway.ts";
import { chunk, jsonAnswer, LAST_CHUNK, postHead, STREAM_HEAD } from "./tcp.ts";
import { statusOf } from "../support/gateway_process.ts";

testEach("drain: balancers are told first, and everything is served still", async () => {
  await withGateway(async ({ app, url, connect, upstream }) => {
    assertEquals(await statusOf(`${url}/readyz`), 200);
    app.drain();
    assertEquals([await statusOf(`${url}/readyz`), await statusOf(`${url}/healthz`)], [503, 200]);
    const client = await connect();
    await client.post(CHAT, chatBody());
    await (await upstream.next()).write(jsonAnswer(ANSWER));
    await client.readUntil('"content":"whole"');
  });
});

testEach("drain: a stream that runs comes to its own end, and the server waits for it", async () => {
  await withGateway(async ({ app, url, server, connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const asked = await upstream.next();
    await asked.write(STREAM_HEAD + chunk(word("one")));
    await client.readUntil('"content":"one"');

    app.drain();
    let isDown = false;
    const down = server.shutdown().then(() => isDown = true);
    await until(() => refuses(url));
    assert(!isDown);
    await asked.write(chunk(word("two") + ENDING) + LAST_CHUNK);
    await client.readUntil("[DONE]");
    assertStringIncludes(client.text, '"content":"two"');
    await down;
    assertEquals(app.logs.map((entry) => entry.status), [200]);
  });
});

testEach("drain: a connection over which nothing came holds up nobody", async () => {
  await withGateway(async ({ app, server, connect }) => {
    const client = await connect();
    const other = await connect();
    // The server has taken the first one by then.
    await other.post("/oss/v1/nothing", {});
    await other.readUntil("404");
    app.drain();
    await server.shutdown();
    assertEquals(await client.readToEnd(), "");
  });
});

testEach("drain: a request that is still being sent when the server shuts down is told to come again", async () => {
  await withGateway(async ({ app, url, server, connect }) => {
    const client = await connect();
    await client.send(`${postHead(CHAT, 1_000)}{"model": "model", `);
    // Once a later request is answered this one is being read.
    await statusOf(`${url}/healthz`);
    app.drain();
    const down = server.shutdown();
    await client.readUntil("The gateway is shutting down");
    assertMatch(client.text, /^HTTP\/1.1 503 [^]*\r\nretry-after: 1\r\n/);
    client.close();
    await down;
    assertEquals(app.logs.map((entry) => entry.status), [503]);
  });
});

testEach("abort: what still runs ends with an error, and its upstream is left", async () => {
  await withGateway(async ({ app, connect, upstream }) => {
    const streaming = await connect();
    await streaming.post(CHAT, chatBody({ stream: true }));
    const first = await upstream.next();
    await first.write(STREAM_HEAD + chunk(word("one")));
    await streaming.readUntil('"content":"one"');
    const waiting = await connect();
    await waiting.post(CHAT, chatBody());
    const second = await upstream.next();

    app.abort();
    await streaming.readUntil(LAST_CHUNK);
    assertStringIncludes(streaming.text, '"code":"unavailable"');
    assert(!streaming.text.includes("[DONE]"));
    await waiting.readUntil('"unavailable"');
    assertMatch(waiting.text, /^HTTP\/1\.1 503 /);
    await Promise.all([first.left, second.left]);
    await until(() => app.logs.length === 2);
    assertEquals(app.logs.map(({ status, error }) => [status, error]).sort(), [[200, "unavailable"], [
      503,
      "unavailable",
    ]]);
  });
});

/** Whether the address takes no more connections. */
function refuses(url: string): boolean {
  const { hostname, port } = new URL(url);
  try {
    Deno.listen({ hostname, port: Number(port) }).close();
    return true;
  } catch {
    return false;
  }
}
