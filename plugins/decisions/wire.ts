/** The shapes of the wire whose questions are a list: OpenAI's, of which vLLM has a part. */
import { z } from "zod";
import { json, name } from "../shared/shapes.ts";

export const WIRE = "decisions";

/** The most questions of one request, on every wire of decisions. */
export const MOST_QUESTIONS = 400;
export const MOST_OPTIONS = 255;

const text = z.looseObject({ type: z.enum(["input_text", "output_text", "text"]), text: z.string() });
const refusal = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });
const image = z.looseObject({
  type: z.literal("input_image"),
  image_url: z.string().regex(/^(?:https?:|data:)/i, "Expected a URL that begins with https:, http: or data:"),
  detail: z.enum(["low", "high", "auto", "original"]).nullish(),
});
const data = z.looseObject({ type: z.literal("input_json"), data: z.union([json, z.array(json)]) });
const part = z.discriminatedUnion("type", [text, refusal, image, data]);
export type WirePart = z.output<typeof part>;
const content = z.union([z.string(), z.array(part)]);
export type WireContent = z.output<typeof content>;

const message = z.looseObject({
  type: z.literal("message").nullish(),
  role: z.enum(["user", "developer", "system", "assistant"]),
  content,
});
const call = z.looseObject({ type: z.literal("function_call"), call_id: name, name, arguments: z.string() });
const customCall = z.looseObject({ type: z.literal("custom_tool_call"), call_id: name, name, input: z.string() });
const result = z.looseObject({
  type: z.enum(["function_call_output", "custom_tool_call_output"]),
  call_id: name,
  output: content,
});
const item = z.union([result, call, customCall, message]);
export type WireItem = z.output<typeof item>;

/** The AI SDK leaves instructions out if its caller did. */
const named = { name: z.string().nullish(), instructions: content.nullish() };
const choice = z.looseObject({ value: z.union([z.string(), z.boolean()]), description: z.string().nullish() });
const level = z.looseObject({ label: z.string(), description: z.string().nullish() });
const question = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("predicate"), ...named }),
  z.looseObject({ type: z.literal("choice"), ...named, choices: z.array(choice).min(2).max(MOST_OPTIONS) }),
  z.looseObject({ type: z.literal("score"), ...named, levels: z.array(level).min(2).max(MOST_OPTIONS) }),
]);
export type WireQuestion = z.output<typeof question>;

const requestFields = {
  model: name,
  input: z.union([z.string(), z.array(item).min(1)]),
  questions: z.array(question).min(1).max(MOST_QUESTIONS),
};
export const requestSchema = z.looseObject(requestFields);
export const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(requestFields));

/** An upstream's answer. Its figures are checked later. */
export const answerSchema = z.looseObject({ answers: z.array(json), usage: json.nullish().catch(undefined) });
