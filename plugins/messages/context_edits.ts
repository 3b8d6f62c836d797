/** How clients of this wire have parts of their conversation cleared (`context_management.edits`, `clear_at`). */
import type { ClearThinking, ClearToolUses, Edit } from "../../src/canonical/editing.ts";
import { type Extra, replaceField } from "../../src/canonical/extra.ts";
import type { InputPart, Message } from "../../src/canonical/generate.ts";
import { asList, asObject, isJsonObject, isText, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { EditingSpeech } from "../../src/contract/editing.ts";
import { GatewayError } from "../../src/errors.ts";
import { WIRE } from "./wire.ts";

const FIELD = "context_management";
const TOOL_USES = /^clear_tool_uses_\d+$/;
const THINKING = /^clear_thinking_\d+$/;
/** The vendor's, if a client does not say otherwise. */
const DEFAULT_TRIGGER = { inputTokens: 100_000 };
const KEPT_TOOL_USES = 3;
const KEPT_TURNS = 1;

type Note = (text: string) => void;

export const edits: EditingSpeech = {
  read({ extra }, note) {
    const management = asObject(extra?.fields[FIELD]);
    if (management.edits !== undefined && !Array.isArray(management.edits)) {
      refuse(`${FIELD}.edits`, "expected an array");
    }
    const given = asList(management.edits);
    const read = given.flatMap((edit, index) => isOwn(edit) ? [readEdit(edit, index, note)] : []);
    const late = given.findIndex((edit, index) => index > 0 && typeIn(edit, THINKING));
    if (late >= 0) refuse(`${FIELD}.edits.${late}.${typeIn(given[late], THINKING)}`, "must be the first of the edits");
    return { edits: read, extraOf: (one, isLeft) => withoutEdits(one, isLeft) };
  },
  withoutObsolete,
};

function isOwn(edit: unknown): edit is JsonObject {
  return typeIn(edit, TOOL_USES) !== undefined || typeIn(edit, THINKING) !== undefined;
}

function typeIn(edit: unknown, of: RegExp): string | undefined {
  return isJsonObject(edit) && typeof edit.type === "string" && of.test(edit.type) ? edit.type : undefined;
}

function readEdit(edit: JsonObject, index: number, note: Note): Edit {
  const type = edit.type as string;
  const path = `${FIELD}.edits.${index}.${type}`;
  const thinking = THINKING.test(type);
  const known = thinking ? ["type", "keep"] : TOOL_USES_KEYS;
  noteOthers(edit, known, "", note);
  for (const key of AMOUNTS) if (isJsonObject(edit[key])) noteOthers(edit[key], ["type", "value"], `${key}.`, note);
  return thinking ? readThinking(type, edit, path) : readToolUses(type, edit, path);
}

const AMOUNTS = ["trigger", "keep", "clear_at_least"];

function noteOthers(given: JsonObject, known: readonly string[], path: string, note: Note): void {
  for (const key of Object.keys(given)) if (!known.includes(key)) note(`dropped ${FIELD}.edits.${path}${key}`);
}

const TOOL_USES_KEYS = ["type", "trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"];

function readThinking(type: string, { keep }: JsonObject, path: string): ClearThinking {
  if (isAbsent(keep)) return { kind: "thinking", type, keep: KEPT_TURNS };
  if (keep === "all" || isJsonObject(keep) && keep.type === "all") return { kind: "thinking", type, keep: "all" };
  return { kind: "thinking", type, keep: amountIn(keep, ["thinking_turns"], 1, `${path}.keep`).value };
}

function readToolUses(type: string, edit: JsonObject, path: string): ClearToolUses {
  const { trigger, keep, clear_at_least, exclude_tools, clear_tool_inputs } = edit;
  const due = isAbsent(trigger) ? undefined : amountIn(trigger, ["input_tokens", "tool_uses"], 1, `${path}.trigger`);
  const least = isAbsent(clear_at_least)
    ? undefined
    : amountIn(clear_at_least, ["input_tokens"], 0, `${path}.clear_at_least`).value;
  return {
    kind: "tool uses",
    type,
    trigger: !due ? DEFAULT_TRIGGER : due.type === "tool_uses" ? { toolUses: due.value } : { inputTokens: due.value },
    keep: isAbsent(keep) ? KEPT_TOOL_USES : amountIn(keep, ["tool_uses"], 0, `${path}.keep`).value,
    ...(least !== undefined && { clearAtLeast: least }),
    exclude: isAbsent(exclude_tools) ? [] : namesIn(exclude_tools, `${path}.exclude_tools`),
    inputs: isAbsent(clear_tool_inputs)
      ? false
      : typeof clear_tool_inputs === "boolean"
      ? clear_tool_inputs
      : namesIn(clear_tool_inputs, `${path}.clear_tool_inputs`),
  };
}

function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

function amountIn(given: unknown, types: readonly string[], least: number, path: string) {
  if (!isJsonObject(given)) return refuse(path, "expected an object");
  const { type, value } = given;
  if (typeof type !== "string" || !types.includes(type)) {
    return refuse(`${path}.type`, `expected ${types.map((one) => `"${one}"`).join(" or ")}`);
  }
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < least) {
    return refuse(`${path}.value`, `expected an integer of at least ${least}`);
  }
  return { type, value };
}

function namesIn(given: unknown, path: string): string[] {
  if (!Array.isArray(given)) return refuse(path, "expected an array of names");
  const wrong = given.findIndex((name) => !isText(name));
  return wrong < 0 ? given : refuse(`${path}.${wrong}`, "expected a name");
}

function refuse(path: string, reason: string): never {
  throw new GatewayError("invalid_request", `${path}: ${reason}`, { param: path });
}

/** Edits that are not known here stay, so that they are noted as dropped where nobody knows them. */
function withoutEdits(extra: Extra | undefined, isLeft: boolean): Extra | undefined {
  if (!extra || !isJsonObject(extra.fields[FIELD])) return extra;
  const management = extra.fields[FIELD];
  const { edits: given, ...others } = management;
  const unknown = asList(given).filter((edit) => !isOwn(edit)) as JsonValue[];
  const isKnown = unknown.length === 0 && Object.keys(others).length === 0;
  if (!isLeft) return replaceField(extra, FIELD, isKnown ? undefined : { ...others, edits: unknown });
  if (!isKnown) return extra;
  const { [FIELD]: _, ...fields } = extra.fields;
  return { ...extra, fields, hints: { ...extra.hints, [FIELD]: management } };
}

const CLEAR_AT = "clear_at";
export const NEXT_USER_MESSAGE = "next_user_message";

/** Results of tools are no message of the user: the model is then still at work on the one before. */
function withoutObsolete(messages: Message[], isLeft: boolean): Message[] {
  if (!messages.some(isPassing)) return messages;
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.flatMap((message, index): Message[] => {
    if (message.role !== "system" || !isPassing(message)) return [message];
    const { extra, ...rest } = message;
    const { [CLEAR_AT]: clearAt, ...fields } = extra!.fields;
    const left = isLeft ? { [CLEAR_AT]: clearAt! } : undefined;
    const hints = { ...extra!.hints, ...left };
    const content = index < last ? rest.content.filter(({ type }: InputPart) => type !== "text") : rest.content;
    if (content.length === 0 && index < last) return [];
    const has = Object.keys(fields).length + Object.keys(hints).length > 0;
    return [{ ...rest, content, ...(has && { extra: { wire: WIRE, fields, hints } }) }];
  });
}

/** Whether the message's text is obsolete once the user has written again. */
export function isPassing({ role, extra }: Message): boolean {
  return role === "system" && extra?.wire === WIRE && extra.fields[CLEAR_AT] === NEXT_USER_MESSAGE;
}
