/** What the upstreams of the benches in process answer: a whole answer, and streams of text or of a tool's input. */
import type { GenerateEvent, GenerateResponse } from "../../src/canonical/generate.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { WIRES as SPOKEN } from "../support/wires.ts";
import type { Wire } from "./bodies.ts";

export type Streamed = "text" | "input";

const MODEL = "org/model";
const WORDS = ["la", " li", " lu l", "e lo. "];
const USAGE = { inputTokens: 300, outputTokens: 240 };
const ANSWER: GenerateResponse = {
  model: MODEL,
  content: [{ type: "text", text: WORDS.join("").repeat(60) }],
  finish: { reason: "stop" },
  usage: USAGE,
};

/** An answer of about 1 kB, as a server of this wire writes it. */
export async function wholeAnswer(wire: Wire): Promise<string> {
  const { spoken, exchange } = exchangeOn(wire, false);
  return JSON.stringify(await spoken.serializeResponse(ANSWER, exchange));
}

/** A stream of so many chunks, with so many of them in one read. */
export function streamedAnswer(wire: Wire, what: Streamed, chunks: number, perRead: number): Uint8Array[] {
  const { spoken, exchange } = exchangeOn(wire, true);
  const frames = spoken.writeText(eventsOf(what, chunks), exchange).match(/[^]*?\n\n/g)!;
  const encoder = new TextEncoder();
  return Array.from(
    { length: Math.ceil(frames.length / perRead) },
    (_, at) => encoder.encode(frames.slice(at * perRead, (at + 1) * perRead).join("")),
  );
}

function exchangeOn(wire: Wire, stream: boolean) {
  const spoken = SPOKEN.find(({ name }) => name === wire)!;
  const turns = [{ role: "user", content: "Go" }];
  const asked = newWireRequest({
    model: MODEL,
    max_tokens: 9,
    stream,
    ...(wire === "responses" ? { input: turns } : { messages: turns }),
    ...(wire === "chat" && stream && { stream_options: { include_usage: true } }),
  });
  return { spoken, exchange: spoken.newExchange(spoken.parseRequest(asked, newContext(wire)), asked) };
}

function eventsOf(what: Streamed, chunks: number): GenerateEvent[] {
  const text = (at: number) => WORDS[at % WORDS.length]!;
  const input = (at: number) => at === 0 ? '{"path":"' : at === chunks - 1 ? '"}' : ` word${at % 100}`;
  return [
    { type: "start", model: MODEL, inputTokens: USAGE.inputTokens },
    {
      type: "part-start",
      index: 0,
      part: what === "text"
        ? { type: "text", text: "" }
        : { type: "tool-call", kind: "function", id: "call_1", name: "read", input: "" },
    },
    ...Array.from({ length: chunks }, (_, at): GenerateEvent => ({
      type: "part-delta",
      index: 0,
      delta: what === "text" ? { type: "text", text: text(at) } : { type: "tool-input", text: input(at) },
    })),
    { type: "part-end", index: 0 },
    { type: "finish", finish: { reason: what === "text" ? "stop" : "tool-calls" }, usage: USAGE },
  ];
}
