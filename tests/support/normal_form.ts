import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";

/**
 * The normal form of the chat completions wire: two bodies mean the same where their normal forms are equal. Each rule is
 * one of the wire's own documentation, or of its published types; what no rule names must be equal as it is.
 */

/** The types say `| null` for every optional field, and mean absent by it. */
function withoutNulls(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null && field !== undefined));
}

function objects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** A string is its one-part form; no part, an empty string and null are all no content. */
function content(value: JsonValue | undefined): JsonObject[] {
  const parts = typeof value === "string" ? [{ type: "text", text: value }] : objects(value).map(part);
  return parts.length === 1 && parts[0]!.text === "" && Object.keys(parts[0]!).length === 2 ? [] : parts;
}

function part(value: JsonObject): JsonObject {
  const { type } = value;
  const inner = value[type as string];
  return withoutNulls({ ...value, ...(isJsonObject(inner) && { [type as string]: withoutNulls(inner) }) });
}

// Requests

/** A request as an upstream is to get it. */
export function normalRequest(body: JsonObject): JsonObject {
  const {
    messages,
    tools = [],
    functions = [],
    tool_choice,
    function_call,
    parallel_tool_calls,
    max_tokens,
    max_completion_tokens,
    stop,
    response_format,
    stream,
    stream_options,
    n: _n,
    logprobs: _logprobs,
    modalities: _modalities,
    ...rest
  } = withoutNulls(body);
  const offered = [...objects(tools), ...objects(functions).map((one) => ({ type: "function", function: one }))].map(
    tool,
  );
  const choice = toolChoice(tool_choice ?? function_call);
  const allowed = choice.allowed ? offered.filter((one) => choice.allowed!.includes(nameOf(one))) : offered;
  return {
    ...rest,
    messages: normalMessages(objects(messages)),
    // A choice among no tools, and how many of none may be called, say nothing.
    ...(allowed.length > 0 && { tools: allowed, tool_choice: choice.choice, parallel_tool_calls }),
    // The older name of the same limit.
    max_completion_tokens: max_completion_tokens ?? max_tokens,
    // One string is a list of one.
    stop: typeof stop === "string" ? [stop] : stop,
    response_format: isJsonObject(response_format) ? responseFormat(response_format) : undefined,
    // Options of a stream say nothing of an answer that is not streamed. An upstream is always asked for the usage.
    ...(stream === true && { stream, stream_options: { ...object(stream_options), include_usage: true } }),
  };
}

/** `text` is the default. */
function responseFormat(format: JsonObject): JsonObject | undefined {
  if (format.type === "text" && Object.keys(format).length === 1) return undefined;
  const { json_schema } = format;
  return { ...format, ...(isJsonObject(json_schema) && { json_schema: withoutNulls(json_schema) }) };
}

/** The form before tools has no ids: a `function` message answers the `function_call` before it. */
function normalMessages(messages: JsonObject[]): JsonObject[] {
  let legacy = 0;
  return messages.map((message) => {
    const { role, content: value, function_call, tool_calls, refusal, reasoning, reasoning_content, name, ...rest } =
      withoutNulls(message);
    if (isJsonObject(function_call)) legacy++;
    if (role === "function") return { role: "tool", tool_call_id: `call_${legacy}`, content: content(value) };
    const calls = [
      ...objects(tool_calls),
      ...(isJsonObject(function_call) ? [{ id: `call_${legacy}`, function: function_call }] : []),
    ];
    return {
      ...rest,
      // The newer name of the same role.
      role: role === "developer" ? "system" : role,
      name,
      content: [
        ...content(value),
        // The field and the part of that name are the same.
        ...(typeof refusal === "string" ? [{ type: "refusal", refusal }] : []),
      ],
      // Two names of open models' reasoning.
      reasoning_content: reasoning_content ?? reasoning,
      // No calls are an absent list.
      tool_calls: calls.length > 0 ? calls.map(toolCall) : undefined,
    };
  });
}

/** `function` is the default type. Arguments are a JSON text, though some clients replay them parsed. */
export function toolCall(call: JsonObject): JsonObject {
  const { type: _, index: _index, function: called, custom, ...rest } = withoutNulls(call);
  if (isJsonObject(custom)) {
    return {
      ...rest,
      type: "function",
      function: { name: custom.name, arguments: JSON.stringify({ input: custom.input }) },
    };
  }
  const { arguments: args, ...described } = withoutNulls(object(called));
  const text = typeof args === "string" ? args : JSON.stringify(args ?? {});
  return { ...rest, type: "function", function: { ...described, arguments: text.trim() === "" ? "{}" : text } };
}

/**
 * A function's definition may be flat, as the responses wire has it. A custom tool is, for servers that know functions only,
 * a function with one text called `input`.
 */
function tool(value: JsonObject): JsonObject {
  const { type, function: nested, custom, ...rest } = withoutNulls(value);
  if (type !== "function" && type !== "custom") return value;
  const definition = withoutNulls(object(nested ?? custom ?? rest));
  const outer = nested ?? custom ? rest : {};
  const { properties } = object(definition.parameters);
  if (type === "custom" || Object.keys(object(properties)).join() === "input") return { custom: definition.name };
  return { ...outer, type, function: definition };
}

function nameOf(value: JsonObject): string {
  const { function: nested, custom, name, type } = value;
  return String(object(nested).name ?? (isJsonObject(custom) ? custom.name : custom) ?? name ?? type);
}

/** A choice of allowed tools is a choice among those tools alone; a custom tool is chosen as the function it is spoken as. */
function toolChoice(choice: JsonValue | undefined): { choice: JsonValue | undefined; allowed?: string[] } {
  if (!isJsonObject(choice)) return { choice };
  if (choice.type !== "allowed_tools") return { choice: { named: nameOf(choice) } };
  const { mode, tools } = isJsonObject(choice.allowed_tools) ? choice.allowed_tools : choice;
  return { choice: mode, allowed: objects(tools).map(nameOf) };
}

// Answers

/** An answer as a client is to get it; the id, the time and the model's name are the gateway's. */
export function normalAnswer(body: JsonObject): JsonObject {
  const { id: _id, created: _created, model: _model, choices, usage, ...rest } = body;
  const { index: _index, message, logprobs: _logprobs, finish_reason, ...choice } = objects(choices)[0] ?? {};
  const normal = answerMessage(object(message));
  const called = normal.tool_calls !== undefined;
  return {
    ...withoutNulls(rest),
    choice: {
      ...withoutNulls(choice),
      message: normal,
      // A `stop` after calls means that the agent goes on, and calls as the reason without a call mean a stop.
      finish_reason: called && finish_reason === "stop"
        ? "tool_calls"
        : !called && finish_reason === "tool_calls"
        ? "stop"
        : finish_reason,
    },
    usage: isJsonObject(usage) ? normalUsage(usage) : undefined,
  };
}

function answerMessage(message: JsonObject): JsonObject {
  const { content: text, tool_calls, annotations, reasoning, reasoning_content, refusal, ...rest } = withoutNulls(
    message,
  );
  const thought = reasoning_content || reasoning;
  return {
    ...rest,
    content: text ?? "",
    refusal: refusal || undefined,
    reasoning: thought || undefined,
    tool_calls: objects(tool_calls).length > 0 ? objects(tool_calls).map(toolCall) : undefined,
    // They cite a range of the text.
    annotations: text && objects(annotations).length > 0 ? objects(annotations).map(citation) : undefined,
  };
}

/** All four fields are there; a place that is empty is none. */
function citation({ url_citation, ...rest }: JsonObject): JsonObject {
  const { start_index, end_index, title = "", ...cited } = object(url_citation);
  const place = end_index ? { start_index: start_index ?? 0, end_index } : { start_index: 0, end_index: 0 };
  return { ...rest, url_citation: { ...cited, title, ...place } };
}

/** Details that count nothing are absent. */
function normalUsage(usage: JsonObject): JsonObject {
  const details = (value: JsonValue | undefined) => {
    const counted = withoutNulls(object(value));
    return Object.keys(counted).length > 0 ? counted : undefined;
  };
  return {
    ...usage,
    prompt_tokens_details: details(usage.prompt_tokens_details),
    completion_tokens_details: details(usage.completion_tokens_details),
  };
}
