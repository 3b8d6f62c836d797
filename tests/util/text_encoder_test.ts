import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { SharingEncoder } from "../../src/util/text_encoder.ts";
import { law } from "../support/law.ts";

const plain = new TextEncoder();

law(
  "sharing encoder: every text is what the platform makes of it, and stays so whatever is encoded after it",
  fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.nat(5_000).map((length) => "é".repeat(length)))),
  (texts) => {
    const encoder = new SharingEncoder();
    const encoded = texts.map((text) => encoder.encode(text));
    assertEquals(encoded.map((bytes) => [...bytes]), texts.map((text) => [...plain.encode(text)]));
  },
);

Deno.test("sharing encoder: a half of a pair is replaced as by the platform", () => {
  assertEquals(new SharingEncoder().encode("a\ud800b"), plain.encode("a\ud800b"));
});

Deno.test("sharing encoder: whoever transfers the bytes of one text harms none that comes after it", () => {
  const encoder = new SharingEncoder();
  const { buffer } = encoder.encode("first");
  structuredClone(buffer, { transfer: [buffer] });
  assertEquals(encoder.encode("second"), plain.encode("second"));
});
