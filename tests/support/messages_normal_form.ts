import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";

/**
 * The normal form of the messages wire: two bodies mean the same where their normal forms are equal. Each rule is one of the
 * wire's own documentation, or of its published types; what no rule names must be equal as it is.
 */

/** The types say `| null` for every optional field, and mean absent by it. */
function withoutNulls(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null && field !== undefined));
}

function objects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? withoutNulls(value) : {};
}

/** Nothing where there is nothing in it. */
function some<T extends object>(value: T): T | undefined {
  return Object.keys(value).length > 0 ? value : undefined;
}

/** A string is its one-block form; no block, a blank text and null are all no content. */
function content(value: JsonValue | undefined): JsonObject[] {
  const blocks = typeof value === "string" ? [{ type: "text", text: value }] : objects(value).map(block);
  return blocks.filter((one) => one.type !== "text" || Object.keys(one).length > 2 || String(one.text).trim() !== "");
}

function block(value: JsonObject): JsonObject {
  const { type, ...rest } = withoutNulls(value);
  switch (type) {
    case "thinking":
      return { signature: "", ...rest, type };
    case "tool_result": {
      const { content: said, is_error, ...others } = rest;
      return { ...others, type, content: some(content(said)), is_error: is_error === true || undefined };
    }
    default:
      return { ...rest, type };
  }
}

// Requests

/** A request as an upstream is to get it. `max_tokens` is required; a request to count tokens has none. */
export function normalRequest(body: JsonObject): JsonObject {
  const {
    system,
    messages,
    tools,
    tool_choice,
    max_tokens = 32_000,
    stream,
    thinking,
    output_config,
    output_format,
    stop_sequences,
    ...rest
  } = withoutNulls(body);
  const turns = normalMessages(objects(messages));
  const first = turns.findIndex(({ role, content: _, ...own }) => role !== "system" || some(own));
  const leading = turns.slice(0, first === -1 ? turns.length : first);
  const offered = objects(tools).map(tool);
  return {
    ...rest,
    max_tokens,
    // Instructions before the first turn are the system prompt.
    system: some([...normalSystem(system), ...leading.flatMap((turn) => objects(turn.content))]),
    messages: turns.slice(leading.length),
    ...(offered.length > 0 && { tools: offered, tool_choice: some(toolChoice(object(tool_choice))) }),
    stream: stream === true || undefined,
    stop_sequences: Array.isArray(stop_sequences) ? some(stop_sequences) : undefined,
    thinking: some(object(thinking)),
    // The older name of the format.
    output_config: some(withoutNulls({ format: output_format, ...object(output_config) })),
  };
}

/** The line for billing is a block of its own, before the instructions. */
function normalSystem(system: JsonValue | undefined): JsonObject[] {
  const lines: JsonObject[] = [];
  const others: JsonObject[] = [];
  for (const one of content(system)) {
    const text = String(one.text);
    const end = text.indexOf("\n") + 1 || text.length;
    if (!text.startsWith("x-anthropic-billing-header:")) others.push(one);
    else if (end === text.length) lines.push(one);
    else {
      lines.push({ type: "text", text: text.slice(0, end) });
      others.push({ ...one, text: text.slice(end) });
    }
  }
  return [...lines, ...others];
}

/** Turns of one role in a row are one turn; results of tools stand first in theirs. */
function normalMessages(messages: JsonObject[]): JsonObject[] {
  const turns: { role: JsonValue | undefined; blocks: JsonObject[]; own: JsonObject }[] = [];
  for (const message of messages) {
    const { role, content: said, ...own } = withoutNulls(message);
    const isSaid = Array.isArray(said) ? said.length > 0 : Boolean(said);
    if (isSaid && content(said).length === 0) continue; // servers refuse a turn of blank texts
    const last = turns.at(-1);
    if (last?.role === role && role !== "system" && !some(own)) last!.blocks.push(...content(said));
    else turns.push({ role, blocks: content(said), own });
  }
  return turns.map(({ role, blocks, own }) => ({
    role,
    content: [
      ...blocks.filter(({ type }) => role === "user" && type === "tool_result"),
      ...blocks.filter(({ type }) => role !== "user" || type !== "tool_result"),
    ],
    ...own,
  }));
}

/** `custom` is the default type. */
function tool(value: JsonObject): JsonObject {
  const { type, defer_loading, ...rest } = withoutNulls(value);
  return { ...rest, type: type === "custom" ? undefined : type, defer_loading: defer_loading === true || undefined };
}

function toolChoice({ disable_parallel_tool_use, ...rest }: JsonObject): JsonObject {
  return { ...rest, ...(disable_parallel_tool_use === true && { disable_parallel_tool_use }) };
}

// Answers

/** An answer as a client is to get it; the id and the model's name are the gateway's. An empty one has an empty text. */
export function normalAnswer(body: JsonObject): JsonObject {
  const { id: _id, model: _model, content: said, stop_reason, stop_sequence, usage, ...rest } = withoutNulls(body);
  const blocks = content(said);
  const called = blocks.some(({ type }) => type === "tool_use");
  // A stop after calls means that the agent goes on, and calls as the reason without a call mean a stop.
  const stop = called && (stop_reason === "end_turn" || stop_reason === "stop_sequence")
    ? { stop_reason: "tool_use" }
    : !called && stop_reason === "tool_use"
    ? { stop_reason: "end_turn" }
    : { stop_reason, stop_sequence };
  return {
    ...rest,
    content: blocks.length > 0 ? blocks : [{ type: "text", text: "" }],
    ...stop,
    usage: normalUsage(object(usage)),
  };
}

function normalUsage({ output_tokens_details: details, ...usage }: JsonObject): JsonObject {
  return {
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    ...usage,
    output_tokens_details: some(object(details)),
  };
}
