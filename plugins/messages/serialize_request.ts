import { fieldsFor } from "../../src/canonical/extra.ts";
import type { GenerateRequest, Message, SystemMessage } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { type ParsedPart, serializeBlock, serializeParts } from "./content.ts";
import { serializeTool, serializeToolChoice } from "./tools.ts";
import { WIRE } from "./wire.ts";

/** The wire requires a limit; this one is sent where the client set none. */
const DEFAULT_MAX_TOKENS = 32_000;

/** The body for a server that speaks this wire. The same request gives the same bytes. */
export function serializeRequest(input: GenerateRequest, target: Target, context: Context): JsonObject {
  const { thinking: inThinking, output_config: inConfig, ...extra } = fieldsFor(WIRE, input.extra);
  const { system, rest } = splitSystem(input.messages);
  const tools = (input.tools ?? []).map((tool) => serializeTool(tool, context)).filter((tool) => tool !== undefined);
  const allowed = input.toolChoice?.type === "allowed" ? input.toolChoice.names : undefined;
  const offered = allowed ? tools.filter(({ name }) => allowed.includes(String(name))) : tools;
  noteUnspeakable(input, context);
  const outputConfig = serializeOutputConfig(input, inConfig);
  return {
    model: target.model,
    max_tokens: input.maxOutputTokens ?? DEFAULT_MAX_TOKENS,
    ...(system.length > 0 && { system }),
    messages: joinTurns(rest),
    ...(offered.length > 0 && { tools: offered }),
    ...(offered.length > 0 && { tool_choice: serializeToolChoice(input.toolChoice, input.parallelToolCalls) }),
    thinking: serializeThinking(input, inThinking),
    ...(outputConfig && { output_config: outputConfig }),
    temperature: input.temperature,
    top_p: input.topP,
    top_k: input.topK,
    stop_sequences: input.stopSequences,
    metadata: input.metadata,
    ...(input.stream && { stream: true }),
    ...extra,
  };
}

/** Knobs that this wire does not have. */
function noteUnspeakable({ seed, verbosity, cacheKey, outputSchema }: GenerateRequest, context: Context): void {
  if (seed !== undefined) context.note("dropped seed");
  if (verbosity !== undefined) context.note("dropped verbosity");
  if (cacheKey !== undefined) context.note("dropped cache key");
  if (outputSchema && !outputSchema.schema) context.note("dropped output format json_object");
}

function serializeThinking({ thinking }: GenerateRequest, extra: unknown): JsonObject | undefined {
  if (!thinking) return undefined;
  const { enabled, effort, budgetTokens } = thinking;
  const fields = isJsonObject(extra) ? extra : {};
  if (enabled === false || effort === "none") return { type: "disabled", ...fields };
  if (budgetTokens !== undefined) return { type: "enabled", budget_tokens: budgetTokens, ...fields };
  // An effort alone was all that the client said, on whichever wire: on this one it stands in `output_config`.
  return enabled ? { type: "adaptive", ...fields } : undefined;
}

function serializeOutputConfig({ thinking, outputSchema }: GenerateRequest, extra: unknown): JsonObject | undefined {
  const effort = thinking?.effort === "minimal" ? "low" : thinking?.effort === "none" ? undefined : thinking?.effort;
  const config: JsonObject = {
    ...(effort && { effort }),
    ...(outputSchema?.schema && { format: { type: "json_schema", schema: outputSchema.schema } }),
    ...(isJsonObject(extra) ? extra : {}),
  };
  return Object.keys(config).length > 0 ? config : undefined;
}

/** Instructions before the first turn are the request's own; later ones keep their place. */
function splitSystem(messages: readonly Message[]): { system: JsonObject[]; rest: Message[] } {
  const first = messages.findIndex(({ role }) => role !== "system");
  const leading = messages.slice(0, first === -1 ? messages.length : first) as SystemMessage[];
  const system = leading.flatMap((message) => {
    const { billing } = fieldsFor(WIRE, message.extra);
    const before = Array.isArray(billing) ? billing as JsonObject[] : [];
    return [...before, ...message.content.map(serializeBlock)];
  });
  return { system, rest: messages.slice(leading.length) };
}

/** Turns of one role in a row are one turn here; results of tools are the user's, and stand first in it. */
function joinTurns(messages: readonly Message[]): JsonObject[] {
  const turns: { role: string; parts: ParsedPart[]; extra: JsonObject }[] = [];
  for (const { role, content, extra } of messages) {
    const name = role === "tool" ? "user" : role;
    const last = turns.at(-1);
    const fields = fieldsFor(WIRE, extra);
    if (last?.role === name && name !== "system" && Object.keys(fields).length === 0) last.parts.push(...content);
    else turns.push({ role: name, parts: [...content], extra: fields });
  }
  return turns.map(({ role, parts, extra }) => ({ role, content: serializeParts(parts), ...extra }));
}
