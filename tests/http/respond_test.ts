import { mock } from "node:test";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type StreamOptions, streamResponse, withoutBody } from "../../src/http/respond.ts";
import { delay, until, within } from "../support/wait.ts";

const NEVER = 2 ** 30;

/** A streamed response, and what happened to it. */
function respond(texts: AsyncGenerator<string>, more: Partial<StreamOptions> = {}) {
  const happened: string[] = [];
  const chunks = {
    next: async () => (await texts.next()).value as string | undefined,
    cancel: async () => void await texts.return(undefined),
  };
  const response = streamResponse(chunks, {
    mediaType: "text/event-stream; charset=utf-8",
    keepAlive: () => ": keep-alive\n\n",
    keepAliveMs: NEVER,
    sendStallMs: NEVER,
    isServed: true,
    onStall: () => void happened.push("stalled"),
    onLeave: () => void happened.push("left"),
    onFailure: () => void happened.push("failed"),
    onEnd: () => void happened.push("ended"),
    ...more,
  });
  return { response, happened };
}

/** Chunks that a test hands over one by one. */
function slowChunks() {
  let asked = 0;
  let isOver = false;
  let next = Promise.withResolvers<string | undefined>();
  async function* chunks(): AsyncGenerator<string> {
    try {
      for (;;) {
        asked++;
        const text = await next.promise;
        next = Promise.withResolvers();
        if (text === undefined) return;
        yield text;
      }
    } finally {
      isOver = true;
    }
  }
  return {
    chunks: chunks(),
    give: (text?: string) => next.resolve(text),
    asked: () => asked,
    isOver: () => isOver,
  };
}

async function* of(...texts: string[]): AsyncGenerator<string> {
  for (const text of texts) yield await Promise.resolve(text);
}

Deno.test("respond: frames go out as they are, and then the stream is over", async () => {
  const { response, happened } = respond(of("one\n", "two\n"));
  assertEquals(await response.text(), "one\ntwo\n");
  assertEquals(happened, ["ended"]);
  assertEquals(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assertEquals(response.headers.get("cache-control"), "no-cache");
  assertEquals(response.headers.get("x-accel-buffering"), "no");
});

Deno.test("respond: a frame is asked for when somebody reads, and not before", async () => {
  const source = slowChunks();
  const { response } = respond(source.chunks);
  await delay(10);
  assertEquals(source.asked(), 0);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const first = reader.read();
  source.give("data: one\n\n");
  assertEquals((await first).value, "data: one\n\n");
  source.give();
  await reader.read();
});

Deno.test("respond: in silence a keep-alive goes out time after time, and then the frame", async () => {
  const source = slowChunks();
  const { response } = respond(source.chunks, { keepAliveMs: 10, keepAlive: () => "event: ping\ndata: {}\n\n" });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let count = 0; count < 4; count++) {
    assertEquals((await within(reader.read())).value, "event: ping\ndata: {}\n\n");
  }
  source.give("data: one\n\n");
  let text = "";
  while (!text.endsWith("data: one\n\n")) text += (await reader.read()).value;
  source.give();
  while (!(await reader.read()).done);
});

Deno.test("respond: where there is no keep-alive, nothing goes out in silence", async () => {
  const source = slowChunks();
  let asked = 0;
  const { response } = respond(source.chunks, { keepAliveMs: 2, keepAlive: () => (asked++, "") });
  const text = response.text();
  await until(() => asked > 2);
  source.give("one\n");
  source.give();
  await until(() => source.asked() > 1);
  source.give();
  assertEquals(await text, "one\n");
});

Deno.test("respond: keep-alives do not pile up before a client that does not read", async () => {
  const source = slowChunks();
  const { response } = respond(source.chunks, { keepAliveMs: 2 });
  const reader = response.body!.pipeThrough(new TextDecoderStream(), { preventCancel: true }).getReader();
  source.give("data: one\n\n");
  let text = "";
  while (!text.includes("one")) text += (await reader.read()).value;
  await delay(100);
  source.give("data: two\n\n");
  text = "";
  while (!text.includes("two")) text += (await reader.read()).value;
  // One may lie in each of the queues on the way.
  assert(text.split("keep-alive").length - 1 <= 4, text);
  source.give();
  while (!(await reader.read()).done);
});

Deno.test("respond: a client that leaves ends the frames, once", async () => {
  const source = slowChunks();
  const { response, happened } = respond(source.chunks);
  const reader = response.body!.getReader();
  const first = reader.read();
  source.give("data: one\n\n");
  await first;
  await within(reader.cancel());
  assertEquals([happened, source.isOver()], [["left", "ended"], true]);
});

Deno.test("respond: HEAD gets the head alone", async () => {
  const response = withoutBody(Response.json({ a: 1 }, { status: 201, headers: { "x-a": "b" } }));
  assertEquals([response.status, response.headers.get("x-a"), response.body], [201, "b", null]);
  assertEquals(response.headers.get("content-type"), "application/json");
  await response.body?.cancel();
});

Deno.test("respond: frames that fail break the stream off and end it: nothing of it runs on, and its log is written", async () => {
  async function* failing(): AsyncGenerator<string> {
    yield await Promise.resolve("data: one\n\n");
    throw new RangeError("what stands in the text is nobody's affair");
  }
  // A timer that is left would be a leak of this test.
  const { response, happened } = respond(failing());
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await reader.read()).value, "data: one\n\n");
  const { message } = await assertRejects(() => reader.read(), Error);
  assert(!message.includes("nobody's affair"));
  assertEquals(happened, ["failed", "ended"]);
});

Deno.test("respond: within the process the bytes of a chunk are its reader's alone, who may transfer them", async () => {
  const source = slowChunks();
  const { response } = respond(source.chunks, { isServed: false });
  const reader = response.body!.getReader();
  const read = async (text: string) => {
    source.give(text);
    const { value } = await reader.read();
    return value!;
  };
  const [first, second] = [await read("data: one\n\n"), await read("data: two\n\n")];
  assertEquals(new TextDecoder().decode(first.buffer), "data: one\n\n");
  structuredClone(first, { transfer: [first.buffer] });
  assertEquals(new TextDecoder().decode(second), "data: two\n\n");
  source.give();
  await reader.read();
});

Deno.test("respond: a keep-alive comes after its time of silence, a quarter later at most, and each chunk begins it anew", async () => {
  const { timers } = mock;
  timers.enable({ apis: ["setInterval"] });
  try {
    const source = slowChunks();
    let sent = 0;
    const { response } = respond(source.chunks, { keepAliveMs: 400, keepAlive: () => (sent++, ": keep-alive\n\n") });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const pass = async (ms: number) => {
      timers.tick(ms);
      await delay(0);
      return sent;
    };
    const all = (async () => {
      while (!(await reader.read()).done);
    })();
    await delay(0);
    assertEquals([await pass(399), await pass(101), await pass(399), await pass(101)], [0, 1, 1, 2]);
    // In the middle of a quarter.
    await pass(50);
    source.give("data: one\n\n");
    await until(() => source.asked() > 1);
    assertEquals([await pass(399), await pass(101)], [2, 3]);
    source.give();
    await all;
  } finally {
    timers.reset();
  }
});
