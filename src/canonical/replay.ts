import type { Transcript, TranscriptEvent } from "./audio.ts";
import type { DrawEvent, DrawResponse } from "./draw.ts";
import type { CompleteEvent, CompleteResponse } from "./complete.ts";
import type { GenerateEvent, GenerateResponse, OutputPart, PartDelta } from "./generate.ts";
import type { OperationName, Output, StreamEvent } from "./operations.ts";

/** A whole answer as the events of a stream, with its text word by word, for upstreams that do not stream. */
export function replay(response: GenerateResponse): Generator<GenerateEvent> {
  return replayIn(response, words);
}

/** Like `replay`, with each text in one piece, for stages that a whole answer passes on its way. */
export function replayAtOnce(response: GenerateResponse): Generator<GenerateEvent> {
  return replayIn(response, inOnePiece);
}

function* replayIn(response: GenerateResponse, pieces: typeof words): Generator<GenerateEvent> {
  const { model, content, finish, usage, extra } = response;
  yield { type: "start", model, inputTokens: Math.max(1, usage.inputTokens) };
  for (const [index, part] of content.entries()) yield* replayPart(part, index, pieces);
  yield { type: "finish", finish, usage, ...(extra && { extra }) };
}

/** The events of one part. */
export function* replayPart(part: OutputPart, index: number, pieces = words): Generator<GenerateEvent> {
  yield { type: "part-start", index, part: emptied(part) };
  const { type, text } = deltaOf(part);
  for (const word of pieces(text)) yield { type: "part-delta", index, delta: { type, text: word } };
  const annotations = part.type === "text" ? part.annotations : undefined;
  const opaque = part.type === "reasoning" && part.text !== "" ? part.opaque : undefined;
  yield { type: "part-end", index, ...(annotations && { annotations }), ...(opaque && { opaque }) };
}

function* inOnePiece(text: string): Generator<string> {
  if (text !== "") yield text;
}

/** Text up to this many characters is emitted word by word. Longer text is emitted in pieces of about `PIECE` characters. */
const LONG = 100_000;
const PIECE = 4_096;
const WORD_END = /\S\s/g;

/** Each word with the space before it, and the last one also with the space after it. */
function* words(text: string): Generator<string> {
  const least = text.length > LONG ? PIECE : 1;
  const last = text.trimEnd().length;
  let start = 0;
  while (start < text.length) {
    WORD_END.lastIndex = start + least - 1;
    const found = WORD_END.exec(text);
    const end = found && found.index + 1 < last ? found.index + 1 : text.length;
    yield text.slice(start, end);
    start = end;
  }
}

function* replayTranscript(transcript: Transcript): Generator<TranscriptEvent> {
  for (const text of words(transcript.text)) yield { type: "delta", text };
  for (const segment of transcript.segments ?? []) yield { type: "segment", segment };
  yield { type: "finish", transcript };
}

/** All completions side by side, as servers send them. */
function* replayCompletions({ choices, usage, extra }: CompleteResponse): Generator<CompleteEvent> {
  for (const [index, { text, logprobs, extra, finish }] of choices.entries()) {
    // Probabilities stay with the text of their tokens.
    const pieces = logprobs ? [text] : words(text);
    for (const text of pieces) yield { type: "delta", index, text, ...(logprobs && { logprobs }) };
    yield { type: "choice-end", index, finish, ...(extra && { extra }) };
  }
  yield { type: "finish", usage, finish: choices[0]?.finish, ...(extra && { extra }) };
}

function* replayPictures({ pictures, ...rest }: DrawResponse): Generator<DrawEvent> {
  for (const picture of pictures) yield { type: "picture", picture };
  yield { type: "finish", ...rest };
}

function emptied(part: OutputPart): OutputPart {
  switch (part.type) {
    case "text": {
      const { annotations: _, ...rest } = part;
      return { ...rest, text: "" };
    }
    case "reasoning": {
      // Reasoning without text consists only of opaque data, which comes in one piece.
      if (part.text === "") return part;
      const { opaque: _, ...rest } = part;
      return { ...rest, text: "" };
    }
    case "refusal":
      return { ...part, text: "" };
    case "tool-call":
      return { ...part, input: "" };
    case "file":
    case "hosted":
    case "opaque":
      return part;
    default:
      return part satisfies never;
  }
}

function deltaOf(part: OutputPart): PartDelta {
  switch (part.type) {
    case "text":
    case "reasoning":
    case "refusal":
      return { type: part.type, text: part.text };
    case "tool-call":
      return { type: "tool-input", text: part.input };
    case "file":
    case "hosted":
    case "opaque":
      return { type: "text", text: "" };
    default:
      return part satisfies never;
  }
}

/** Turns an operation's whole answer into a stream, for operations that stream. */
export const REPLAY: { [K in OperationName]?: (output: Output<K>) => Iterable<StreamEvent<K>> } = {
  generate: replay,
  complete: replayCompletions,
  transcribe: replayTranscript,
  draw: replayPictures,
};
