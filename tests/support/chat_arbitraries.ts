import fc from "fast-check";
import type { Usage } from "../../src/canonical/usage.ts";
import type { GenerateResponse, OutputPart } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import {
  base64,
  limit,
  name,
  object,
  overTheWire,
  schema,
  someText,
  text,
  tokens,
  unknownFields,
  url,
} from "./arbitraries.ts";
import { pairedChat } from "./paired.ts";

/** Requests, answers and canonical responses as the chat completions wire can carry them, at random. */

const id = fc.stringMatching(/^call_[a-zA-Z0-9]{1,12}$/);

// Requests

const textPart = object({ type: fc.constant("text"), text });
const userPart = fc.oneof(
  textPart,
  object({
    type: fc.constant("image_url"),
    image_url: object({ url: fc.oneof(url, base64.map((data) => `data:image/png;base64,${data}`)) }, {
      detail: fc.constantFrom("auto", "low", "high"),
    }, { nulls: false }),
  }),
  object({
    type: fc.constant("input_audio"),
    input_audio: object({ data: base64, format: fc.constantFrom("wav", "mp3", "flac") }),
  }),
  object({
    type: fc.constant("file"),
    file: fc.oneof(
      object({ file_data: base64.map((data) => `data:application/pdf;base64,${data}`) }, { filename: name }, {
        nulls: false,
      }),
      object({ file_id: name }, {}, { nulls: false }),
    ),
  }),
  object({ type: fc.constant("video_url"), video_url: object({ url }) }),
);
const userContent = fc.oneof(text, fc.array(userPart, { maxLength: 3 }));
const textContent = fc.oneof(text, fc.array(textPart, { maxLength: 3 }));

const args = fc.oneof(
  fc.json({ maxDepth: 1 }),
  fc.dictionary(name, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }).map(overTheWire),
);
const functionCall = object({ name, arguments: args });
const callInHistory = fc.oneof(
  object({ id, function: functionCall }, { type: fc.constant("function") }, { nulls: true }),
  object({ id, type: fc.constant("custom"), custom: object({ name, input: text }, {}, { unknown: false }) }, {}, {
    unknown: false,
  }),
);
const refusalPart = object({ type: fc.constant("refusal"), refusal: someText }, {}, { unknown: false });
const assistantContent = fc.oneof(
  text,
  fc.array(textPart, { maxLength: 2 }),
  fc.tuple(refusalPart),
  fc.tuple(textPart, refusalPart),
);

const message = fc.oneof(
  object({ role: fc.constantFrom("system", "developer"), content: textContent }, { name }),
  object({ role: fc.constant("user"), content: userContent }, { name }),
  object({ role: fc.constant("assistant") }, {
    content: assistantContent,
    name,
    reasoning_content: text,
    tool_calls: fc.uniqueArray(callInHistory, { maxLength: 3, selector: (call) => call.id }),
  }),
  object({ role: fc.constant("assistant"), reasoning: text, content: text }),
  object({ role: fc.constant("assistant"), content: fc.constant(null), refusal: someText }),
  object({ role: fc.constant("tool"), tool_call_id: id }, { content: textContent }),
  // The form before tools.
  object({
    role: fc.constant("assistant"),
    content: fc.constant(null),
    function_call: object({ name, arguments: fc.json({ maxDepth: 1 }) }, {}, { unknown: false }),
  }),
  object({ role: fc.constant("function"), name, content: text }, {}, { unknown: false }),
);

const definition = { description: text, parameters: schema, strict: fc.boolean() };
const grammar = object(
  { syntax: fc.constantFrom("lark", "regex"), definition: someText },
  {},
  { unknown: false, nulls: false },
);
const toolNamed = (called: string) =>
  fc.oneof(
    object({ type: fc.constant("function"), function: object({ name: fc.constant(called) }, definition) }),
    object({ type: fc.constant("function"), name: fc.constant(called) }, definition, { unknown: false }),
    object(
      {
        type: fc.constant("custom"),
        custom: object({ name: fc.constant(called) }, {
          description: text,
          format: fc.oneof(
            fc.constant({ type: "text" }),
            grammar.map((inner) => ({ type: "grammar", grammar: inner })),
          ),
        }, { unknown: false }),
      },
      {},
      { unknown: false },
    ),
  );
const tools = fc.uniqueArray(name, { minLength: 1, maxLength: 3 })
  .chain((names) => fc.tuple(...names.map(toolNamed)));

const nameOf = (tool: JsonObject) => ((tool.function ?? tool.custom ?? tool) as JsonObject).name as string;

/** Tools and a choice among them. */
const toolUse = tools.chain((offered) => {
  const one = fc.constantFrom(...offered).map((tool) => {
    return { type: tool.type!, [tool.type as string]: { name: nameOf(tool) } };
  });
  return object({ tools: fc.constant(offered) }, {
    tool_choice: fc.oneof(
      fc.constantFrom("none", "auto", "required"),
      one,
      fc.record({
        type: fc.constant("allowed_tools"),
        allowed_tools: fc.record({
          mode: fc.constantFrom("auto", "required"),
          tools: fc.uniqueArray(one, { minLength: 1, maxLength: 2, selector: (choice) => JSON.stringify(choice) }),
        }),
      }),
    ),
    parallel_tool_calls: fc.boolean(),
  }, { unknown: false });
});

const legacyToolUse = object(
  {
    functions: fc.uniqueArray(object({ name }, definition), {
      minLength: 1,
      maxLength: 2,
      selector: ({ name }) => name,
    }),
  },
  { function_call: fc.oneof(fc.constantFrom("none", "auto"), fc.record({ name })) },
  { unknown: false },
);

const responseFormat = fc.oneof(
  fc.constantFrom<JsonObject>({ type: "text" }, { type: "json_object" }),
  object(
    {
      type: fc.constant("json_schema"),
      json_schema: object({ name }, { description: text, schema, strict: fc.boolean() }, { unknown: false }),
    },
    {},
    { unknown: false },
  ),
);

const controls = object({}, {
  max_tokens: limit,
  temperature: fc.double({ min: 0, max: 2, noNaN: true }),
  top_p: fc.double({ min: 0, max: 1, noNaN: true }),
  top_k: fc.integer({ min: 0, max: 200 }),
  stop: fc.oneof(someText, fc.array(someText, { minLength: 1, maxLength: 4 })),
  seed: fc.integer(),
  reasoning_effort: fc.constantFrom("none", "minimal", "low", "medium", "high", "xhigh", "max"),
  response_format: responseFormat,
  verbosity: fc.constantFrom("low", "medium", "high"),
  prompt_cache_key: text,
  metadata: fc.dictionary(name, text, { maxKeys: 2 }),
  frequency_penalty: fc.double({ min: -2, max: 2, noNaN: true }),
  logit_bias: fc.dictionary(fc.nat().map(String), fc.integer({ min: -100, max: 100 }), { maxKeys: 2 }),
  user: text,
  store: fc.boolean(),
  service_tier: fc.constantFrom("auto", "flex"),
  prediction: object({ type: fc.constant("content"), content: text }),
  web_search_options: object({}),
  n: fc.constant(1),
  logprobs: fc.constant(false),
  modalities: fc.constant(["text"]),
});
const streaming = fc.oneof(
  fc.constantFrom<JsonObject>({}, { stream: false }),
  object({ stream: fc.constant(true) }, {
    stream_options: object({}, { include_usage: fc.boolean(), include_obfuscation: fc.boolean() }, { nulls: false }),
  }, { unknown: false }),
);

/** Any request that the gateway serves. */
export const chatRequest: fc.Arbitrary<JsonObject> = fc.tuple(
  fc.record({ model: name, messages: fc.array(message, { minLength: 1, maxLength: 4 }).map(pairedChat) }),
  controls,
  fc.oneof(fc.constant({}), toolUse, legacyToolUse),
  streaming,
).map((parts) => Object.assign({}, ...parts));

// Answers

const wireUsage = object({ prompt_tokens: limit, completion_tokens: tokens }, {
  prompt_tokens_details: object({}, { cached_tokens: tokens, cache_write_tokens: tokens }, { unknown: false }),
  completion_tokens_details: object({}, { reasoning_tokens: tokens }, { unknown: false }),
}, { unknown: false }).map((usage) => ({
  ...usage,
  total_tokens: (usage.prompt_tokens as number) + (usage.completion_tokens as number),
}));

const citation = fc.record({
  type: fc.constant("url_citation"),
  url_citation: fc.record({ url, title: text, start_index: tokens, end_index: tokens }, { requiredKeys: ["url"] }),
});
const call = object({
  id,
  type: fc.constant("function"),
  function: object({ name, arguments: args }, {}, { unknown: false }),
});
const calls = fc.uniqueArray(call, { minLength: 1, maxLength: 3, selector: ({ id }) => id });

/** Any whole answer in which there is something, well spelt or as hosts spell it. */
export const chatAnswer: fc.Arbitrary<JsonObject> = object({
  id: name,
  object: fc.constant("chat.completion"),
  created: limit,
  model: name,
  usage: wireUsage,
  choices: fc.tuple(object({
    message: object({ role: fc.constant("assistant"), content: fc.option(text) }, {
      refusal: someText,
      reasoning_content: text,
      tool_calls: fc.oneof(calls, fc.constant([])),
      annotations: fc.array(citation, { maxLength: 2 }),
    }),
    finish_reason: fc.constantFrom("stop", "length", "tool_calls", "content_filter"),
  }, { index: fc.nat({ max: 2 }), logprobs: fc.constant(null) })),
});

// Canonical responses

const usage: fc.Arbitrary<Usage> = fc.record({
  inputTokens: limit,
  outputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens,
  reasoningTokens: tokens,
}, { requiredKeys: ["inputTokens", "outputTokens"] });

const annotation = fc.tuple(
  fc.record({ type: fc.constant("url-citation" as const), url, title: someText }, { requiredKeys: ["type", "url"] }),
  fc.option(fc.record({ start: tokens, end: limit })),
).map(([cited, place]) => ({ ...cited, ...place }));

const extra = fc.tuple(unknownFields, unknownFields, unknownFields).map(([fields, choice, message]): JsonObject => ({
  ...fields,
  ...(Object.keys(choice).length > 0 && { choice }),
  ...(Object.keys(message).length > 0 && { message }),
})).map(overTheWire);

/** The answers that this wire can express: one text, one reasoning, one refusal, and calls after them. */
export const chatResponse = (model: string): fc.Arbitrary<GenerateResponse> =>
  fc.record({
    reasoning: fc.option(someText, { nil: undefined }),
    text: fc.option(someText, { nil: undefined }),
    annotations: fc.option(fc.array(annotation, { minLength: 1, maxLength: 2 }), { nil: undefined }),
    refusal: fc.option(someText, { nil: undefined }),
    calls: fc.uniqueArray(fc.record({ id, name, input: fc.json({ maxDepth: 2 }) }), {
      maxLength: 3,
      selector: ({ id }) => id,
    }),
    finish: fc.constantFrom("length" as const, "content-filter" as const, undefined),
    usage,
    extra,
  }).map(({ reasoning, text, annotations, refusal, calls, finish, usage, extra }): GenerateResponse => {
    const content: OutputPart[] = [];
    if (reasoning !== undefined) content.push({ type: "reasoning", text: reasoning });
    if (text !== undefined) content.push({ type: "text", text, ...(annotations && { annotations }) });
    if (refusal !== undefined) content.push({ type: "refusal", text: refusal });
    for (const call of calls) content.push({ type: "tool-call", kind: "function", ...call });
    return {
      model,
      content,
      finish: finish ? { reason: finish } : calls.length > 0 ? { reason: "tool-calls" } : { reason: "stop" },
      usage,
      ...(Object.keys(extra).length > 0 && { extra: { wire: "chat", fields: extra } }),
    };
  });
