import type { Transcript, TranscriptionRequest } from "../../src/canonical/audio.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { readWav } from "./wav.ts";
import { count, cut, enumerate } from "./words.ts";

/**
 * The text of a WAV file that `speak` made. For other audio it describes the file, because the sandbox does not recognize speech.
 * It does not translate either: if English is requested, it says so in English and quotes the text.
 */
export function transcribe(request: TranscriptionRequest, _target: Target, context: Context): Transcript {
  for (const field of ["language", "prompt", "temperature"] as const) {
    if (request[field] !== undefined) context.note(`dropped ${field}`);
  }
  fieldsFor("sandbox", request.extra, context.note);
  const { file, translateTo, timestamps } = request;
  const { said, duration } = file.mediaType === "audio/wav" ? readWav(file.bytes) : {};
  const text = said === undefined
    ? describe(request, duration)
    : translateTo
    ? `The Laneway sandbox does not translate. It was told: "${said}"`
    : said;
  if (duration === undefined) return { text };
  const { segments, words } = text.length <= LONGEST_TIMED ? timesOf(text, duration) : {};
  return {
    text,
    duration,
    segments,
    ...(timestamps?.includes("word") && { words }),
    usage: { seconds: duration },
  };
}

/** The longest text whose words get times, in characters. A file can hold many megabytes of text. */
const LONGEST_TIMED = 100_000;

function describe({ file }: TranscriptionRequest, duration: number | undefined): string {
  const items = [file.mediaType, count(file.bytes.length, "byte")];
  if (duration !== undefined) items.push(count(Math.round(duration * 1000) / 1000, "second"));
  return "This is the Laneway sandbox, which runs no model: it writes down only the WAV files that it spoke itself. " +
    `It received the file "${cut(file.name, 100)}" (${enumerate(items)}). ` +
    "Configure an upstream in gateway.json to write down what is said in it.";
}

/** Sentences and words with their times. Each character of the text takes the same time. */
function timesOf(text: string, duration: number): Pick<Transcript, "segments" | "words"> {
  const timed = (start: number, piece: string) => ({
    start: timeAt(start / text.length),
    end: timeAt((start + piece.length) / text.length),
  });
  const timeAt = (share: number) => Math.min(Math.round(share * duration * 1000) / 1000, duration);
  const segments = piecesOf(text, "sentence").flatMap(({ segment, index }) => {
    const trimmed = segment.trim();
    if (trimmed === "") return [];
    return { ...timed(index + segment.indexOf(trimmed), trimmed), text: trimmed };
  });
  const words = piecesOf(text, "word").filter(({ isWordLike }) => isWordLike)
    .map(({ segment, index }) => ({ word: segment, ...timed(index, segment) }));
  return { segments, words };
}

function piecesOf(text: string, granularity: "sentence" | "word"): Intl.SegmentData[] {
  return [...new Intl.Segmenter("en", { granularity }).segment(text)];
}
