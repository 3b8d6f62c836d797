import { isJsonObject, isJsonText, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";

/**
 * The normal form of the responses wire: two bodies mean the same where their normal forms are equal. Each rule is one of the
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

/** A string is its one-part form; no part, an empty string and null are all no content. */
function content(value: JsonValue | undefined): JsonObject[] {
  if (typeof value === "string") return value === "" ? [] : [{ type: "text", text: value }];
  const parts = objects(value).map(part);
  return parts.length === 1 && parts[0]!.text === "" && Object.keys(some(object(parts[0]))!).length === 2 ? [] : parts;
}

/**
 * A part. Both types of texts become `text`, because the role implies which one it was. Empty lists of citations and
 * probabilities are left out.
 */
function part(value: JsonObject): JsonObject {
  const { type, annotations, logprobs, detail, ...rest } = withoutNulls(value);
  return {
    ...rest,
    type: type === "input_text" || type === "output_text" ? "text" : type,
    annotations: some(objects(annotations)),
    logprobs: some(objects(logprobs)),
    // The default.
    detail: detail === "auto" ? undefined : detail,
  };
}

// Requests

/**
 * A request as an upstream is to get it. Upstreams are told to store nothing; earlier answers, how a stream is obfuscated, and
 * what a client tells of itself, are the gateway's.
 */
export function normalRequest(body: JsonObject): JsonObject {
  const {
    input,
    instructions,
    tools: _tools,
    tool_choice,
    parallel_tool_calls,
    reasoning,
    text,
    include,
    metadata,
    stream,
    store: _store,
    previous_response_id: _previous,
    stream_options: _options,
    client_metadata: _client,
    background: _background,
    truncation: _truncation,
    ...rest
  } = withoutNulls(body);
  const { items, instructions: system } = normalInput(instructions, input);
  const listed = [body, ...objects(input)].flatMap((place) => objects(place.tools)).flatMap(tool);
  // A tool that comes up again is offered once.
  const keys = listed.map((one) => one.name ?? JSON.stringify(one));
  const offered = listed.filter((_, at) => keys.indexOf(keys[at]!) === at);
  return {
    ...rest,
    instructions: system,
    input: items,
    // A choice among no tools, and how many of none may be called, say nothing.
    ...(offered.length > 0 && { tools: offered, tool_choice: toolChoice(tool_choice), parallel_tool_calls }),
    reasoning: some(object(reasoning)),
    text: some(textConfig(object(text))),
    include: Array.isArray(include) ? some(include) : undefined,
    metadata: some(object(metadata)),
    stream: stream === true || undefined,
  };
}

function isTools({ type }: JsonObject): boolean {
  return type === "additional_tools";
}

/**
 * A text is one item of the user. Instructions are a system message before all others, and the first system message, where it
 * is nothing but text, is the instructions; an empty one says nothing. Tools that come up later are among the others.
 */
function normalInput(
  instructions: JsonValue | undefined,
  input: JsonValue | undefined,
): { items: JsonObject[]; instructions?: string } {
  const items = [
    ...(typeof instructions === "string" ? [{ role: "system", content: instructions }] : []),
    ...(typeof input === "string" ? [{ role: "user", content: input }] : objects(input)),
  ].filter((item) => !isTools(item)).map(normalItem).filter((one) =>
    one.role !== "assistant" || objects(one.content).length > 0
  );
  for (let first = items[0]; first && isPlain(first); first = items[0]) {
    items.shift();
    const joined = objects(first.content).map((one) => one.text).filter((text) => text !== "").join("\n\n");
    if (joined !== "") return { items, instructions: joined };
  }
  return { items };
}

/** Whether it is instructions, and has nothing that a text cannot have. */
function isPlain(item: JsonObject): boolean {
  const { role, content, ...own } = withoutNulls(item);
  const isText = ({ type, text: _, ...more }: JsonObject) => type === "text" && !some(withoutNulls(more));
  return role === "system" && own.type === "message" && Object.keys(own).length === 1 && objects(content).every(isText);
}

/** `message` is the default type, `completed` the usual status, `developer` the newer name of a role. */
function normalItem(item: JsonObject): JsonObject {
  const { type = "message", status, ...rest } = withoutNulls(item);
  const fields: JsonObject = { ...rest, type, status: status === "completed" ? undefined : status };
  switch (type) {
    case "message":
      return { ...fields, role: rest.role === "developer" ? "system" : rest.role, content: content(rest.content) };
    case "function_call_output":
    case "custom_tool_call_output":
      return { ...fields, output: content(rest.output) };
    case "function_call":
      // Servers refuse an empty text there.
      return {
        ...fields,
        name: flatName(rest),
        namespace: undefined,
        arguments: String(rest.arguments).trim() || "{}",
      };
    case "custom_tool_call":
      return { ...fields, name: flatName(rest), namespace: undefined };
    case "reasoning":
      return { ...fields, ...normalThought(rest) };
    default:
      return { ...item, status: undefined, ...(item.status !== "completed" && { status: item.status }) };
  }
}

/** Several texts are one text. An item without an id may be given any: `rs_` and a number. */
function normalThought({ id, summary, content, encrypted_content }: JsonObject): JsonObject {
  const joined = objects(content).map((one) => one.text).join("");
  return {
    id: /^rs_\d+$/.test(String(id)) ? undefined : id,
    summary: some(objects(summary)),
    content: joined === "" ? undefined : joined,
    encrypted_content: encrypted_content === "" ? undefined : encrypted_content,
  };
}

/** Upstreams know a tool of a namespace by one flat name. */
function flatName({ name, namespace }: JsonObject): JsonValue | undefined {
  return namespace === undefined ? name : `${namespace}__${name}`;
}

/** Tools in a namespace stand on their own, each with what the namespace says of them all. */
function tool(value: JsonObject): JsonObject[] {
  const { type, tools, name: namespace, description: about, ...rest } = withoutNulls(value);
  if (type === "namespace") {
    return objects(tools).flatMap((inner) => {
      const description = [about, inner.description].filter(Boolean).join("\n\n");
      return tool({ ...inner, name: flatName({ name: inner.name, namespace }), description });
    });
  }
  const described = { ...rest, type, name: namespace, description: about === "" ? undefined : about };
  switch (type) {
    case "function":
      return [{ ...described, parameters: rest.parameters ?? { type: "object", properties: {} } }];
    case "custom":
      // The default.
      return [{ ...described, format: object(rest.format).type === "text" ? undefined : rest.format }];
    default:
      return [withoutNulls(value)];
  }
}

function toolChoice(choice: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(choice)) return choice;
  const { tools, namespace: _, ...rest } = withoutNulls(choice);
  return {
    ...rest,
    name: flatName(withoutNulls(choice)),
    tools: tools === undefined ? undefined : objects(tools).map((one) => toolChoice(one) ?? null),
  };
}

/** `text` is the default format. */
function textConfig({ format, ...rest }: JsonObject): JsonObject {
  const { type, ...others } = object(format);
  return withoutNulls({
    ...rest,
    format: type === undefined || type === "text" && !some(others) ? undefined : { type, ...others },
  });
}

// Answers

/** The fields in which the gateway reports about the request and itself. */
const OWN = new Set([
  "id",
  "object",
  "created_at",
  "completed_at",
  "model",
  "background",
  "frequency_penalty",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "parallel_tool_calls",
  "presence_penalty",
  "previous_response_id",
  "prompt_cache_key",
  "reasoning",
  "safety_identifier",
  "store",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "truncation",
  "user",
  "metadata",
]);

/** An answer as a client is to get it. */
export function normalAnswer(body: JsonObject): JsonObject {
  const { output, usage, service_tier = "default", ...rest } = withoutNulls(body);
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([key]) => !OWN.has(key))),
    service_tier,
    output: objects(output).map((item, at, all) =>
      outputItem(body.status === "incomplete" && at === all.length - 1 && isUnfinished(item) ? cut(item) : item)
    ),
    usage: normalUsage(object(usage)),
  };
}

/** Whether an item in which an answer was cut is told as such. A call whose arguments are whole is not. */
function isUnfinished({ type, arguments: args }: JsonObject): boolean {
  if (type === "function_call") return !isJsonText(String(args).trim() || "{}");
  return ["message", "reasoning", "custom_tool_call"].includes(String(type));
}

function cut(item: JsonObject): JsonObject {
  return { ...item, status: "incomplete" };
}

/** Ids of items are the gateway's, except of those that only this wire has. */
function outputItem(item: JsonObject): JsonObject {
  const { id, type, ...rest } = normalItem(item);
  switch (type) {
    case "message":
    case "function_call":
    case "custom_tool_call":
      return withoutNulls({ ...rest, type });
    case "reasoning": {
      // Told as a summary where the client asks for one, else as they are.
      const { summary, content = objects(summary).map((one) => one.text).join("\n\n"), ...fields } = rest;
      return withoutNulls({ ...fields, type, content });
    }
    default:
      return withoutNulls({ id, ...rest, type });
  }
}

/** Details that are not told are none. */
function normalUsage({ input_tokens_details, output_tokens_details, ...usage }: JsonObject): JsonObject {
  return {
    ...usage,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, ...object(input_tokens_details) },
    output_tokens_details: { reasoning_tokens: 0, ...object(output_tokens_details) },
  };
}
