import { assert, assertEquals, assertMatch } from "@std/assert";
import Anthropic from "anthropic-sdk";
import { ENDING, word } from "../support/chat.ts";
import { delay, until } from "../support/wait.ts";
import { type SettingOptions, testEach, withGateway } from "./gateway.ts";
import { chunk, jsonAnswer, LAST_CHUNK, STREAM_HEAD } from "./tcp.ts";

const QUICK: SettingOptions = { pace: { headAfterMs: 30, keepAliveMs: 20 } };
const PING = 'event: ping\ndata: {"type":"ping"}\n\n';
const ASK = { model: "model", max_tokens: 100, messages: [{ role: "user" as const, content: "Hello" }] };

testEach("messages: pings go out before the first event and between events", async () => {
  await withGateway(async ({ app, connect, upstream }) => {
    const client = await connect();
    await client.post("/oss/v1/messages", { ...ASK, stream: true });
    const asked = await upstream.next();
    await client.readUntil(PING, 3);
    assertMatch(client.text, /^HTTP\/1\.1 200 OK\r\n/);
    assertEquals(client.text.includes("message_start"), false);

    await asked.write(STREAM_HEAD + chunk(word("one")));
    await client.readUntil('"text":"one"');
    await client.readUntil(PING, client.text.split(PING).length + 2);

    await asked.write(chunk(word("two") + ENDING) + LAST_CHUNK);
    await client.readUntil("message_stop");
    // The head may say so of the connection.
    assertEquals(client.text.slice(client.text.indexOf("\r\n\r\n")).includes(": keep-alive"), false);
    await until(() => app.logs.length === 1);
    assertEquals([app.logs[0]!.protocol, app.logs[0]!.status], ["messages", 200]);
  }, QUICK);
});

testEach("messages: the SDK reads on through pings", async () => {
  await withGateway(async ({ url, upstream }) => {
    const client = new Anthropic({ baseURL: `${url}/oss`, apiKey: "none", maxRetries: 0 });
    const stream = client.messages.stream(ASK);
    const answered = stream.finalText();
    const connected = stream.emitted("connect");
    const asked = await upstream.next();
    await connected;
    await delay(100);
    await asked.write(STREAM_HEAD + chunk(word("one ")));
    await delay(100);
    await asked.write(chunk(word("two") + ENDING) + LAST_CHUNK);
    assertEquals(await answered, "one two");
  }, QUICK);
});

testEach("messages: an upstream that fails after pings is an error event, and the last one", async () => {
  await withGateway(async ({ connect, upstream }) => {
    const client = await connect();
    await client.post("/oss/v1/messages", { ...ASK, stream: true });
    const asked = await upstream.next();
    await client.readUntil(PING);
    await asked.write(jsonAnswer({ error: { message: "Too many people" } }, "503 Service Unavailable"));
    await client.readUntil(LAST_CHUNK);
    assertMatch(
      client.text,
      /event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error","message":"[^"]+"\}/,
    );
    assert(!client.text.includes("message_stop"));
  }, QUICK);
});
