/** Each declared signature of `@std/streams` is exercised; `deno check` does not notice where one is missing in the package. */
import { assertEquals, assertRejects } from "@std/assert";
import { LimitedBytesTransformStream } from "../../src/std/streams/limited_bytes_transform_stream.ts";
import { toText } from "../../src/std/streams/to_text.ts";

/** A body that never ends; how much of it is read, and when it is let go. */
function endless(chunk: string) {
  const { promise: cancelled, resolve } = Promise.withResolvers<void>();
  const seen = { chunks: 0, cancelled };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      seen.chunks++;
      controller.enqueue(new TextEncoder().encode(chunk));
    },
    cancel: () => resolve(),
  }, { highWaterMark: 0 });
  return { body, seen };
}

Deno.test("@std/streams: a text is read up to its limit, wherever a character is cut", async () => {
  const bytes = new TextEncoder().encode("Übergröße");
  const pieces = () => ReadableStream.from(Array.from(bytes, (byte) => Uint8Array.of(byte)));
  const limited = (size: number) => pieces().pipeThrough(new LimitedBytesTransformStream(size, { error: true }));
  assertEquals(await toText(pieces()), "Übergröße");
  assertEquals(await toText(limited(bytes.length)), "Übergröße");
  await assertRejects(() => toText(limited(bytes.length - 1)), RangeError);
});

Deno.test("@std/streams: a body that never ends is let go at the limit, with or without an error", async () => {
  const failing = endless("1234");
  await assertRejects(
    () => toText(failing.body.pipeThrough(new LimitedBytesTransformStream(10, { error: true }))),
    RangeError,
  );
  await failing.seen.cancelled;
  assertEquals(failing.seen.chunks, 3);
  // Without an error the chunk at the limit is lost as a whole, so it cannot tell where the text was cut.
  const cut = endless("1234");
  assertEquals(await toText(cut.body.pipeThrough(new LimitedBytesTransformStream(10))), "12341234");
  await cut.seen.cancelled;
  assertEquals(cut.seen.chunks, 3);
});
