/**
 * The shapes of the Ollama wire as its clients send them. The wire has no driver, because its servers also have the chat wire, which
 * can express more.
 */
import { z } from "zod";
import { EFFORTS } from "../../src/canonical/generate.ts";
import { asObject, asText, type JsonObject } from "../../src/canonical/json.ts";
import { OLLAMA_SAMPLING } from "../shared/sampling.ts";
import { double, effort, json, name } from "../shared/shapes.ts";

export const WIRE = "ollama";

/** Arguments are an object on this wire. Some clients send back the text that another wire gave them. */
const toolCall = z.looseObject({
  id: z.string().nullish(),
  function: z.looseObject({ name, arguments: z.union([json, z.string()]).nullish() }),
});
export type ToolCall = z.output<typeof toolCall>;

const messageFields = {
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.string().nullish(),
  thinking: z.string().nullish(),
  /** Base64 without a data URL prefix. */
  images: z.array(z.string()).nullish(),
  tool_calls: z.array(toolCall).nullish(),
  /** Older clients answer a call without its id, or without its name, too. */
  tool_name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
};
const message = z.looseObject(messageFields);
export const MESSAGE_KEYS: ReadonlySet<string> = new Set(Object.keys(messageFields));
export type OllamaMessage = z.output<typeof message>;

const tool = z.looseObject({
  type: z.literal("function").nullish(),
  function: z.looseObject({ name, description: z.string().nullish(), parameters: json.nullish() }),
});
export type OllamaTool = z.output<typeof tool>;

/** The tuning parameters that the canonical form has, each with its own type. All others are for a server's engine. */
const optionFields = {
  /** 0 and less mean as many tokens as there is room for. */
  num_predict: double(z.int()).nullish(),
  ...OLLAMA_SAMPLING.shape,
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
};
export const OPTION_KEYS: ReadonlySet<string> = new Set(Object.keys(optionFields));

const requestFields = {
  model: name,
  messages: z.array(message).nullish(),
  tools: z.array(tool).nullish(),
  /** True if absent. */
  stream: z.boolean().nullish(),
  format: z.union([z.enum(["json", ""]), json]).nullish(),
  think: z.union([z.boolean(), effort(z.enum(EFFORTS))]).nullish(),
  options: z.looseObject(optionFields).nullish(),
};
export const requestSchema = z.looseObject(requestFields);
export const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(requestFields));
export type OllamaRequest = z.output<typeof requestSchema>;

const { messages: _messages, tools: _tools, ...sharedFields } = requestFields;
const generateFields = {
  ...sharedFields,
  prompt: z.string().nullish(),
  suffix: z.string().nullish(),
  system: z.string().nullish(),
  images: z.array(z.string()).nullish(),
  /** The prompt already has the form that the model reads. */
  raw: z.boolean().nullish(),
  template: z.string().nullish(),
  /** The tokens of earlier turns. */
  context: z.array(z.int()).nullish(),
};
export const generateSchema = z.looseObject(generateFields);
export const GENERATE_KEYS: ReadonlySet<string> = new Set(Object.keys(generateFields));
export type OllamaGenerate = z.output<typeof generateSchema>;

/** `name` is the former name of `model`. */
export const showSchema = z.union([z.looseObject({ model: name }), z.looseObject({ name })]);

/** The most inputs of one request, as on the embeddings wire. */
const MOST_INPUTS = 2_048;
/** A text to embed. Servers refuse an empty one. */
const embedded = z.string().min(1, { abort: true });
const embedFields = {
  model: name,
  input: z.union([embedded, z.array(embedded).min(1).max(MOST_INPUTS)]),
  dimensions: z.int().min(1).nullish(),
  truncate: z.boolean().nullish(),
};
export const embedSchema = z.looseObject(embedFields);
export const EMBED_KEYS: readonly string[] = Object.keys(embedFields).slice(0, -1);

const promptFields = { model: name, prompt: embedded, truncate: z.boolean().nullish() };
export const promptSchema = z.looseObject(promptFields);
export const PROMPT_KEYS: readonly string[] = Object.keys(promptFields).slice(0, -1);

/** The model that a chat request names. */
export function modelIn(body: unknown): string {
  return asText(asObject(body).model);
}

/** A time in this wire's format. `seconds`: since the epoch. */
export function timestamp(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

/** The fields that every line of an answer has. */
export function line(
  model: string,
  seconds: number,
  message: JsonObject,
  rest: JsonObject = { done: false },
): JsonObject {
  return { model, created_at: timestamp(seconds), message: { role: "assistant", content: "", ...message }, ...rest };
}

/** Like `line`, for the endpoint for prompts, whose answers are no messages. */
export function generatedLine(
  model: string,
  seconds: number,
  { content = "", thinking }: JsonObject,
  rest: JsonObject = { done: false },
): JsonObject {
  return {
    model,
    created_at: timestamp(seconds),
    response: content,
    ...(thinking !== undefined && { thinking }),
    ...rest,
  };
}
