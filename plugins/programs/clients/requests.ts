/** A tool turn as clients of each wire send it, for clients that cannot be run automatically. */
import { asObjects, isJsonObject, type JsonObject } from "../../../src/canonical/json.ts";

/** The two requests of a turn in which the model calls a tool. */
export interface ToolTurn {
  /** Below the lane. */
  path(model: string, isStreamed: boolean): string;
  headers: Readonly<Record<string, string>>;
  /** Asks for a whole answer. */
  first(model: string, prompt: string): JsonObject;
  /** The first request with the tool's result added, for a streamed answer. `undefined` if the answer calls no tool. */
  second(first: JsonObject, answer: JsonObject): JsonObject | undefined;
  /** Whether a streamed answer came to its end. */
  isWhole(stream: string): boolean;
}

const NAME = "list_files";
const DESCRIPTION = "Lists the files of a folder.";
const PARAMETERS = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const RESULT = "README.md";

const messages: ToolTurn = {
  path: () => "v1/messages",
  headers: { "anthropic-version": "2023-06-01" },
  first: (model, prompt) => ({
    model,
    max_tokens: 1024,
    messages: [{ role: "user", content: prompt }],
    tools: [{ name: NAME, description: DESCRIPTION, input_schema: PARAMETERS }],
  }),
  second(first, { content }) {
    const calls = asObjects(content).filter(({ type }) => type === "tool_use");
    const results = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id!, content: RESULT }));
    if (results.length === 0) return undefined;
    const turns = [{ role: "assistant", content: content! }, { role: "user", content: results }];
    return { ...first, stream: true, messages: [...asObjects(first.messages), ...turns] };
  },
  isWhole: (stream) => stream.includes("event: message_stop"),
};

const chat: ToolTurn = {
  path: () => "v1/chat/completions",
  headers: {},
  first: (model, prompt) => ({
    model,
    messages: [{ role: "user", content: prompt }],
    tools: [{ type: "function", function: { name: NAME, description: DESCRIPTION, parameters: PARAMETERS } }],
  }),
  second(first, { choices }) {
    const message = asObjects(choices)[0]?.message;
    const calls = isJsonObject(message) ? asObjects(message.tool_calls) : [];
    if (!isJsonObject(message) || calls.length === 0) return undefined;
    const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id!, content: RESULT }));
    return { ...first, stream: true, messages: [...asObjects(first.messages), message, ...results] };
  },
  isWhole: (stream) => stream.includes("data: [DONE]"),
};

const responses: ToolTurn = {
  path: () => "v1/responses",
  headers: {},
  first: (model, prompt) => ({
    model,
    store: false,
    input: [{ role: "user", content: prompt }],
    tools: [{ type: "function", name: NAME, description: DESCRIPTION, parameters: PARAMETERS, strict: false }],
  }),
  second(first, { output }) {
    const calls = asObjects(output).filter(({ type }) => type === "function_call");
    const results = calls.map(({ call_id }) => ({ type: "function_call_output", call_id: call_id!, output: RESULT }));
    if (results.length === 0) return undefined;
    return { ...first, stream: true, input: [...asObjects(first.input), ...asObjects(output), ...results] };
  },
  isWhole: (stream) => stream.includes("event: response.completed"),
};

const ollama: ToolTurn = {
  path: () => "api/chat",
  headers: {},
  first: (model, prompt) => ({ ...chat.first(model, prompt), stream: false }),
  second(first, { message }) {
    const calls = isJsonObject(message) ? asObjects(message.tool_calls) : [];
    if (!isJsonObject(message) || calls.length === 0) return undefined;
    const results = calls.map(() => ({ role: "tool", tool_name: NAME, content: RESULT }));
    return { ...first, stream: true, messages: [...asObjects(first.messages), message, ...results] };
  },
  isWhole: (stream) => /"done": ?true/.test(stream),
};

const gemini: ToolTurn = {
  path: (model, isStreamed) =>
    `v1beta/models/${model}:${isStreamed ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  headers: {},
  first: (_, prompt) => ({
    contents: [{ role: "user", parts: [{ text: prompt }] }],
    tools: [{ functionDeclarations: [{ name: NAME, description: DESCRIPTION, parametersJsonSchema: PARAMETERS }] }],
  }),
  second(first, { candidates }) {
    const content = asObjects(candidates)[0]?.content;
    const calls = isJsonObject(content) ? asObjects(content.parts).filter(({ functionCall }) => functionCall) : [];
    if (!isJsonObject(content) || calls.length === 0) return undefined;
    const results = calls.map(() => ({ functionResponse: { name: NAME, response: { output: RESULT } } }));
    return { ...first, contents: [...asObjects(first.contents), content, { role: "user", parts: results }] };
  },
  isWhole: (stream) => stream.includes('"finishReason"'),
};

/** By the wire that a client speaks. */
export const toolTurns: Readonly<Record<string, ToolTurn>> = { messages, chat, responses, ollama, gemini };
