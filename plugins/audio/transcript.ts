import type {
  Transcript,
  TranscriptFormat,
  TranscriptionRequest,
  TranscriptSegment,
  TranscriptWord,
} from "../../src/canonical/audio.ts";
import { extraField, extraOf, fieldsFor, inside, splitInside } from "../../src/canonical/extra.ts";
import { isJsonObject, type JsonObject, present, toJsonText } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Reply } from "../../src/contract/call.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import {
  SEGMENT_KEYS,
  TRANSCRIPT_KEYS,
  transcriptSchema,
  USAGE_KEYS,
  WIRE,
  type WireSegment,
  type WireUsage,
  type WireWord,
} from "./wire.ts";

/** Parses an upstream's whole answer: JSON of any format, or plain text although JSON was requested. */
export function parseTranscript({ headers, body }: Pick<Reply, "headers" | "body">): Transcript {
  if (isJsonObject(body)) return parseTranscriptBody(body);
  const type = headers.get("content-type") ?? "";
  if (/event-stream/i.test(type)) throw notATranscript();
  const isPlain = /^text\/plain/i.test(type);
  // A number is a text that looks like one.
  const text = typeof body === "string" || typeof body === "number" ? String(body) : undefined;
  if (text === undefined || (!isPlain && /^\s*([<{[]|$)/.test(text))) throw notATranscript();
  return { text: text.trim() };
}

export function parseTranscriptBody(body: JsonObject): Transcript {
  if (saysError(body)) throw upstreamStreamError(body);
  const read = accept(transcriptSchema, body);
  if (!read) throw notATranscript();
  const { text, language, duration, usage } = read;
  const segments = read.segments?.map(parseSegment);
  const words = parseWords(read.words ?? read.segments?.flatMap((segment) => segment.words ?? []));
  if (typeof text !== "string" && !segments) throw notATranscript();
  const fields = {
    ...extraOf(WIRE, read, TRANSCRIPT_KEYS)?.fields,
    ...inside("usage", extraOf(WIRE, usage ?? {}, USAGE_KEYS)),
  };
  return {
    text: text ?? segments?.map((segment) => segment.text).join("").trim() ?? "",
    ...present("language", language || undefined),
    ...present("duration", duration),
    ...present("segments", segments && inSeconds(segments)),
    ...present("words", words && inSeconds(words)),
    ...present("usage", usage && parseUsage(usage)),
    ...(Object.keys(fields).length > 0 && { extra: { wire: WIRE, fields } }),
  };
}

function notATranscript(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer is not a transcript");
}

export function parseSegment(segment: WireSegment): TranscriptSegment {
  const { start, end, text, speaker } = segment;
  return { start, end, text, ...present("speaker", speaker), ...extraField(WIRE, segment, SEGMENT_KEYS) };
}

function parseWords(words: readonly WireWord[] | undefined): TranscriptWord[] | undefined {
  if (!words || words.length === 0) return undefined;
  return words.map(({ word, text = "", start, end }) => ({ word: word ?? text, start, end }));
}

/** LocalAI counts in nanoseconds. No file is as long as a million seconds. */
function inSeconds<T extends { start: number; end: number }>(spans: readonly T[]): T[] {
  const unit = spans.some(({ end }) => end >= 1e6) ? 1e9 : 1;
  return spans.map((span) => ({ ...span, start: span.start / unit, end: span.end / unit }));
}

export function parseUsage(usage: WireUsage): Transcript["usage"] {
  const inputTokens = usage.input_tokens ?? usage.prompt_tokens;
  const outputTokens = usage.output_tokens ?? usage.completion_tokens;
  if (typeof inputTokens === "number" && typeof outputTokens === "number") return { inputTokens, outputTokens };
  return typeof usage.seconds === "number" ? { seconds: usage.seconds } : undefined;
}

/** Throws `invalid_request` if the format needs facts that the upstream did not give. */
export function serializeTranscript(transcript: Transcript, input: TranscriptionRequest, context: Context): Response {
  const output = asOneSegment(transcript, input, context);
  checkComplete(output, input, context);
  const { text, segments = [] } = output;
  switch (input.format) {
    case "json":
      return Response.json(withExtra({ text }, output));
    case "verbose_json":
      return Response.json(withExtra(verbose(output, input), output));
    case "diarized_json":
      return Response.json(withExtra(diarized(output), output));
    case "text":
      return plain(text, "text/plain");
    case "srt":
      return plain(serializeSrt(segments), "text/plain");
    case "vtt":
      return plain(serializeVtt(segments), "text/vtt");
    default:
      return input.format satisfies never;
  }
}

function plain(text: string, mediaType: string): Response {
  return new Response(text, { headers: { "content-type": `${mediaType}; charset=utf-8` } });
}

/** Without segments, subtitles become one segment that is as long as the recording, if that length is known. */
function asOneSegment(output: Transcript, { format }: TranscriptionRequest, context: Context): Transcript {
  const { text, segments = [], duration, usage } = output;
  const end = duration ?? (usage && "seconds" in usage ? usage.seconds : undefined);
  const isSubtitle = format === "srt" || format === "vtt";
  if (!isSubtitle || segments.length > 0 || text.trim() === "" || !end) return output;
  context.note("returned the whole recording as one segment");
  return { ...output, segments: [{ start: 0, end, text }] };
}

const TIMED: ReadonlySet<TranscriptFormat> = new Set(["srt", "vtt", "verbose_json", "diarized_json"]);

/** Checks that there are the times that the format needs. Silence needs none. */
function checkComplete(
  { text, segments = [], words = [] }: Transcript,
  { format, timestamps }: TranscriptionRequest,
  context: Context,
): void {
  if (!TIMED.has(format) || text.trim() === "") return;
  const cannot = (what: string, instead: string) =>
    new GatewayError(
      "invalid_request",
      `Cannot return response_format "${format}": the model does not report ${what}. Ask for ${instead}`,
      { param: "response_format" },
    );
  if (timestamps && !timestamps.includes("segment") && words.length > 0) return;
  if (segments.length === 0 && format === "verbose_json" && !timestamps) return context.note("dropped segments");
  if (segments.length === 0) throw cannot("when each piece was said", '"json" or "text"');
  if (format === "diarized_json" && !segments.some(({ speaker }) => speaker !== undefined)) {
    throw cannot("who speaks", '"verbose_json"');
  }
  if (timestamps?.includes("word") && words.length === 0) context.note("dropped timestamp_granularities word");
}

/** Only the upstream's own facts: a segment without more of them has only its id, times and text. */
function verbose({ text, language, duration, segments, words }: Transcript, input: TranscriptionRequest): JsonObject {
  return {
    task: input.translateTo ? "translate" : "transcribe",
    language: language ?? input.language,
    duration,
    text,
    // Silence is known to have no segments.
    segments: (segments ?? (text === "" ? [] : undefined))?.map(({ start, end, text, speaker, extra }, index) => ({
      id: index,
      ...fieldsFor(WIRE, extra),
      start,
      end,
      text,
      speaker,
    })),
    words: words?.map(({ word, start, end }) => ({ word, start, end })),
  };
}

function diarized({ text, duration, segments = [] }: Transcript): JsonObject {
  return { task: "transcribe", duration, text, segments: segments.map(serializeSegment) };
}

/** A segment in a list with speakers, and in a stream. */
export function serializeSegment({ start, end, text, speaker, extra }: TranscriptSegment, index: number): JsonObject {
  const { id = `seg_${index}` } = fieldsFor(WIRE, extra);
  return { type: "transcript.text.segment", id: toJsonText(id), start, end, text, speaker };
}

/** Adds the upstream's extra fields and its usage. */
export function withExtra(body: JsonObject, { usage, extra }: Transcript): JsonObject {
  const { inner, outer } = splitInside("usage", fieldsFor(WIRE, extra));
  return { ...body, ...outer, usage: usage && { ...serializeUsage(usage), ...inner } };
}

function serializeUsage(usage: NonNullable<Transcript["usage"]>): JsonObject {
  if ("seconds" in usage) return { type: "duration", seconds: usage.seconds };
  const { inputTokens, outputTokens } = usage;
  return {
    type: "tokens",
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}

/** SubRip: numbered cues. A player may take an arrow inside a text for a cue's times. */
export function serializeSrt(segments: readonly TranscriptSegment[]): string {
  return cuesOf(segments)
    .map(({ start, end, lines }, index) => {
      const text = lines.join("\n").replace(/(?<!-)-{2,}>/g, "->");
      return `${index + 1}\n${formatTime(start, ",")} --> ${formatTime(end, ",")}\n${text}\n`;
    })
    .join("\n");
}

/** WebVTT, in whose texts markup must be escaped. */
export function serializeVtt(segments: readonly TranscriptSegment[]): string {
  const cues = cuesOf(segments).map(({ start, end, lines }) => {
    const text = lines.join("\n").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("-->", "--&gt;");
    return `${formatTime(start, ".")} --> ${formatTime(end, ".")}\n${text}\n`;
  });
  return ["WEBVTT\n", ...cues].join("\n");
}

/** The lines of a subtitle and its times in whole milliseconds. The end is after the start. */
interface Cue {
  start: number;
  end: number;
  lines: string[];
}

/** The cues in the order of time. Blank lines are removed, because they would end a cue. A cue without text is left out. */
function cuesOf(segments: readonly TranscriptSegment[]): Cue[] {
  return segments
    .map(({ start, end, text }) => {
      const from = Math.max(0, Math.round(start * 1000));
      const lines = text.split(/[\r\n\u2028\u2029]+/).map((line) => line.trim()).filter((line) => line !== "");
      return { start: from, end: Math.max(from + 1, Math.round(end * 1000)), lines };
    })
    .filter(({ lines }) => lines.length > 0)
    .sort((one, other) => one.start - other.start);
}

/** Formats milliseconds as `01:02:03,004`, always with hours. */
function formatTime(ms: number, point: "," | "."): string {
  const pad = (value: number, width: number) => String(Math.floor(value)).padStart(width, "0");
  const clock = [ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60].map((value) => pad(value, 2)).join(":");
  return `${clock}${point}${pad(ms % 1000, 3)}`;
}
