import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { crc32, inflateSync } from "node:zlib";
import { draw } from "../../../plugins/sandbox/draw.ts";
import { stored } from "../../../plugins/sandbox/png.ts";
import type { DrawRequest } from "../../../src/canonical/draw.ts";
import { GatewayError } from "../../../src/errors.ts";
import { newContext } from "../../support/context.ts";
import { law } from "../../support/law.ts";

const TARGET = { model: "sandbox-image" };

function paint(fields: Partial<DrawRequest> = {}) {
  const context = newContext("images");
  const request: DrawRequest = { model: "sandbox-image", prompt: "A fox", count: 1, stream: false, ...fields };
  const { pictures } = draw(request, TARGET, context);
  return { pictures: pictures.map(({ base64 }) => base64!), notes: context.notes };
}

/** The chunks of a PNG file by their names. Throws if one is damaged. */
function chunksOf(base64: string): Map<string, Uint8Array> {
  const bytes = Uint8Array.fromBase64(base64);
  const view = new DataView(bytes.buffer);
  const chunks = new Map<string, Uint8Array>();
  for (let at = 8; at < bytes.length;) {
    const length = view.getUint32(at);
    const named = bytes.subarray(at + 4, at + 8 + length);
    assertEquals(view.getUint32(at + 8 + length), crc32(named));
    chunks.set(new TextDecoder().decode(named.subarray(0, 4)), named.subarray(4));
    at += 12 + length;
  }
  return chunks;
}

law(
  "sandbox: every picture is a whole PNG file of its size",
  fc.record({ width: fc.integer({ min: 1, max: 70 }), height: fc.integer({ min: 1, max: 70 }) }),
  (size) => {
    const [picture] = paint({ size }).pictures;
    const chunks = chunksOf(picture!);
    assertEquals([...chunks.keys()], ["IHDR", "PLTE", "IDAT", "IEND"]);
    const rows = inflateSync(chunks.get("IDAT")!);
    assertEquals(rows.length, size.height * (1 + Math.ceil(size.width / 4)));
  },
);

Deno.test("sandbox: the same request draws the same picture, and another prompt, seed or number another one", () => {
  const [first] = paint().pictures;
  assertEquals(paint().pictures, [first]);
  const others = [
    ...paint({ prompt: "A dog" }).pictures,
    ...paint({ seed: 7 }).pictures,
    ...paint({ count: 3 }).pictures,
  ];
  assertEquals(new Set([first, ...others]).size, 5);
});

Deno.test("sandbox: a transparent background is transparent, and what it does not have is noted", () => {
  const { pictures, notes } = paint({
    background: "transparent",
    quality: "high",
    format: "webp",
    partials: 2,
    stream: true,
  });
  assert(chunksOf(pictures[0]!).has("tRNS"));
  assertEquals(notes, ["dropped quality", "dropped partial_images", "delivered png in place of webp"]);
});

Deno.test("sandbox: a changed picture has the size of the given one, and depends on it", () => {
  const given = (prompt: string) => {
    const bytes = Uint8Array.fromBase64(paint({ prompt, size: { width: 20, height: 10 } }).pictures[0]!);
    return [{ type: "bytes" as const, bytes, mediaType: "image/png", name: "a.png" }];
  };
  const [fox] = paint({ images: given("A fox") }).pictures;
  const [dog] = paint({ images: given("A dog") }).pictures;
  assert(fox !== dog);
  assertEquals([...chunksOf(fox!).get("IHDR")!.subarray(0, 8)], [0, 0, 0, 20, 0, 0, 0, 10]);
});

Deno.test("sandbox: a picture that would keep others waiting is refused", () => {
  assertThrows(() => paint({ size: { width: 2_049, height: 1 } }), GatewayError, "at most");
});

law("sandbox: what is stored without compression is what was given", fc.uint8Array({ maxLength: 200_000 }), (bytes) => {
  assertEquals(new Uint8Array(inflateSync(stored(bytes))), bytes);
});
