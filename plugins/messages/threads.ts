/** Threads: the gateway keeps the conversation, and each request has only its new turn. */
import { z } from "zod";
import type { Message } from "../../src/canonical/generate.ts";
import { type ClosedPlaces, noteUnknown } from "../../src/canonical/extra.ts";
import { asObject, isJsonObject, type JsonObject, type JsonValue, present } from "../../src/canonical/json.ts";
import type { Context, WireRequest } from "../../src/contract/context.ts";
import type { ThreadRefusal, ThreadSpeech } from "../../src/contract/thread.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { CACHE_HINT, withoutCacheHints } from "../../src/transforms/cache_hints.ts";
import { asSent, hasSdkOptions } from "../shared/foreign.ts";
import { isPassing } from "./context_edits.ts";
import { BILLING, parseRequest, toolsOf } from "./parse_request.ts";
import { requestSchema } from "./wire.ts";

const threadSchema = z.looseObject({
  thread: z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("create") }),
    z.looseObject({ type: z.literal("continue"), previous_message_id: z.string().min(1) }),
  ]),
});

/** Stands for the turn of a request that adds none. */
const NO_TURN = [{ role: "user", content: "" }];

const THREAD_FIELDS: ClosedPlaces = { thread: ["type", "previous_message_id"] };

/** The fields that a thread keeps. */
const SETUP = ["system", "tools"] as const;

export const threads: ThreadSpeech = {
  previous(wire) {
    const { thread } = validate(threadSchema, bodyOf(wire));
    return thread.type === "continue" ? thread.previous_message_id : undefined;
  },

  isEmpty(wire) {
    const { messages } = bodyOf(wire);
    return Array.isArray(messages) && messages.length === 0;
  },

  isUnfinished: ({ finish: { reason, raw } }) => reason === "paused" || raw === "compaction",

  begin(given, context) {
    const { thread: _thread, ...body } = bodyOf(given, context.note);
    const input = parseRequest({ ...given, body }, context);
    const setup: JsonObject = { ...present("system", body.system), ...present("tools", body.tools) };
    return { input: { ...input, recall: { at: instructionsIn(body), keep: {} } }, setup };
  },

  goOn(given, context, { setup, messages }) {
    const { thread: _thread, ...own } = bodyOf(given, context.note);
    checkSetup(own, setup);
    const body = { ...own, ...setup };
    const turn = threads.isEmpty(given) ? { ...body, messages: NO_TURN } : body;
    const input = parseRequest({ ...given, body: turn }, context);
    const at = instructionsIn(body);
    const before = [...input.messages.slice(0, at), ...unhinted(messages)];
    const all = turn === body ? [...before, ...input.messages.slice(at)] : before;
    const tools = toolsOf(validate(requestSchema, turn), all);
    return {
      input: {
        ...input,
        messages: all,
        ...(tools.length > 0 && { tools }),
        ...(all.some(isPassing) && { editing: true as const }),
        recall: { at: before.length, keep: {} },
      },
      wire: { ...given, body },
    };
  },

  isKept: ({ finish: { reason }, extra }) => reason !== "content-filter" && !isFallback(extra?.hints?.usage),

  refusal(why, previous) {
    const { code, reason, message } = REFUSALS[why];
    return new GatewayError(code, message(previous), { param: "thread", ...(reason && { reason }) });
  },
};

/** The request's body. Parts of SDK's options that stand for it are in their places. */
function bodyOf(wire: WireRequest, note: Context["note"] = () => {}): JsonObject {
  const sent = wire.body as JsonObject;
  const body = hasSdkOptions(sent) ? asSent(wire, note).body as JsonObject : sent;
  noteUnknown({ thread: body.thread }, THREAD_FIELDS, note);
  return body;
}

/** How many messages come before all turns. */
function instructionsIn({ system }: JsonObject): number {
  return system ? 1 : 0;
}

/** Clients mark what they send. Marks of all turns together are more than a request may have. */
function unhinted(messages: readonly Message[]): Message[] {
  const { messages: plain } = withoutCacheHints({ model: "", messages: [...messages], stream: false }, () => {});
  return plain.map((message) => withoutMarks(message) as Message);
}

/** Without the marks inside of blocks that only this wire knows. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isJsonObject(value)) return value;
  const { [CACHE_HINT]: _, ...plain } = value;
  for (const key of HOLDERS) if (plain[key] !== undefined) plain[key] = withoutMarks(plain[key]) as JsonValue;
  return plain;
}

/** The fields that lead to blocks. */
const HOLDERS = ["content", "extra", "fields", "source", "tool", "definition", "tool_references", "tool_changes"];

/** The thread keeps its own. A client may repeat them, but not change them. */
function checkSetup(body: JsonObject, setup: JsonObject): void {
  const differing = SETUP.filter((name) => isSet(body[name]) && printOf(body[name]) !== printOf(setup[name]));
  if (differing.length === 0) return;
  const message = `The request does not fit its thread, differing field(s): ${differing.join(", ")}. Leave them out, ` +
    'or send the whole conversation with "thread": {"type": "create"}';
  throw new GatewayError("invalid_request", message, { param: "thread", reason: "thread_fingerprint_mismatch" });
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Fields in any order, and without those that change from turn to turn. */
function printOf(value: unknown): string {
  const blocks = typeof value === "string" ? [{ type: "text", text: value }] : value ?? [];
  return JSON.stringify(blocks, (key, inner) => {
    if (key === CACHE_HINT) return undefined;
    if (key === "text" && typeof inner === "string") return inner.replace(BILLING, "");
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).toSorted(([one], [other]) => one < other ? -1 : 1));
  });
}

/** Whether another model of the vendor wrote the answer. Clients then begin a new thread. */
function isFallback(usage: unknown): boolean {
  const { iterations } = asObject(usage);
  return Array.isArray(iterations) && iterations.some((one) => asObject(one).type === "fallback_message");
}

interface Refusal {
  code: "not_found" | "invalid_request";
  /** The code by which clients decide how to go on. */
  reason?: string;
  message(previous: string): string;
}

const REFUSALS: Record<ThreadRefusal, Refusal> = {
  "not found": {
    code: "not_found",
    reason: "thread_not_found",
    message: (id) => `Cannot find the message '${id}' of a thread: it was not kept, or not for this key, or it expired`,
  },
  "continued": {
    code: "invalid_request",
    reason: "thread_already_continued",
    message: (id) => `The message '${id}' has already been continued: go on from the last message of its thread`,
  },
  "in flight": {
    code: "invalid_request",
    reason: "thread_continue_in_flight",
    message: (id) => `Another request is continuing the message '${id}'`,
  },
  "nothing to add": {
    code: "invalid_request",
    message: (id) => `Invalid value at "messages": must have at least 1 item, because the message '${id}' is finished`,
  },
};
