import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Frame } from "../../src/contract/frame.ts";
import { type StreamOptions, streamResponse, withoutBody } from "../../src/http/respond.ts";
import { delay, within } from "../support/wait.ts";

const NEVER = 2 ** 30;

/** A streamed response, and what happened to it. */
function respond(frames: AsyncIterable<Frame>, more: Partial<StreamOptions> = {}) {
  const happened: string[] = [];
  const response = streamResponse(frames, {
    keepAlive: () => undefined,
    keepAliveMs: NEVER,
    interject: () => undefined,
    sendStallMs: NEVER,
    onStall: () => void happened.push("stalled"),
    onLeave: () => void happened.push("left"),
    onFailure: () => void happened.push("failed"),
    onEnd: () => void happened.push("ended"),
    ...more,
  });
  return { response, happened };
}

/** Frames that a test hands over one by one. */
function slowFrames() {
  let asked = 0;
  let isOver = false;
  let next = Promise.withResolvers<Frame | undefined>();
  async function* frames(): AsyncGenerator<Frame> {
    try {
      for (;;) {
        asked++;
        const frame = await next.promise;
        next = Promise.withResolvers();
        if (!frame) return;
        yield frame;
      }
    } finally {
      isOver = true;
    }
  }
  return {
    frames: frames(),
    give: (frame?: Frame) => next.resolve(frame),
    asked: () => asked,
    isOver: () => isOver,
  };
}

async function* of(...data: string[]): AsyncGenerator<Frame> {
  for (const text of data) yield await Promise.resolve({ data: text });
}

Deno.test("respond: frames go out as they are, and then the stream is over", async () => {
  const { response, happened } = respond(of("one", "two"));
  assertEquals(await response.text(), "data: one\n\ndata: two\n\n");
  assertEquals(happened, ["ended"]);
  assertEquals(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assertEquals(response.headers.get("cache-control"), "no-cache");
  assertEquals(response.headers.get("x-accel-buffering"), "no");
});

Deno.test("respond: a frame is asked for when somebody reads, and not before", async () => {
  const source = slowFrames();
  const { response } = respond(source.frames);
  await delay(10);
  assertEquals(source.asked(), 0);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const first = reader.read();
  source.give({ data: "one" });
  assertEquals((await first).value, "data: one\n\n");
  source.give();
  await reader.read();
});

Deno.test("respond: in silence a keep-alive goes out time after time, and then the frame", async () => {
  const source = slowFrames();
  const { response } = respond(source.frames, { keepAliveMs: 10, keepAlive: () => ({ event: "ping", data: "{}" }) });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let count = 0; count < 4; count++) {
    assertEquals((await within(5_000, reader.read())).value, "event: ping\ndata: {}\n\n");
  }
  source.give({ data: "one" });
  let text = "";
  while (!text.endsWith("data: one\n\n")) text += (await reader.read()).value;
  source.give();
  while (!(await reader.read()).done);
});

Deno.test("respond: where no keep-alive is given, it is a comment", async () => {
  const source = slowFrames();
  const { response } = respond(source.frames, { keepAliveMs: 10, onLeave: () => source.give() });
  const reader = response.body!.getReader();
  assertEquals(new TextDecoder().decode((await reader.read()).value), ": keep-alive\n\n");
  await within(5_000, reader.cancel());
});

Deno.test("respond: keep-alives do not pile up before a client that does not read", async () => {
  const source = slowFrames();
  const { response } = respond(source.frames, { keepAliveMs: 2 });
  const reader = response.body!.pipeThrough(new TextDecoderStream(), { preventCancel: true }).getReader();
  source.give({ data: "one" });
  let text = "";
  while (!text.includes("one")) text += (await reader.read()).value;
  await delay(100);
  source.give({ data: "two" });
  text = "";
  while (!text.includes("two")) text += (await reader.read()).value;
  // One may lie in each of the queues on the way.
  assert(text.split("keep-alive").length - 1 <= 4, text);
  source.give();
  while (!(await reader.read()).done);
});

Deno.test("respond: what is to be said goes out right before the next frame", async () => {
  const late: (Frame | undefined)[] = [undefined, { comment: "notes: estimated usage" }];
  const { response } = respond(of("one", "two"), { interject: () => late.shift() });
  assertEquals(await response.text(), "data: one\n\n: notes: estimated usage\n\ndata: two\n\n");
});

Deno.test("respond: a client that leaves ends the frames, once", async () => {
  const source = slowFrames();
  const { response, happened } = respond(source.frames);
  const reader = response.body!.getReader();
  const first = reader.read();
  source.give({ data: "one" });
  await first;
  await within(5_000, reader.cancel());
  assertEquals([happened, source.isOver()], [["left", "ended"], true]);
});

Deno.test("respond: HEAD gets the head alone", async () => {
  const response = withoutBody(Response.json({ a: 1 }, { status: 201, headers: { "x-a": "b" } }));
  assertEquals([response.status, response.headers.get("x-a"), response.body], [201, "b", null]);
  assertEquals(response.headers.get("content-type"), "application/json");
  await response.body?.cancel();
});

Deno.test("respond: frames that fail break the stream off and end it: nothing of it runs on, and its log is written", async () => {
  async function* failing(): AsyncGenerator<Frame> {
    yield await Promise.resolve({ data: "one" });
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
