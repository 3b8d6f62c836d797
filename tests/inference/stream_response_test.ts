/** A stream that its reader leaves, wherever the gateway runs: here nothing but the body says that nobody reads it any more. */
import { assertEquals } from "@std/assert";
import { CHAT, chatBody, newApp } from "../support/app.ts";
import { ENDING, word } from "../support/chat.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";
import { until, within } from "../support/wait.ts";

/** An upstream that says this, and then nothing until it is left. */
function falling(text: string) {
  const state = { left: false };
  const answer = ({ signal }: Asked) => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        signal.addEventListener("abort", () => {
          state.left = true;
          controller.error(signal.reason);
        });
      },
      cancel: () => void (state.left = true),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  return { state, fetch: fakeUpstream(answer).fetch };
}

/** Reads until there is `wanted`, and leaves. */
async function readUntil(response: Response, wanted: string): Promise<() => Promise<void>> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; !text.includes(wanted);) text += (await within(reader.read())).value ?? "";
  return () => reader.cancel();
}

Deno.test("stream: who leaves in a silence stops the upstream, and is logged once", async () => {
  const { state, fetch } = falling(word("one"));
  const app = newApp({ fetch });
  const leave = await readUntil(await app.post(CHAT, chatBody({ stream: true })), '"content":"one"');
  await leave();
  await until(() => state.left);
  await (await app.post(CHAT, { ...chatBody(), model: "sandbox" })).body?.cancel();
  assertEquals(app.logs.map(({ status }) => status), [499, 200]);
});

Deno.test("stream: a read that fails because the client left is not logged as a failure of the gateway", async () => {
  const { state, fetch } = falling(word("one"));
  const app = newApp({ fetch });
  const client = new AbortController();
  const init = { method: "POST", body: JSON.stringify(chatBody({ stream: true })), signal: client.signal };
  const headers = { "content-type": "application/json" };
  const response = await app.fetch(new Request(`http://gateway${CHAT}`, { ...init, headers }));
  const reader = response.body!.getReader();
  await within(reader.read());
  const next = reader.read();
  // The server reports it before it cancels the body.
  client.abort();
  await within(next);
  await reader.cancel();
  assertEquals([state.left, app.logs.map(({ status, error }) => [status, error])], [true, [[499, undefined]]]);
});

Deno.test("stream: who leaves with the last frame has had the whole answer", async () => {
  const { state, fetch } = falling(word("one") + ENDING);
  const app = newApp({ fetch });
  const leave = await readUntil(await app.post(CHAT, chatBody({ stream: true })), "[DONE]");
  await leave();
  await until(() => state.left);
  assertEquals(app.logs.map(({ status }) => status), [200]);
});
