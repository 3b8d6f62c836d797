/** What a client gets of one streamed answer, as the vendor's own SDK reads it. */
import Anthropic from "anthropic-sdk";
import OpenAI from "openai";
import type { Endpoint } from "../gateways.ts";

export const OUTCOMES = ["exact", "error", "truncated", "garbled", "hang"] as const;
export type Outcome = typeof OUTCOMES[number];
export type AskedWire = "chat" | "messages";

/** A client gives up after that. */
const PATIENCE_MS = 30_000;

interface Received {
  text: string;
  /** Why the model stopped, as the answer's end says. Absent where it has no proper end. */
  stopped?: string | null;
}

/** `truth`: all that the model says. */
export async function outcomeOf(
  wire: AskedWire,
  origin: string,
  endpoint: Endpoint,
  prompt: string,
  truth: string,
): Promise<Outcome> {
  const received: Received = { text: "" };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  let failed = false;
  try {
    await READ[wire](origin, endpoint, prompt, signal, received);
  } catch {
    failed = true;
  }
  if (signal.aborted) return "hang";
  const isComplete = !failed && (received.stopped === "stop" || received.stopped === "end_turn");
  if (isComplete && received.text === truth) return "exact";
  if (!truth.startsWith(received.text)) return "garbled";
  return isComplete ? "truncated" : "error";
}

function optionsFor(baseURL: string, headers: Endpoint["headers"] = {}) {
  // A gateway may read the key in the place of the other wire, too.
  const apiKey = headers["x-api-key"] ?? headers.authorization?.replace("Bearer ", "") ?? "none";
  return { baseURL, apiKey, maxRetries: 0, logLevel: "off", defaultHeaders: headers } as const;
}

type Read = (
  origin: string,
  endpoint: Endpoint,
  prompt: string,
  signal: AbortSignal,
  into: Received,
) => Promise<void>;

const READ: Record<AskedWire, Read> = {
  async chat(origin, { path, model, headers }, content, signal, into) {
    const client = new OpenAI(optionsFor(origin + path.replace("/chat/completions", ""), headers));
    const stream = await client.chat.completions.create({
      model,
      messages: [{ role: "user", content }],
      stream: true,
    }, { signal });
    for await (const { choices: [choice] } of stream) {
      into.text += choice?.delta?.content ?? "";
      into.stopped = choice?.finish_reason ?? into.stopped;
    }
  },
  async messages(origin, { path, model, headers }, content, signal, into) {
    const client = new Anthropic(optionsFor(origin + path.replace("/v1/messages", ""), headers));
    const stream = await client.messages.create({
      model,
      max_tokens: 4_096,
      messages: [{ role: "user", content }],
      stream: true,
    }, { signal });
    let stopped: string | null = null;
    for await (const event of stream) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") into.text += event.delta.text;
      if (event.type === "message_delta") stopped = event.delta.stop_reason;
      if (event.type === "message_stop") into.stopped = stopped;
    }
  },
};
