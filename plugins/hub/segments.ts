/** Transcripts as the models behind the hub answer them: Whisper's chunks and segments, under names that vary. */
import type { Transcript, TranscriptionRequest, TranscriptSegment, TranscriptWord } from "../../src/canonical/audio.ts";
import { asText, isJsonObject, type JsonObject, present } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { refuseFailure } from "./failure.ts";

/** What has a time, as models give it: of words or of longer pieces, not of both. */
export function wantedTimes({ format, timestamps }: TranscriptionRequest): "word" | "segment" | undefined {
  if (timestamps?.includes("word")) return "word";
  return format === "json" || format === "text" ? undefined : "segment";
}

/** The refusal of a model that cannot tell voices apart; `where` is what a reader knows its service as. */
export function refuseSpeakers({ format }: TranscriptionRequest, where: string): void {
  if (format !== "diarized_json") return;
  throw new GatewayError("unsupported", `${where} does not identify the speakers: use "verbose_json"`);
}

/**
 * A transcript in any of the shapes: a text, texts to be joined, or an object with a text, the pieces of it, or both. Throws
 * where the upstream tells of a failure, where there is none, or where it is in the spoken language and English was asked for.
 */
export function parseTranscript(output: unknown, input: TranscriptionRequest): Transcript {
  if (Array.isArray(output)) {
    const isText = output.length > 0 && output.every((one) => typeof one === "string");
    return parseTranscript(isText ? output.join("") : output[0], input);
  }
  // A number is a text that happens to be one; a page is none.
  if (typeof output === "number" || (typeof output === "string" && !output.trimStart().startsWith("<"))) {
    return { text: String(output).trim() };
  }
  if (!isJsonObject(output)) throw noTranscript();
  refuseFailure(output);
  const translation = input.translateTo && readTranslation(output, input.translateTo);
  if (translation) return translation;
  const pieces = readPieces(output);
  const text = [output.transcription, output.text, output.output].find((value) => typeof value === "string") ??
    pieces?.map((piece) => piece.text).join("");
  if (text === undefined) throw noTranscript();
  return {
    text: text.trim(),
    ...present("language", input.translateTo ?? readLanguage(output)),
    ...readTimes(text, pieces ?? [], input),
  };
}

/** Of a model that translates beside its transcript, the pieces are the transcript's. */
function readTranslation({ translation, transcription }: JsonObject, language: string): Transcript | undefined {
  if (typeof translation === "string") return { text: translation.trim(), language };
  if (typeof transcription !== "string") return undefined;
  throw new GatewayError("upstream_error", "The model transcribed and did not translate");
}

function noTranscript(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer is not a transcript");
}

function readLanguage({ language, detected_language, inferred_languages, languages }: JsonObject): string | undefined {
  return [language, detected_language, inferred_languages, languages].flat().find((value) => typeof value === "string");
}

interface Piece {
  text: string;
  start: number;
  end: number;
  speaker?: string;
  words: TranscriptWord[];
}

/** Pieces with their times; nothing where the model tells of none. */
function readPieces({ chunks, segments }: JsonObject): Piece[] | undefined {
  const list = [chunks, segments].find((value) => Array.isArray(value) && value.length > 0);
  return Array.isArray(list) ? closed(list.filter(isJsonObject).map(readSpan)) : undefined;
}

interface Span {
  entry: JsonObject;
  text: string;
  start?: number;
  end?: number;
}

/** `timestamp: [start, end]` is what chunks have; segments and words have `start` and `end`. */
function readSpan(entry: JsonObject): Span {
  const { text = entry.word, timestamp } = entry;
  const [start, end] = Array.isArray(timestamp) ? timestamp : [entry.start, entry.end];
  const time = (value: unknown) => typeof value === "number" && Number.isFinite(value) ? value : undefined;
  return { entry, text: asText(text), start: time(start), end: time(end) };
}

/**
 * A time that is missing is the nearest that is: the end of the file's last piece, mostly, which the model did not detect, and
 * that of words without letters.
 */
function closed(spans: readonly Span[]): Piece[] {
  const pieces: Piece[] = [];
  // The next start that is known, for each.
  const next = new Array<number | undefined>(spans.length);
  for (let index = spans.length - 2; index >= 0; index--) next[index] = spans[index + 1]!.start ?? next[index + 1];
  for (const [index, { entry, text, start = pieces.at(-1)?.end ?? 0, end }] of spans.entries()) {
    const until = end ?? next[index] ?? start;
    pieces.push({
      text,
      start,
      end: Math.max(start, until),
      ...(typeof entry.speaker === "string" && { speaker: entry.speaker }),
      words: Array.isArray(entry.words) ? closed(entry.words.filter(isJsonObject).map(readSpan)).map(toWord) : [],
    });
  }
  return pieces;
}

function toWord({ text, start, end }: Piece): TranscriptWord {
  return { word: text.trim(), start, end };
}

function toSegment({ text, start, end, speaker }: Piece): TranscriptSegment {
  return { start, end, text: text.trim(), ...present("speaker", speaker) };
}

/** Pieces are words where words were asked for and no piece holds two. */
function readTimes(
  whole: string,
  pieces: readonly Piece[],
  input: TranscriptionRequest,
): Pick<Transcript, "segments" | "words"> {
  if (pieces.length === 0) return {};
  const wantsWords = wantedTimes(input) === "word";
  if (wantsWords && !pieces.some(({ text }) => /\S\s+\S/.test(text))) {
    const segments = input.timestamps?.includes("segment") ? sentences(whole, pieces).map(toSegment) : undefined;
    return { ...present("segments", segments), words: pieces.map(toWord) };
  }
  const words = wantsWords ? pieces.flatMap((piece) => piece.words) : [];
  return { segments: pieces.map(toSegment), ...(words.length > 0 && { words }) };
}

/** Of a word, what may end a sentence. */
const LONGEST_END = 16;

/** Words up to the end of each sentence. Most models write the space between two words into one of them. */
function sentences(whole: string, words: readonly Piece[]): Piece[] {
  const found: Piece[] = [];
  const between = /\s/.test(whole.trim()) && !words.some(({ text }) => /\s/.test(text)) ? " " : "";
  let isOver = true;
  for (const word of words) {
    const last = found.at(-1);
    if (last && !isOver) found.splice(-1, 1, { ...last, text: last.text + between + word.text, end: word.end });
    else found.push(word);
    isOver = /[.?!…。？！]["”’)]*\s*$/.test(word.text.slice(-LONGEST_END));
  }
  return found;
}
