import { assertEquals } from "@std/assert";
import type { Quirks } from "../../src/contract/quirks.ts";
import { preferFormat } from "../../src/inference/speech.ts";

Deno.test("speech is asked first of a place that makes the wanted format, the order kept otherwise", () => {
  const few: Quirks & { name: string } = { name: "few", speechFormats: { mp3: "mp3", pcm: "raw" } };
  const all: typeof few = { name: "all" };
  const last: typeof few = { name: "last" };
  assertEquals(preferFormat([few, all, last], "flac"), [all, last, few]);
  assertEquals(preferFormat([few, all, last], "pcm"), [few, all, last]);
  assertEquals(preferFormat([few], "opus"), [few]);
});
