import { noteLost } from "../../src/transforms/turns.ts";
import { fieldsFor, splitInside } from "../../src/canonical/extra.ts";
import type { GenerateRequest, Message, OutputSchema } from "../../src/canonical/generate.ts";
import { copyRenamed, type JsonObject, setField } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { MESSAGES_SAMPLING } from "../shared/sampling.ts";
import { type ParsedPart, serializeBlocks, serializeContent } from "./serialize_content.ts";
import { isVendors } from "./families.ts";
import { BETA_HEADER, BILLING_HEADER } from "./parse_request.ts";
import { serializeTool, serializeToolChoice } from "./tools.ts";
import { VERSION_HEADER, WIRE } from "./wire.ts";

/** The wire requires a limit. This one is sent if the client set none and the model's own limit is not known. */
const DEFAULT_MAX_TOKENS = 32_000;

/** The body for a server that speaks this wire. The same request gives the same bytes. */
export function serializeRequest(input: GenerateRequest, target: Target, context: Context): JsonObject {
  const { inner: inThinking, outer } = splitInside("thinking", fieldsFor(WIRE, input.extra, context.note));
  const { inner: inConfig, outer: { [BETA_HEADER]: _, output_config: noConfig, ...unknown } } = splitInside(
    "output_config",
    outer,
  );
  const extra = isVendors(target.model) ? unknown : withoutPrivate(unknown, context);
  const { system, rest } = splitSystem(input.messages, target, context);
  // A server that a request names without a tool set has no place among the tools.
  const offered = input.tools ?? [];
  // A server of the client's own wire reads the definition where it stands.
  const listed = context.clientWire === WIRE ? offered.filter(({ inTurns }) => !inTurns) : offered;
  const tools = listed.map((tool) => serializeTool(tool, context)).filter((tool) => !isEmpty(tool));
  if (input.outputSchema && !input.outputSchema.schema) context.note("dropped response_format");
  const outputConfig = serializeOutputConfig(input, inConfig, context);
  const body: JsonObject = {
    model: target.model,
    max_tokens: input.maxOutputTokens ?? limitFor(target),
    ...(system.length > 0 && { system }),
    messages: joinTurns(rest, context),
    ...(tools.length > 0 && { tools }),
    ...((tools.length > 0 || listed.length < offered.length) &&
      { tool_choice: serializeToolChoice(input.toolChoice, input.parallelToolCalls) }),
    thinking: serializeThinking(input, inThinking),
    output_config: outputConfig ?? noConfig,
  };
  copyRenamed(input, MESSAGES_SAMPLING.serialized, body);
  body.stop_sequences = input.stopSequences;
  if (input.stream) body.stream = true;
  for (const name in extra) setField(body, name, extra[name]);
  return body;
}

/** The limit of an answer if the client set none. */
function limitFor({ defaultMaxTokens = Infinity, answerRoom = Infinity }: Target): number {
  const most = Math.min(defaultMaxTokens, answerRoom);
  return most === Infinity ? DEFAULT_MAX_TOKENS : most;
}

/**
 * Fields that tell of the person and their machine: paths and rules for a check of tool calls that the vendor alone makes, and ids
 * of the device and the session. Others have no use for them.
 */
const PRIVATE = ["safeguards", "metadata"];

function withoutPrivate(fields: JsonObject, context: Context): JsonObject {
  for (const field of PRIVATE) if (field in fields) context.note(`dropped ${field}`);
  return Object.fromEntries(Object.entries(fields).filter(([field]) => !PRIVATE.includes(field)));
}

/** The headers that go with the body. Betas are the client's affair, if it speaks this wire. */
export function serializeHeaders({ extra }: GenerateRequest): Record<string, string> {
  const beta = fieldsFor(WIRE, extra)[BETA_HEADER];
  return { [VERSION_HEADER]: "2023-06-01", ...(typeof beta === "string" && { [BETA_HEADER]: beta }) };
}

function serializeThinking({ thinking }: GenerateRequest, fields: JsonObject): JsonObject | undefined {
  if (!thinking) return undefined;
  const { enabled, effort, budgetTokens } = thinking;
  if (enabled === false || effort === "none") return { type: "disabled", ...fields };
  if (budgetTokens !== undefined) return { type: "enabled", budget_tokens: budgetTokens, ...fields };
  // An effort alone was all that the client said, on whichever wire: on this one it stands in `output_config`.
  return enabled ? { type: "adaptive", ...fields } : undefined;
}

function serializeOutputConfig(
  { thinking, outputSchema }: GenerateRequest,
  fields: JsonObject,
  context: Context,
): JsonObject | undefined {
  const minimal = thinking?.effort === "minimal";
  if (minimal) context.note("clamped effort minimal>low");
  const effort = minimal ? "low" : thinking?.effort === "none" ? undefined : thinking?.effort;
  const config: JsonObject = {
    ...(effort && { effort }),
    ...(outputSchema?.schema && { format: { type: "json_schema", schema: describedSchema(outputSchema) } }),
    ...fields,
  };
  return Object.keys(config).length > 0 ? config : undefined;
}

/**
 * This wire has no place beside the schema for what the answer is to be; inside it there is one. Its name is a label, and
 * `strict` says what always holds here.
 */
function describedSchema({ description, schema }: OutputSchema): JsonObject | undefined {
  return description === undefined || schema?.description !== undefined ? schema : { ...schema, description };
}

/** Instructions before the first turn are the request's own; later ones, and those with fields of their own, keep their place. */
function splitSystem(
  messages: readonly Message[],
  { model }: Target,
  context: Context,
): { system: JsonObject[]; rest: Message[] } {
  const system: JsonObject[] = [];
  for (const [position, message] of messages.entries()) {
    const { [BILLING_HEADER]: billing, ...own } = message.role === "system"
      ? fieldsFor(WIRE, message.extra, context.note)
      : {};
    if (message.role !== "system" || Object.keys(own).length > 0) {
      return { system, rest: messages.slice(position) };
    }
    const before = Array.isArray(billing) && isVendors(model) ? billing as JsonObject[] : [];
    for (const block of [...before, ...serializeBlocks(message.content, context)]) system.push(block);
  }
  return { system, rest: [] };
}

/**
 * Turns of one role in a row are one turn here; results of tools are the user's, and stand first in it. A turn in which
 * nothing is said that this wire can tell is left out, because servers refuse one without content.
 */
function joinTurns(messages: readonly Message[], context: Context): JsonObject[] {
  const turns: { role: string; parts: ParsedPart[]; extra: JsonObject }[] = [];
  for (const { role, content, extra } of messages) {
    const name = role === "tool" ? "user" : role;
    const last = turns.at(-1);
    if (content.length > 0 && content.every(isBlank)) {
      for (const part of [{ extra }, ...content]) noteLost(part.extra, context.note);
      continue;
    }
    const fields = fieldsFor(WIRE, extra, context.note);
    if (last?.role === name && name !== "system" && (!extra || Object.keys(fields).length === 0)) {
      for (const part of content) last.parts.push(part);
    } else turns.push({ role: name, parts: [...content], extra: fields });
  }
  return turns
    .map(({ role, parts, extra }) => ({ role, content: serializeContent(resultsFirst(parts), context), ...extra }))
    .filter(({ content }, at) => content.length > 0 || context.clientWire === WIRE && turns[at]!.parts.length === 0);
}

const isBlank = (part: ParsedPart) => part.type === "text" && !/\S/.test(part.text);

function resultsFirst(parts: readonly ParsedPart[]): readonly ParsedPart[] {
  const isResult = ({ type }: ParsedPart) => type === "tool-result";
  return parts.some(isResult) ? [...parts.filter(isResult), ...parts.filter((part) => !isResult(part))] : parts;
}

function isEmpty(fields: JsonObject): boolean {
  for (const _ in fields) return false;
  return true;
}
