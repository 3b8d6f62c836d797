import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import OpenAI from "openai";
import { CHAT, chatBody } from "../support/app.ts";
import { ENDING, word } from "../support/chat.ts";
import { delay, until } from "../support/wait.ts";
import { type SettingOptions, testEach, withGateway } from "./gateway.ts";
import { chunk, jsonAnswer, LAST_CHUNK, STREAM_HEAD } from "./tcp.ts";

const QUICK: SettingOptions = { pace: { headAfterMs: 30, keepAliveMs: 20 } };
const KEEP_ALIVE = ": keep-alive\n\n";

testEach("a silent upstream: the client gets its head and keep-alives, time after time", async () => {
  await withGateway(async ({ app, connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const asked = await upstream.next();
    await client.readUntil(KEEP_ALIVE, 4);
    assertMatch(client.text, /^HTTP\/1\.1 200 OK\r\n/);
    assertEquals(client.text.includes("data:"), false);

    await asked.write(STREAM_HEAD + chunk(word("one")));
    await client.readUntil('"content":"one"');
    await client.readUntil(KEEP_ALIVE, client.text.split(KEEP_ALIVE).length + 3);

    await asked.write(chunk(word("two") + ENDING) + LAST_CHUNK);
    await client.readUntil("[DONE]");
    assertStringIncludes(client.text, '"content":"two"');
    await until(() => app.logs.length === 1);
    assertEquals(app.logs[0]!.status, 200);
  }, QUICK);
});

testEach("the SDK does not see keep-alives", async () => {
  await withGateway(async ({ url, upstream }) => {
    const client = new OpenAI({ baseURL: `${url}/oss/v1`, apiKey: "none", maxRetries: 0 });
    const stream = client.chat.completions.stream({
      model: "model",
      messages: [{ role: "user", content: "Hello" }],
    });
    const answered = stream.finalChatCompletion();
    // On a machine that is busy it comes before the upstream is heard of here.
    const connected = stream.emitted("connect");
    const asked = await upstream.next();
    await connected;
    await delay(100);
    await asked.write(STREAM_HEAD + chunk(word("one ")));
    await delay(100);
    await asked.write(chunk(word("two") + ENDING) + LAST_CHUNK);
    const { choices } = await answered;
    assertEquals(choices[0]!.message.content, "one two");
  }, QUICK);
});

testEach("an upstream that fails before the head is out is answered with a status", async () => {
  await withGateway(async ({ connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    await (await upstream.next()).write(
      jsonAnswer({ error: { message: "Out of memory" } }, "500 Internal Server Error"),
    );
    await client.readUntil('"upstream_error"');
    assertMatch(client.text, /^HTTP\/1\.1 502 /);
  }, { pace: { headAfterMs: 10_000, keepAliveMs: 10_000 } });
});

testEach("an upstream that fails after the head is out ends the stream with an error", async () => {
  await withGateway(async ({ app, connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const asked = await upstream.next();
    await client.readUntil(KEEP_ALIVE);
    await asked.write(jsonAnswer({ error: { message: "Out of memory" } }, "500 Internal Server Error"));
    await client.readUntil(LAST_CHUNK);
    assertMatch(client.text, /^HTTP\/1\.1 200 /);
    assertStringIncludes(client.text, '"code":"upstream_error"');
    assert(!client.text.includes("[DONE]"));
    await until(() => app.logs.length === 1);
    assertEquals([app.logs[0]!.error, app.logs[0]!.upstreamStatus], ["upstream_error", 500]);
  }, QUICK);
});
