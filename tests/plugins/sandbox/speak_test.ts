import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { SPEECH_FORMATS, type SpeechRequest } from "../../../src/canonical/audio.ts";
import { sniffMedia } from "../../../src/canonical/media.ts";
import { newContext } from "../../support/context.ts";
import { speech, TARGET } from "./support.ts";
import { speak } from "../../../plugins/sandbox/speak.ts";

const RATE = 24_000;

/** The header of a plain WAV file, read as the simplest player does, and the samples after it. */
function play(bytes: Uint8Array<ArrayBuffer>) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = (at: number) => new TextDecoder().decode(bytes.subarray(at, at + 4));
  assertEquals([text(0), text(8), text(12), text(36)], ["RIFF", "WAVE", "fmt ", "data"]);
  assertEquals(view.getUint32(4, true), bytes.length - 8);
  assertEquals(view.getUint32(16, true), 16);
  assertEquals([view.getUint16(20, true), view.getUint16(22, true)], [1, 1]);
  assertEquals([view.getUint32(24, true), view.getUint32(28, true)], [RATE, RATE * 2]);
  assertEquals([view.getUint16(32, true), view.getUint16(34, true)], [2, 16]);
  const samples = bytes.slice(44, 44 + view.getUint32(40, true));
  return { samples: new Int16Array(samples.buffer), rest: bytes.subarray(44 + samples.length) };
}

function secondsOf(request: Partial<SpeechRequest>): number {
  return play(speech(request)).samples.length / RATE;
}

/** How loud the samples are, from 0 to 1. */
function loudness(samples: Int16Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample ** 2, 0) / samples.length) / 0x7fff;
}

Deno.test("the simplest player finds the samples, and the rest of the file is one whole chunk", () => {
  for (const text of ["Hello world.", "odd", "even", "Grüße 👋"]) {
    const { samples, rest } = play(speech({ text }));
    assertEquals(samples.length, text.length * 0.06 * RATE);
    assertEquals(new TextDecoder().decode(rest.subarray(0, 4)), "LIST");
    assertEquals(new DataView(rest.buffer, rest.byteOffset).getUint32(4, true), rest.length - 8);
    assertEquals(rest.length % 2, 0);
  }
});

Deno.test("characters are heard and spaces are not", () => {
  const { samples } = play(speech({ text: "ab cd" }));
  const each = samples.length / 5;
  const loud = [0, 1, 2, 3, 4].map((index) => loudness(samples.subarray(index * each, (index + 1) * each)) > 0.1);
  assertEquals(loud, [true, true, false, true, true]);
  assert(samples.every((sample) => Math.abs(sample) < 0x7fff / 2), "The sound is too loud");
});

Deno.test("no character begins or ends with a click", () => {
  const { samples } = play(speech({ text: "clicks" }));
  for (let at = 0; at < samples.length; at += samples.length / 6) {
    assert(Math.abs(samples[at]!) < 10 && Math.abs(samples[at + samples.length / 6 - 1]!) < 100);
  }
});

Deno.test("other texts and voices sound otherwise, and the same request sounds the same", () => {
  assertEquals(speech({ voice: "alloy" }), speech({ voice: "alloy" }));
  const sounds = [{}, { voice: "alloy" }, { voice: "nova" }, { voice: "af_heart" }, { text: "hallo" }].map((request) =>
    play(speech(request)).samples.join()
  );
  assertEquals(new Set(sounds).size, sounds.length);
});

Deno.test("the speed changes how long it takes", () => {
  const text = "x".repeat(100);
  assertEquals([0.25, 0.5, 1, 2, 4].map((speed) => secondsOf({ text, speed })), [24, 12, 6, 3, 1.5]);
});

Deno.test("a long text is said faster rather than longer", () => {
  for (const length of [500, 4_096, 1_000_000]) assertEquals(secondsOf({ text: "x ".repeat(length / 2) }), 30);
  assertEquals(secondsOf({ text: "x".repeat(10_000), speed: 0.25 }), 120);
  assert(loudness(play(speech({ text: "x ".repeat(2_048) })).samples) > 0.05);
});

Deno.test("every format is delivered as WAV or as bare samples, with a note where that was not wanted", () => {
  for (const format of SPEECH_FORMATS) {
    const context = newContext("audio");
    const { mediaType } = speak({ model: "demo", text: "Hello", format, stream: false }, TARGET, context);
    const isMade = format === "wav" || format === "pcm";
    assertEquals(mediaType, format === "pcm" ? "audio/pcm" : "audio/wav");
    assertEquals(sniffMedia(speech({ format })), format === "pcm" ? undefined : "audio/wav");
    assertEquals(context.notes, isMade ? [] : [`delivered audio/wav in place of ${format}`]);
  }
});

Deno.test("bare samples are those of the WAV file, at the rate that clients expect", () => {
  const bare = speech({ format: "pcm" });
  assertEquals(new Int16Array(bare.buffer), play(speech({})).samples);
  assertAlmostEquals(bare.length / 2 / 24_000, "Hello".length * 0.06);
});

Deno.test("what the sandbox leaves aside is noted", () => {
  const context = newContext("audio");
  const extra = { wire: "audio", fields: { sample_rate: 16_000 } };
  const request = { model: "demo", text: "Hello", format: "wav" as const, stream: false };
  speak({ ...request, instructions: "Whisper", extra }, TARGET, context);
  assertEquals(context.notes, ["dropped instructions", "dropped sample_rate"]);
});
