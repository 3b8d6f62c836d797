/** What an upstream of the Responses API answers. It continues no turns. */
import type { GenerateEvent, OutputPart } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { formatFrame } from "../../src/http/framing.ts";
import type { Said } from "../support/continuing_engine.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { RESPONSES } from "../support/wires.ts";
import type { Fault } from "./schedule.ts";

export interface Stated {
  input: number;
  output: number;
}

const ASKED = newWireRequest({ model: "m", input: "a", stream: true });
/** Frames that come before there is anything to read. */
const BEGINNING = 2;

function partOf(said: Said, at: number): OutputPart {
  if ("text" in said) return { type: "text", text: said.text };
  if ("reasoning" in said) return { type: "reasoning", text: said.reasoning };
  return { type: "tool-call", kind: "function", id: `call_${at}`, name: said.call, input: said.input };
}

const textOf = (part: OutputPart) => "text" in part ? part.text : part.type === "tool-call" ? part.input : "";

function* piecesOf(text: string, lengths: readonly number[]): Generator<string> {
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const length = lengths[turn % lengths.length]!;
    yield text.slice(at, at + length);
    at += length;
  }
}

function* eventsOf(says: readonly Said[], lengths: readonly number[], stated: Stated): Generator<GenerateEvent> {
  yield { type: "start", model: "m", inputTokens: stated.input };
  for (const [index, said] of says.entries()) {
    const part = partOf(said, index);
    const empty = "text" in part ? { ...part, text: "" } : part.type === "tool-call" ? { ...part, input: "" } : part;
    yield { type: "part-start", index, part: empty };
    for (const piece of piecesOf(textOf(part), lengths)) {
      const type = part.type === "tool-call" ? "tool-input" : part.type as "text" | "reasoning";
      yield { type: "part-delta", index, delta: { type, text: piece } };
    }
    yield { type: "part-end", index };
  }
  yield { type: "finish", finish: finishOf(says), usage: usageOf(stated) };
}

const finishOf = (says: readonly Said[]) =>
  ({ reason: says.some((said) => "call" in said) ? "tool-calls" : "stop" }) as const;

const usageOf = ({ input, output }: Stated) => ({ inputTokens: input, outputTokens: output });

/** The tokens of the answer: one a piece. */
export function tokensOf(says: readonly Said[], lengths: readonly number[]): number {
  return says.reduce((sum, said, at) => sum + [...piecesOf(textOf(partOf(said, at)), lengths)].length, 0);
}

export function streamedBy(
  says: readonly Said[],
  lengths: readonly number[],
  stated: Stated,
  fault?: Fault,
): { frames: string[]; isCut: boolean } {
  const exchange = RESPONSES.newExchange(RESPONSES.parseRequest(ASKED, newContext("responses")), ASKED);
  const all = RESPONSES.writeFrames(eventsOf(says, lengths, stated), exchange).map(formatFrame);
  const end = fault ? fault.after + BEGINNING : Infinity;
  // The last two tell the end.
  if (!fault || end > all.length - 2) return { frames: all, isCut: false };
  const frames = all.slice(0, end);
  const failed = (code: string) => `event: error\ndata: ${JSON.stringify({ type: "error", code, message: code })}\n\n`;
  if (fault.kind === "garbage") frames.push('data: {"type":"response.output_text.delta","delta":"\n\n');
  if (fault.kind === "error") frames.push(failed("server_error"));
  if (fault.kind === "overload") frames.push(failed("server_is_overloaded"));
  return { frames, isCut: true };
}

export async function wholeBy(says: readonly Said[], stated: Stated): Promise<JsonObject> {
  const exchange = RESPONSES.newExchange(RESPONSES.parseRequest(ASKED, newContext("responses")), ASKED);
  const response = { model: "m", content: says.map(partOf), finish: finishOf(says), usage: usageOf(stated) };
  return await RESPONSES.serializeResponse(response, exchange) as JsonObject;
}
