/** Conversations that are to be shortened: how clients of this wire ask for it, and what they get and give back. */
import type { CompactionRequest } from "../../src/canonical/compaction.ts";
import type { AppliedEdit } from "../../src/canonical/editing.ts";
import { type Extra, replaceField } from "../../src/canonical/extra.ts";
import type { OpaquePart } from "../../src/canonical/generate.ts";
import { asList, asObject, isJsonObject, isText, type JsonObject, present } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { isSealedText } from "../../src/transforms/sealing.ts";
import { WIRE } from "./wire.ts";

/** A conversation with more tokens than this is shortened, if the client does not set another number. */
const DEFAULT_TRIGGER = 150_000;
const EDIT = /^compact_\d+$/;

/** `extra`: what of the request rides through. */
export function parseCompaction(extra: Extra | undefined): CompactionRequest | undefined {
  if (!extra) return undefined;
  const { compaction, context_management: management } = extra.fields;
  const edits = asList(asObject(management).edits);
  const place = edits.findIndex((edit) => isJsonObject(edit) && typeof edit.type === "string" && EDIT.test(edit.type));
  if (isJsonObject(compaction) && compaction.type === "summarize") {
    if (place >= 0) refuse("Cannot be used together with context_management", "compaction");
    return {
      when: "now",
      covers: "all",
      unknown: unknownIn(compaction, "compaction", ["type", "instructions"]),
      ...present("instructions", textIn(compaction, "compaction")),
      ...present("extra", replaceField(extra, "compaction")),
    };
  }
  if (place < 0) return undefined;
  const path = `context_management.edits[${place}]`;
  const edit = edits[place] as JsonObject;
  const others = edits.filter((_, index) => index !== place);
  const left = { ...management as JsonObject, edits: others };
  return {
    when: { inputTokens: triggerIn(edit, path) },
    covers: "all",
    unknown: [
      ...unknownIn(edit, "context_management.edits", EDIT_KEYS),
      ...(isJsonObject(edit.trigger)
        ? unknownIn(edit.trigger, "context_management.edits.trigger", ["type", "value"])
        : []),
      ...(others.length === 0 ? unknownIn(management as JsonObject, "context_management", ["edits"]) : []),
    ],
    ...present("instructions", textIn(edit, path)),
    ...(edit.pause_after_compaction === true && { pauses: true }),
    ...present("extra", replaceField(extra, "context_management", others.length > 0 ? left : undefined)),
  };
}

const EDIT_KEYS = ["type", "trigger", "instructions", "pause_after_compaction"];

function unknownIn(object: JsonObject, path: string, known: readonly string[]): string[] {
  return Object.keys(object).filter((key) => !known.includes(key)).map((key) => `${path}.${key}`);
}

function triggerIn({ trigger }: JsonObject, path: string): number {
  if (trigger === undefined || trigger === null) return DEFAULT_TRIGGER;
  const { type, value } = asObject(trigger);
  if (type === "input_tokens" && typeof value === "number" && Number.isInteger(value) && value > 0) return value;
  return refuse('Expected {"type": "input_tokens", "value": <a number of tokens>}', `${path}.trigger`);
}

function textIn({ instructions }: JsonObject, path: string): string | undefined {
  if (instructions === undefined || instructions === null) return undefined;
  return isText(instructions) ? instructions : refuse("Expected a text", `${path}.instructions`);
}

function refuse(message: string, param: string): never {
  throw new GatewayError("invalid_request", message, { param });
}

const TYPE = "compaction";

/** The sealed text that a client gives back, if the gateway may have written it. */
export function sealedIn({ type, encrypted_content: data }: JsonObject): Pick<OpaquePart, "sealed"> {
  const isOurs = type === TYPE && typeof data === "string" && isSealedText(data);
  return isOurs ? { sealed: { data, covers: "all" } } : {};
}

export function serializeSummary({ text, data }: { text: string; data: string }): OpaquePart {
  const block = { type: TYPE, content: text, encrypted_content: data };
  return { type: "opaque", sealed: { data, covers: "all" }, extra: { wire: WIRE, fields: block } };
}

export function isSummary(block: JsonObject): boolean {
  return block.type === TYPE;
}

/** The field of an answer that reports which parts of the conversation were cleared. */
export function serializeEdits(applied: readonly AppliedEdit[]): JsonObject {
  const edits = applied.map(({ kind, type, count, inputTokens }) => ({
    type,
    [kind === "thinking" ? "cleared_thinking_turns" : "cleared_tool_uses"]: count,
    cleared_input_tokens: inputTokens,
  }));
  return { context_management: { applied_edits: edits } };
}

/** The count of the conversation before its edits, which an answer to a count reports too. */
export function serializeOriginal(inputTokens: number, applied: readonly AppliedEdit[]): JsonObject {
  const cleared = applied.reduce((sum, edit) => sum + edit.inputTokens, 0);
  return { context_management: { original_input_tokens: inputTokens + cleared } };
}
