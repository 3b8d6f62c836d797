import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import type { TranscriptionRequest } from "../../../src/canonical/audio.ts";
import { sniffMedia } from "../../../src/canonical/media.ts";
import { transcribe } from "../../../plugins/sandbox/transcribe.ts";
import { newContext } from "../../support/context.ts";
import { speech, TARGET } from "./support.ts";

const FILES = new URL("../../fixtures/audio/", import.meta.url);

function ask(bytes: Uint8Array<ArrayBuffer>, more: Partial<TranscriptionRequest> = {}, name = "speech.wav") {
  const context = newContext("audio");
  const file = { bytes, name, mediaType: sniffMedia(bytes) ?? "application/octet-stream" };
  const request: TranscriptionRequest = { model: "demo", file, format: "json", stream: false, ...more };
  return { ...transcribe(request, TARGET, context), notes: context.notes };
}

Deno.test("what the sandbox spoke comes back with sentences and words at their times", () => {
  const { notes, ...transcript } = ask(speech({ text: "Hello world. How are you?" }), { timestamps: ["word"] });
  assertEquals(transcript, {
    text: "Hello world. How are you?",
    duration: 1.5,
    segments: [
      { start: 0, end: 0.72, text: "Hello world." },
      { start: 0.78, end: 1.5, text: "How are you?" },
    ],
    words: [
      { word: "Hello", start: 0, end: 0.3 },
      { word: "world", start: 0.36, end: 0.66 },
      { word: "How", start: 0.78, end: 0.96 },
      { word: "are", start: 1.02, end: 1.2 },
      { word: "you", start: 1.26, end: 1.44 },
    ],
    usage: { seconds: 1.5 },
  });
  assertEquals(notes, []);
});

Deno.test("words come only where they are asked for", () => {
  const bytes = speech({});
  assertEquals([{}, { timestamps: ["segment" as const] }].map((more) => ask(bytes, more).words), [
    undefined,
    undefined,
  ]);
});

Deno.test("the times fit the sound at every speed", () => {
  const { duration, segments } = ask(speech({ text: "One two. Three.", speed: 4 }));
  assertEquals(duration, 0.225);
  assertEquals(segments?.map(({ start, end }) => [start, end]), [[0, 0.12], [0.135, 0.225]]);
});

Deno.test("space around a sentence is no part of it", () => {
  assertEquals(ask(speech({ text: "  Hi.\n" })).segments, [{ start: 0.12, end: 0.3, text: "Hi." }]);
  assertEquals(ask(speech({ text: " \n" })).segments, []);
});

Deno.test("any text that is spoken comes back to the letter, its times in order", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", minLength: 1 }),
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 300 }),
    fc.constantFrom("\ufeffBOM", "zero\0inside\0", "  spaces  ", "\r\nlines\n", "a".repeat(20_000), "猫。犬。"),
    fc.lorem({ mode: "sentences", maxCount: 8 }),
  );
  const request = fc.record({ text, speed: fc.double({ min: 0.25, max: 4, noNaN: true }), voice: fc.string() });
  fc.assert(
    fc.property(request, ({ text, speed, voice }) => {
      // Half a character has no bytes.
      const said = text.toWellFormed();
      const transcript = ask(speech({ text, speed, voice }), { timestamps: ["segment", "word"] });
      const { duration = 0, segments = [], words = [] } = transcript;
      assertEquals(transcript.text, said);
      assert(duration > 0);
      for (const times of [segments, words]) {
        let before = 0;
        for (const { start, end } of times) {
          assert(start >= before && end >= start && end <= duration);
          before = end;
        }
      }
      const letters = (text: string) => text.replace(/\s/g, "");
      assertEquals(letters(segments.map((segment) => segment.text).join("")), letters(said));
      assert(words.every(({ word }) => said.includes(word)));
    }),
    { seed: 20261121, numRuns: 150 },
  );
});

for (
  const [name, received] of [
    ["tone.wav", "audio/wav, 8044 bytes and 0.25 seconds"],
    ["tone.mp3", "audio/mpeg and 1152 bytes"],
    ["tone.flac", "audio/flac and 1551 bytes"],
    ["tone.ogg", "audio/ogg and 784 bytes"],
    ["tone.webm", "audio/webm and 1179 bytes"],
    ["tone.m4a", "audio/mp4 and 1948 bytes"],
  ] as const
) {
  Deno.test(`of ${name} the sandbox says what it received`, () => {
    const { text, duration, segments } = ask(Deno.readFileSync(new URL(name, FILES)), {}, name);
    assertEquals(
      text,
      "This is the Laneway sandbox, which runs no model: it writes down only the WAV files that it spoke itself. " +
        `It received the file "${name}" (${received}). Configure an upstream in gateway.json to write down what is said in it.`,
    );
    assertEquals(duration, name === "tone.wav" ? 0.25 : undefined);
    assertEquals(segments?.at(-1)?.end, duration);
  });
}

Deno.test("a file that is cut off anywhere is answered, and never with half of its text", () => {
  const whole = speech({ text: "Hi", speed: 4 });
  for (let length = 1; length < whole.length; length++) {
    const { text } = ask(whole.slice(0, length));
    assert(text === "Hi" ? length >= whole.length - 1 : text.includes("It received the file"), `${length}: ${text}`);
  }
});

Deno.test("a WAV file is read whatever its chunks say", () => {
  const header = "RIFF\xff\xff\xff\xffWAVE";
  const format = "fmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0";
  const samples = "\0".repeat(8_000);
  const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
  const duration = (text: string) => ask(bytes(text)).duration;
  assertEquals(duration(`${header}${format}data\x40\x1f\0\0${samples}`), 0.5);
  // A recorder that could not know the size.
  assertEquals(duration(`${header}${format}data\xff\xff\xff\xff${samples}`), 0.5);
  assertEquals(duration(`${header}junk\x03\0\0\0abc\0${format}data\x40\x1f\0\0${samples}`), 0.5);
  // No whole number of milliseconds, and no time after the end.
  const odd = ask(bytes(`${header}${format}data\x4a\x1f\0\0${samples}${"\0".repeat(10)}`));
  assertEquals([odd.duration, odd.segments?.at(-1)?.end], [0.500625, 0.500625]);
  for (
    const broken of [header, `${header}${format}`, `${header}data\x40\x1f\0\0${samples}`, `${header}fmt \x02\0\0\0ab`]
  ) {
    assertEquals(duration(broken), undefined);
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (rest) => {
      const { duration = 0 } = ask(Uint8Array.from([...bytes(header), ...rest]));
      assert(Number.isFinite(duration) && duration >= 0);
    }),
    { seed: 20261121, numRuns: 500 },
  );
});

Deno.test("another maker's notes are not taken for what is said", () => {
  const whole = speech({ text: "Hello" });
  const at = new TextDecoder("latin1").decode(whole).indexOf("Laneway sandbox");
  whole[at] = "l".charCodeAt(0);
  assertMatch(ask(whole).text, /It received the file/);
});

Deno.test("asked for English, the sandbox says that it does not translate and quotes the text", () => {
  const { text, segments } = ask(speech({ text: "Guten Tag" }), { translateTo: "en" });
  assertEquals(text, 'The Laneway sandbox does not translate. It was told: "Guten Tag"');
  assertEquals(segments?.length, 2);
  assertMatch(ask(Deno.readFileSync(new URL("tone.mp3", FILES)), { translateTo: "en" }).text, /runs no model/);
});

Deno.test("what the sandbox leaves aside is noted", () => {
  const extra = { wire: "audio", fields: { chunking_strategy: "auto" } };
  const { notes, language } = ask(speech({}), { language: "de", prompt: "Names", temperature: 0, extra });
  assertEquals(notes, ["dropped language", "dropped prompt", "dropped temperature", "dropped chunking_strategy"]);
  assertEquals(language, undefined);
});
