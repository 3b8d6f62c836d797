import type { Finish, FinishReason } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { WireResponse } from "./wire.ts";

interface Ending extends JsonObject {
  status: "completed" | "incomplete";
  incomplete_details: { reason: string } | null;
}

const COMPLETED: Ending = { status: "completed", incomplete_details: null };

/** How the wire tells each reason. A call of a tool is an answer like any other here. */
const ENDING_OF: Record<FinishReason, Ending> = {
  "stop": COMPLETED,
  "tool-calls": COMPLETED,
  "other": COMPLETED,
  "length": { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
  "content-filter": { status: "incomplete", incomplete_details: { reason: "content_filter" } },
};

const REASON_OF: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: "length",
  max_tokens: "length",
  length: "length",
  content_filter: "content-filter",
};

/** How an answer that did not fail ended. */
export function parseFinish({ status, incomplete_details }: WireResponse): Finish {
  if (status !== "incomplete") return { reason: "stop" };
  const word = incomplete_details?.reason ?? "";
  // Without a reason it is the limit, which ends most of them.
  if (word === "") return { reason: "length" };
  return Object.hasOwn(REASON_OF, word) ? { reason: REASON_OF[word]! } : { reason: "other", raw: word };
}

/** `own` is what an upstream of this wire said of an ending that no other wire has. */
export function serializeFinish({ reason }: Finish, own: JsonObject = {}): Ending {
  const { status, incomplete_details } = own;
  return reason === "other" && status === "incomplete"
    ? { status, incomplete_details: incomplete_details as Ending["incomplete_details"] }
    : ENDING_OF[reason];
}
