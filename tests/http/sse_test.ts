import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Frame } from "../../src/contract/frame.ts";
import { formatFrame } from "../../src/http/framing.ts";
import { readFrames } from "../support/sources.ts";
import { bodyOf, toArray } from "../support/chunks.ts";

const TABLE: Record<string, { frame: Frame; text: string }> = {
  "data alone": { frame: { data: "{}" }, text: "data: {}\n\n" },
  "empty data": { frame: { data: "" }, text: "data: \n\n" },
  "a name, an id and data": {
    frame: { event: "ping", id: "7", data: "{}" },
    text: "event: ping\nid: 7\ndata: {}\n\n",
  },
  "a comment": { frame: { comment: "keep-alive" }, text: ": keep-alive\n\n" },
  "a comment that would end itself": { frame: { comment: "a\n\ndata: b" }, text: ": a data: b\n\n" },
  "a name that would end itself": { frame: { event: "a\r\nb", data: "c" }, text: "event: a b\ndata: c\n\n" },
  "data of several lines": { frame: { data: "a\nb\r\nc\rd" }, text: "data: a\ndata: b\ndata: c\ndata: d\n\n" },
};

for (const [name, { frame, text }] of Object.entries(TABLE)) {
  Deno.test(`sse: ${name}`, () => assertEquals(formatFrame(frame), text));
}

Deno.test("sse: any text comes out at the other side as it went in, its line breaks as one kind", async () => {
  const text = fc.string({
    unit: fc.oneof(fc.constantFrom("\n", "\r", ":", " ", "\uFEFF"), fc.string({ maxLength: 3 })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1 }), async (texts) => {
      const bytes = new TextEncoder().encode(texts.map((data) => formatFrame({ data })).join(""));
      const read = await toArray(readFrames(bodyOf([bytes])));
      assertEquals(read.map(({ data }) => data), texts.map((data) => data.replace(/\r\n|\r/g, "\n").toWellFormed()));
    }),
    { seed: 7 },
  );
});
