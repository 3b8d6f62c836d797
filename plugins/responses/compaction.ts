/** Conversations that are to be shortened: how clients of this wire ask for it, and what they get and give back. */
import type { CompactionRequest } from "../../src/canonical/compaction.ts";
import { type Extra, replaceField } from "../../src/canonical/extra.ts";
import type { OpaquePart } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { Exchange } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { isSealedText } from "../../src/transforms/sealing.ts";
import { type Item, type ResponsesRequest, WIRE } from "./wire.ts";

/** The item with which a client asks for a summary in place of an answer. */
export const TRIGGER = "compaction_trigger";

/** `extra`: what of the request rides through. */
export function parseCompaction(body: ResponsesRequest, extra: Extra | undefined): CompactionRequest | undefined {
  const items = Array.isArray(body.input) ? body.input : [];
  const at = items.findIndex(isTrigger);
  if (at >= 0 && at < items.length - 1) refuse(`Item "${TRIGGER}" must be the last one of the input`, `input[${at}]`);
  if (at === 0 && !body.previous_response_id) refuse("Nothing to compact: the input has no other item", "input");
  const asked = Array.isArray(body.context_management) ? body.context_management as unknown[] : [];
  const place = asked.findIndex((one) => isJsonObject(one) && one.type === "compaction");
  if (at < 0 && place < 0) return undefined;
  const entry = asked[place] as JsonObject;
  const rest = place < 0 ? extra : extra && withEntries(extra, asked.filter((_, index) => index !== place));
  return {
    when: at >= 0 ? "now" : { inputTokens: thresholdIn(entry, place) },
    covers: "answers",
    unknown: place < 0 ? [] : unknownIn(entry, "context_management", ["type", "compact_threshold"]),
    ...(rest && { extra: rest }),
  };
}

function unknownIn(object: JsonObject, path: string, known: readonly string[]): string[] {
  return Object.keys(object).filter((key) => !known.includes(key)).map((key) => `${path}.${key}`);
}

export function isTrigger({ type }: Item): boolean {
  return type === TRIGGER;
}

function thresholdIn({ compact_threshold: threshold }: JsonObject, place: number): number | undefined {
  if (threshold === undefined || threshold === null) return undefined;
  if (typeof threshold === "number" && Number.isInteger(threshold) && threshold > 0) return threshold;
  return refuse("Expected a positive number of tokens", `context_management[${place}].compact_threshold`);
}

function refuse(message: string, param: string): never {
  throw new GatewayError("invalid_request", message, { param });
}

function withEntries(extra: Extra, entries: readonly unknown[]): Extra | undefined {
  return replaceField(extra, "context_management", entries.length > 0 ? entries as JsonValue[] : undefined);
}

/** The sealed text that a client gives back, if the gateway may have written it. */
export function sealedIn(item: JsonObject): Pick<OpaquePart, "sealed"> {
  const { type, encrypted_content: data } = item;
  const isOurs = type === "compaction" && typeof data === "string" && isSealedText(data);
  return isOurs ? { sealed: { data, covers: "answers" } } : {};
}

export function serializeSummary({ data }: { data: string }, { id }: Exchange<"generate">): OpaquePart {
  const item = { id: `cmp_${id.replace(/^resp_/, "")}`, type: "compaction", encrypted_content: data };
  return { type: "opaque", sealed: { data, covers: "answers" }, extra: { wire: WIRE, fields: item } };
}
