import type { Finish, FinishReason } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { reasonOf } from "../shared/finish_reasons.ts";
import type { WireEvent, WireResponse } from "./wire.ts";

interface Ending extends JsonObject {
  status: "completed" | "incomplete";
  incomplete_details: { reason: string } | null;
}

const COMPLETED: Ending = { status: "completed", incomplete_details: null };

/** How the wire tells each reason. A call of a tool is an answer like any other here. */
const ENDING_OF: Record<FinishReason, Ending> = {
  "stop": COMPLETED,
  "tool-calls": COMPLETED,
  "paused": { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
  "other": COMPLETED,
  "length": { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
  "content-filter": { status: "incomplete", incomplete_details: { reason: "content_filter" } },
};

/** The statuses of a response that is over, and of one that is not. */
const OVER: ReadonlySet<string> = new Set(["completed", "incomplete", "failed", "cancelled"]);
const RUNNING: ReadonlySet<string> = new Set(["created", "queued", "in_progress"]);

export function isRunning(status: string): boolean {
  return RUNNING.has(status);
}

/**
 * The status with which an event says that the response is over; nothing for an event that does not. What the response inside
 * says of itself counts more than the event's name: vLLM calls one completed that is incomplete.
 */
export function statusAtEnd({ type = "", response }: WireEvent): string | undefined {
  const word = /^response\.(\w+)$/.exec(type)?.[1];
  if (word === undefined || isRunning(word)) return undefined;
  const status = response?.status;
  if (status && !isRunning(status)) return status;
  return OVER.has(word) ? word : undefined;
}

/** Reasons that other wires have no word for, and clients of this one know. */
const OWN_REASONS: ReadonlySet<string> = new Set(["max_messages", "steered"]);

export function isOwnReason(word: string): boolean {
  return OWN_REASONS.has(word);
}

/** How an answer that did not fail ended. What is incomplete was cut by a limit, unless it says that it was filtered. */
export function parseFinish({ status, incomplete_details }: WireResponse): Finish {
  if (!status || status === "completed") return { reason: "stop" };
  if (status !== "incomplete") return { reason: reasonOf(status) ?? "other", raw: status };
  const word = incomplete_details?.reason ?? "";
  const reason = reasonOf(word);
  if (reason === "content-filter") return { reason };
  return { reason: "length", ...(word !== "" && reason !== "length" && { raw: word }) };
}

/** `own` is what an upstream of this wire said of an ending that no other wire has. */
export function serializeFinish({ reason }: Finish, own: JsonObject = {}): Ending {
  const { status, incomplete_details } = own;
  return status === "incomplete"
    ? { status, incomplete_details: incomplete_details as Ending["incomplete_details"] }
    : ENDING_OF[reason];
}
