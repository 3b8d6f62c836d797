import { mediaTypeOfSpeech } from "../../src/canonical/media.ts";
import type { Speech, SpeechRequest } from "../../src/canonical/audio.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { hashOf } from "./hash.ts";
import { SAMPLE_RATE, writeWav } from "./wav.ts";

/** Roughly the speed of human speech. */
const MS_PER_CHARACTER = 60;
/** A longer text is spoken faster, so that no request makes more than a few megabytes of audio. */
const MAX_MS = 30_000;

/** Makes a WAV file with a tone for each character and a rest for each space. `transcribe` can read it back. */
export function speak(request: SpeechRequest, _target: Target, context: Context): Speech {
  const { text, voice = "", speed = 1, format } = request;
  if (request.instructions !== undefined) context.note("dropped instructions");
  fieldsFor("sandbox", request.extra, context.note);
  const ms = Math.max(1, Math.round(Math.min(text.length * MS_PER_CHARACTER, MAX_MS) / speed));
  const samples = sing(text, ms, pitchOf(voice));
  if (format === "pcm") return { mediaType: "audio/pcm", audio: samples };
  const audio = writeWav(samples, text);
  return { mediaType: mediaTypeOfSpeech(audio, "audio/wav", format, context.note), audio };
}

/** The lowest tone of a voice in hertz, in the range of human voices. */
function pitchOf(voice: string): number {
  return 110 + hashOf(voice) % 150;
}

/** The tones as multiples of the voice's pitch. These intervals sound pleasant in any order. */
const SCALE = [0, 2, 4, 7, 9, 12, 14, 16].map((semitones) => 2 ** (semitones / 12));
const SILENT = new Set(Array.from(" \t\n\r", (character) => character.charCodeAt(0)));
const LOUDNESS = 0.3 * 0x7fff;

/** Each character sounds for the same time, and fades in and out so that there are no clicks. */
function sing(text: string, ms: number, pitch: number): Uint8Array<ArrayBuffer> {
  const count = ms * SAMPLE_RATE / 1000;
  const perCharacter = count / text.length;
  const samples = new DataView(new ArrayBuffer(count * 2));
  for (let index = 0; index < count; index++) {
    const position = index / perCharacter;
    const code = text.charCodeAt(position);
    if (SILENT.has(code)) continue;
    const hertz = pitch * SCALE[code % SCALE.length]!;
    const swell = Math.sin(Math.PI * (position % 1));
    const sample = LOUDNESS * swell * Math.sin(2 * Math.PI * hertz * index / SAMPLE_RATE);
    samples.setInt16(index * 2, Math.round(sample), true);
  }
  return new Uint8Array(samples.buffer);
}
