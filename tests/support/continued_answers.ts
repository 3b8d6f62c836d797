/** Answers as clients of each wire get them, in one form. */
import type { JsonObject } from "../../src/canonical/json.ts";
import type { TestApp } from "./app.ts";

/** An answer as its client understood it. */
export interface Got {
  text: string;
  reasoning: string;
  calls: { name: string; input: string }[];
  /** How often it was said to be over, and how often to have failed. */
  ends: number;
  errors: number;
  /** The output tokens, as they were said last. */
  output?: number;
  input?: number;
  notes: string;
}

interface Client {
  path: string;
  body(more: ClientOptions): JsonObject;
  read(event: JsonObject, got: Got): void;
}

export interface ClientOptions {
  prompt?: string;
  tools?: readonly string[];
  maxTokens?: number;
}

const SCHEMA = { type: "object" };
const functions = (names: readonly string[] = []) =>
  names.map((name) => ({ type: "function", function: { name, parameters: SCHEMA } }));

// deno-lint-ignore no-explicit-any -- events of five wires
type Loose = any;

export const CLIENTS: Record<string, Client> = {
  chat: {
    path: "/oss/v1/chat/completions",
    body: ({ prompt = "Hello", tools, maxTokens }) => ({
      model: "model",
      stream: true,
      messages: [{ role: "user", content: prompt }],
      max_tokens: maxTokens,
      ...(tools && { tools: functions(tools) }),
      stream_options: { include_usage: true },
    }),
    read({ choices = [], usage, error }: Loose, got) {
      const [{ delta = {}, finish_reason = null } = {}] = choices;
      got.text += delta.content ?? "";
      got.reasoning += delta.reasoning_content ?? "";
      for (const { index, custom, function: of = {} } of delta.tool_calls ?? []) {
        const { name, input = "" } = custom ?? { name: of.name, input: of.arguments };
        if (name) got.calls[index] = { name, input };
        else got.calls[index]!.input += input;
      }
      if (finish_reason) got.ends++;
      if (error) got.errors++;
      if (usage) [got.input, got.output] = [usage.prompt_tokens, usage.completion_tokens];
    },
  },
  messages: {
    path: "/oss/v1/messages",
    body: ({ prompt = "Hello", tools = [], maxTokens = 1_000 }) => ({
      model: "model",
      stream: true,
      messages: [{ role: "user", content: prompt }],
      max_tokens: maxTokens,
      ...(tools.length > 0 && { tools: tools.map((name) => ({ name, input_schema: SCHEMA })) }),
    }),
    read({ type, delta = {}, content_block = {}, usage, message }: Loose, got) {
      if (type === "content_block_start" && content_block.type === "tool_use") {
        got.calls.push({ name: content_block.name, input: "" });
      }
      if (type === "content_block_delta") {
        got.text += delta.text ?? "";
        got.reasoning += delta.thinking ?? "";
        // Those of steps that the gateway runs are no calls of the client.
        const call = got.calls.at(-1);
        if (call && delta.type === "input_json_delta") call.input += delta.partial_json;
      }
      if (type === "message_stop") got.ends++;
      if (type === "error") got.errors++;
      if (message?.usage) got.input = message.usage.input_tokens;
      if (usage) got.output = usage.output_tokens;
    },
  },
  responses: {
    path: "/oss/v1/responses",
    body: ({ prompt = "Hello", tools = [], maxTokens }) => ({
      model: "model",
      stream: true,
      store: false,
      input: prompt,
      max_output_tokens: maxTokens,
      ...(tools.length > 0 && { tools: tools.map((name) => ({ type: "function", name, parameters: SCHEMA })) }),
    }),
    read({ type, delta, item, response }: Loose, got) {
      if (type === "response.output_text.delta") got.text += delta;
      if (type === "response.reasoning_text.delta" || type === "response.reasoning_summary_text.delta") {
        got.reasoning += delta;
      }
      if (type === "response.output_item.added" && /^(function|custom_tool)_call$/.test(item.type)) {
        got.calls.push({ name: item.name, input: "" });
      }
      if (/^response\.(function_call_arguments|custom_tool_call_input)\.delta$/.test(type)) {
        got.calls.at(-1)!.input += delta;
      }
      if (type === "response.completed" || type === "response.incomplete") got.ends++;
      if (type === "response.failed" || type === "error") got.errors++;
      if (response?.usage) [got.input, got.output] = [response.usage.input_tokens, response.usage.output_tokens];
    },
  },
  gemini: {
    path: "/oss/v1beta/models/model:streamGenerateContent?alt=sse",
    body: ({ prompt = "Hello", tools = [], maxTokens }) => ({
      contents: [{ role: "user", parts: [{ text: prompt }] }],
      generationConfig: { maxOutputTokens: maxTokens, thinkingConfig: { includeThoughts: true } },
      ...(tools.length > 0 &&
        { tools: [{ functionDeclarations: tools.map((name) => ({ name, parameters: SCHEMA })) }] }),
    }),
    read({ candidates = [], usageMetadata, error }: Loose, got) {
      const [{ content: { parts = [] } = {} as Loose, finishReason = undefined } = {}] = candidates;
      for (const { text = "", thought, functionCall } of parts) {
        if (thought) got.reasoning += text;
        else got.text += text;
        if (functionCall) got.calls.push({ name: functionCall.name, input: JSON.stringify(functionCall.args ?? {}) });
      }
      if (finishReason) got.ends++;
      if (error) got.errors++;
      if (usageMetadata) {
        [got.input, got.output] = [usageMetadata.promptTokenCount, usageMetadata.candidatesTokenCount];
      }
    },
  },
  ollama: {
    path: "/oss/api/chat",
    body: ({ prompt = "Hello", tools, maxTokens }) => ({
      model: "model",
      messages: [{ role: "user", content: prompt }],
      ...(maxTokens !== undefined && { options: { num_predict: maxTokens } }),
      ...(tools && { tools: functions(tools) }),
    }),
    read({ message = {}, done, error, eval_count, prompt_eval_count }: Loose, got) {
      got.text += message.content ?? "";
      got.reasoning += message.thinking ?? "";
      for (const { function: { name, arguments: args } } of message.tool_calls ?? []) {
        got.calls.push({ name, input: JSON.stringify(args) });
      }
      if (done) got.ends++;
      if (error) got.errors++;
      if (eval_count !== undefined) [got.input, got.output] = [prompt_eval_count, eval_count];
    },
  },
};

/** Asks as a client of that wire, and reads all of the answer. */
export async function answerFor(
  app: TestApp,
  name: string,
  options: ClientOptions = {},
  headers: HeadersInit = {},
): Promise<Got> {
  const { path, body, read } = CLIENTS[name]!;
  const response = await app.post(path, body(options), headers);
  const text = await response.text();
  const got: Got = { text: "", reasoning: "", calls: [], ends: 0, errors: 0, notes: "" };
  if (!response.ok) return { ...got, errors: 1 };
  for (const line of text.split("\n")) {
    if (line.startsWith(": notes: ")) got.notes += line.slice(": notes: ".length);
    const json = line.startsWith("data: ") ? line.slice("data: ".length) : line;
    if (json.startsWith("{")) read(JSON.parse(json), got);
  }
  return got;
}
