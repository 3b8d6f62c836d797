/** A server whose answers break off, and that continues the last turn of the assistant in its own way. */
import { bodyOf } from "./chunks.ts";
import type { Asked } from "./fake_upstream.ts";

/** A part of what the model says. */
export type Said = { reasoning: string } | { text: string } | { call: string; input: string };

/** How a stream ends before it is complete. */
export const BREAKS = ["closed", "reset", "garbage", "error", "overload"] as const;
export type Break = typeof BREAKS[number];

/** How the server is asked to continue a turn. */
export const PREFILLS = ["turn", "continue-final-message", "prefix", "repeated-prefix", "partial"] as const;
export type PrefillWay = typeof PREFILLS[number];

export interface Engine {
  says: readonly Said[];
  /** In how many pieces each text comes: the lengths of pieces, used in turn. */
  pieces: readonly number[];
  /** For each call: after how many pieces it breaks, and how. Calls beyond the list are complete. */
  breaks: readonly { after: number; how: Break }[];
  wire: "chat" | "messages";
  /** Absent for a server that begins a new turn. */
  prefill?: PrefillWay;
}

/** One piece of an answer: text of one of the parts. */
interface Piece {
  part: number;
  text: string;
}

/** A request to it, as far as it reads that. */
export interface Body {
  messages: { role: string; content: string | { text?: string }[] | null; [field: string]: unknown }[];
  [field: string]: unknown;
}

/** The answers to all calls, as a function to be used as an upstream. Throws where it is asked in a way that it does not know. */
export function continuingEngine(engine: Engine): (asked: Asked) => Response {
  let call = 0;
  return ({ body }) => {
    const { after, how } = engine.breaks[call++] ?? { after: Infinity, how: "closed" };
    const { frames, isCut } = answerTo(JSON.parse(body), engine, { after, how });
    const failure = isCut && how === "reset" ? new TypeError("connection reset") : undefined;
    return new Response(bodyOf(frames.map((one) => new TextEncoder().encode(one)), failure), {
      headers: { "content-type": "text/event-stream" },
    });
  };
}

/** The frames of one answer, up to where it breaks, if it is that long. */
export function answerTo(
  body: Body,
  engine: Omit<Engine, "breaks">,
  { after, how }: Engine["breaks"][number],
): { frames: string[]; isCut: boolean; rest: Said[]; tokens: number } {
  const rest = restOf(engine, begunIn(body, engine));
  const pieces = piecesOf(rest, engine.pieces);
  const isCut = after < pieces.length;
  const frames = FRAMES[engine.wire](isCut ? pieces.slice(0, after) : pieces, engine.says, isCut ? how : undefined);
  return { frames, isCut, rest, tokens: pieces.length };
}

/** The text of the turn that the server is to continue. */
function begunIn({ messages, ...body }: Body, { prefill, wire }: Omit<Engine, "breaks">): string | undefined {
  const last = messages.at(-1)!;
  if (last.role !== "assistant") return undefined;
  if (messages.at(-2)?.role === "assistant") throw new Error("Cannot have 2 assistant messages at the end");
  if (prefill === undefined) throw new Error("The server would begin a new turn");
  const { continue_final_message: isFinal, add_generation_prompt: prompts } = body;
  const marks = { prefix: last.prefix === true, partial: last.partial === true, isFinal: isFinal === true };
  const wanted = {
    prefix: prefill === "prefix" || prefill === "repeated-prefix",
    partial: prefill === "partial",
    isFinal: prefill === "continue-final-message",
  };
  if (JSON.stringify(marks) !== JSON.stringify(wanted)) throw new Error(`Asked by ${JSON.stringify(marks)}`);
  if (wanted.isFinal && prompts !== false) throw new Error("Cannot both continue and begin");
  const text = typeof last.content === "string"
    ? last.content
    : (last.content ?? []).map(({ text = "" }) => text).join("");
  if (text !== text.trimEnd()) throw new Error("The turn ends in blank space");
  if (wire === "chat" && typeof last.content !== "string") throw new Error("The turn has to be one text");
  return text;
}

/** The parts that are left to say after that text, with the text itself where the server repeats it. */
function restOf({ says, prefill }: Omit<Engine, "breaks">, begun: string | undefined): Said[] {
  if (begun === undefined) return [...says];
  let left = begun;
  const rest: Said[] = [];
  for (const said of says) {
    if (!("text" in said)) {
      if (left === "" && !("reasoning" in said)) rest.push(said);
      continue;
    }
    const known = said.text.slice(0, left.length);
    if (!left.startsWith(known)) throw new Error(`The turn is not the model's: ${JSON.stringify(begun)}`);
    left = left.slice(known.length);
    rest.push({ text: said.text.slice(known.length) });
  }
  if (left !== "") throw new Error(`The turn is not the model's: ${JSON.stringify(begun)}`);
  const repeated = prefill === "repeated-prefix" ? [{ text: begun }] : [];
  return [...repeated, ...rest].filter((said) => !("text" in said) || said.text !== "");
}

function* cut(text: string, lengths: readonly number[]): Generator<string> {
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const length = lengths[turn % lengths.length]!;
    yield text.slice(at, at + length);
    at += length;
  }
}

function piecesOf(says: readonly Said[], lengths: readonly number[]): (Piece & { said: Said })[] {
  return says.flatMap((said, part) => {
    const text = "call" in said ? said.input : "text" in said ? said.text : said.reasoning;
    const begins = "call" in said ? [{ part, text: "", said }] : [];
    return [...begins, ...Array.from(cut(text, lengths), (piece) => ({ part, text: piece, said }))];
  });
}

type Frames = (pieces: readonly (Piece & { said: Said })[], says: readonly Said[], how?: Break) => string[];

const GARBAGE = 'data: {"choices":[{"index":0,"delta":{"content":"\n\n';

const inChat: Frames = (pieces, says, how) => {
  const frame = (choice: object) =>
    `data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, ...choice }] })}\n\n`;
  let calls = -1;
  const frames = pieces.map(({ text, said }) => {
    if ("reasoning" in said) return frame({ delta: { reasoning_content: text } });
    if ("text" in said) return frame({ delta: { content: text } });
    if (text === "") {
      calls++;
      const call = {
        index: calls,
        id: `call_${calls}`,
        type: "function",
        function: { name: said.call, arguments: "" },
      };
      return frame({ delta: { tool_calls: [call] } });
    }
    return frame({ delta: { tool_calls: [{ index: calls, function: { arguments: text } }] } });
  });
  const failed = (code: number, type: string) =>
    `data: ${JSON.stringify({ error: { message: type, type, code } })}\n\n`;
  const usage = { prompt_tokens: 10, completion_tokens: pieces.length, total_tokens: 10 + pieces.length };
  const reason = says.some((said) => "call" in said) ? "tool_calls" : "stop";
  switch (how) {
    case undefined:
      return [
        ...frames,
        frame({ delta: {}, finish_reason: reason }),
        `data: ${JSON.stringify({ choices: [], usage })}\n\n`,
        "data: [DONE]\n\n",
      ];
    case "garbage":
      return [...frames, GARBAGE];
    case "error":
      return [...frames, failed(500, "server_error")];
    case "overload":
      return [...frames, failed(503, "overloaded_error")];
    default:
      return frames;
  }
};

const inMessages: Frames = (pieces, says, how) => {
  const frames: string[] = [];
  const send = (type: string, more: object) =>
    frames.push(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
  const message = { id: "m", type: "message", role: "assistant", content: [], model: "m", stop_reason: null };
  send("message_start", { message: { ...message, usage: { input_tokens: 10, output_tokens: 1 } } });
  let index = -1;
  let part = -1;
  for (const piece of pieces) {
    const { said, text } = piece;
    if (piece.part !== part) {
      if (index >= 0) send("content_block_stop", { index });
      part = piece.part;
      const block = "text" in said
        ? { type: "text", text: "" }
        : "reasoning" in said
        ? { type: "thinking", thinking: "", signature: "" }
        : { type: "tool_use", id: `toolu_${index + 1}`, name: said.call, input: {} };
      send("content_block_start", { index: ++index, content_block: block });
    }
    const delta = "text" in said
      ? { type: "text_delta", text }
      : "reasoning" in said
      ? { type: "thinking_delta", thinking: text }
      : { type: "input_json_delta", partial_json: text };
    if (text !== "") send("content_block_delta", { index, delta });
  }
  if (how === "garbage") return [...frames, GARBAGE];
  if (how === "error") send("error", { error: { type: "api_error", message: "failed" } });
  if (how === "overload") send("error", { error: { type: "overloaded_error", message: "overloaded" } });
  if (how) return frames;
  if (index >= 0) send("content_block_stop", { index });
  const reason = says.some((said) => "call" in said) ? "tool_use" : "end_turn";
  send("message_delta", { delta: { stop_reason: reason }, usage: { output_tokens: pieces.length } });
  send("message_stop", {});
  return frames;
};

const FRAMES: Record<Engine["wire"], Frames> = { chat: inChat, messages: inMessages };
