import type { Input } from "../../src/canonical/operations.ts";
import { estimateInputTokens } from "../../src/canonical/estimate.ts";
import type { AnswerContext, Exchange, WireRequest } from "../../src/contract/context.ts";

/** A context whose notes can be read. */
export function newContext(clientWire = "chat"): AnswerContext & { notes: string[] } {
  const notes: string[] = [];
  return { clientWire, inputTokens: 1, notes, note: (text) => void notes.push(text) };
}

/** A request with this body, as the core passes it to a protocol. */
export function newWireRequest(body: unknown, headers: HeadersInit = {}): WireRequest {
  return { body, headers: new Headers(headers), params: { lane: "oss" }, query: new URLSearchParams() };
}

export type TestExchange = Exchange<"generate"> & AnswerContext & { notes: string[] };

/** An exchange whose clock stands still. */
export function newExchange(
  clientWire: string,
  input: Input<"generate">,
  wire: WireRequest,
  idPrefix = "",
): TestExchange {
  return {
    ...newContext(clientWire),
    inputTokens: estimateInputTokens(input),
    id: `${idPrefix}1`,
    created: 1_800_000_000,
    input,
    wire,
    now: () => 1_800_000_000,
    elapsedMs: () => 0,
    stored: input.recall?.keep !== undefined,
    frames: { sent: 0 },
  };
}
