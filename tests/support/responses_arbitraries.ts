import fc from "fast-check";
import type { Usage } from "../../src/canonical/usage.ts";
import type { Annotation, GenerateResponse, OutputPart, ReasoningPart } from "../../src/canonical/generate.ts";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
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

/** Requests, answers and canonical responses as the responses wire can carry them, at random. */

const WIRE = "responses";
const strictly = { unknown: false, nulls: false };
const constant = <T>(value: T) => fc.constant(value);
const idLike = (prefix: string) => fc.stringMatching(/^x[a-f0-9]{4,12}$/).map((one) => `${prefix}_${one}`);
const callId = idLike("call");
const status = fc.constantFrom("completed", "incomplete", "in_progress");
const json = fc.dictionary(name, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }).map(overTheWire);

// Requests

const inputText = object({ type: constant("input_text"), text }, {
  prompt_cache_breakpoint: constant({ mode: "explicit" }),
});
const image = fc.oneof(
  object({
    type: constant("input_image"),
    image_url: fc.oneof(url, base64.map((data) => `data:image/png;base64,${data}`)),
  }, { detail: fc.constantFrom("auto", "low", "original") }),
  object({ type: constant("input_image"), file_id: name }, { detail: constant("high") }),
);
const file = fc.oneof(
  object({ type: constant("input_file"), file_data: base64.map((data) => `data:application/pdf;base64,${data}`) }, {
    filename: name,
  }),
  object({ type: constant("input_file"), file_url: url }),
  object({ type: constant("input_file"), file_id: name }),
);
const unknownInput = object({ type: fc.constantFrom("input_audio", "input_from_the_future") });
const inputPart = fc.oneof(inputText, image, file, unknownInput);
const inputContent = fc.oneof(text, fc.array(inputPart, { maxLength: 3 }));
const textContent = fc.oneof(text, fc.array(inputText, { maxLength: 2 }));

const pageCitation = object(
  {
    type: constant("url_citation"),
    url,
    title: text,
    start_index: tokens,
    end_index: tokens,
  },
  {},
  { nulls: false },
);
const fileCitation = object({ type: constant("file_citation"), file_id: name, filename: name, index: tokens }, {}, {
  nulls: false,
});
const annotations = fc.oneof(
  fc.array(pageCitation, { maxLength: 2 }),
  fc.array(fc.oneof(pageCitation, fileCitation), { maxLength: 2 }),
);
const logprobs = fc.array(fc.record({ token: text, logprob: constant(-1) }), { maxLength: 1 });
const outputPart = fc.oneof(
  object({ type: constant("output_text"), text }, { annotations, logprobs }, { nulls: false }),
  object({ type: constant("refusal"), refusal: text }),
);
const outputContent = fc.oneof(someText, fc.array(outputPart, { minLength: 1, maxLength: 3 }));

const message = (role: fc.Arbitrary<string>, content: fc.Arbitrary<unknown>, more = {}) =>
  object({ role, content }, { type: constant("message"), id: idLike("msg"), status, ...more });

const output = fc.oneof(text, fc.array(inputPart, { maxLength: 2 }));
const summary = fc.array(object({ type: constant("summary_text"), text: someText }, {}, strictly), { maxLength: 2 });
const thoughts = fc.array(object({ type: constant("reasoning_text"), text: someText }, {}, strictly), { maxLength: 2 });

/** A tool that the request offers: by name, or by the name and the namespace that it stands in. */
interface Offered {
  kind: "function" | "custom";
  name: string;
  namespace?: string;
}

const called = ({ name, namespace }: Offered) => ({ name, ...(namespace !== undefined && { namespace }) });

/** Arbitraries that do not depend on the tools are made once, because making them takes long. */
const callFields = object({ call_id: callId }, { id: idLike("fc"), status });
const callInput = fc.oneof(fc.json({ maxDepth: 1 }), text);
const goneTool = fc.record<Offered>({ kind: fc.constantFrom("function" as const, "custom" as const), name });
const otherItems = [
  { weight: 3, arbitrary: message(constant("user"), inputContent) },
  {
    weight: 3,
    arbitrary: message(constant("assistant"), outputContent, {
      phase: fc.constantFrom("commentary", "final_answer"),
    }),
  },
  message(fc.constantFrom("system", "developer"), textContent),
  object({ type: fc.constantFrom("function_call_output", "custom_tool_call_output"), call_id: callId, output }, {
    id: idLike("fco"),
    status,
  }),
  // Models that know all of the wire take their thoughts back only as they encrypted them.
  object({ type: constant("reasoning"), summary, encrypted_content: base64 }, {
    id: idLike("rs"),
    content: thoughts,
    status,
  }),
  object(
    {
      type: fc.constantFrom("web_search_call", "mcp_call", "local_shell_call", "compaction", "from_the_future"),
      id: name,
    },
    { action: json },
    { nulls: false },
  ),
  object({ type: fc.constantFrom("shell_call_output", "mcp_approval_response") }, { output: text }, { nulls: false }),
];

/** Items of an agent's conversation; the calls are of these tools, or of tools that are gone. */
function itemWith(offered: readonly Offered[]): fc.Arbitrary<JsonObject> {
  const tool = offered.length > 0 ? fc.oneof(goneTool, fc.constantFrom(...offered)) : goneTool;
  const call = fc.tuple(tool, callFields, callInput).map(([one, fields, input]): JsonObject =>
    one.kind === "custom"
      ? { ...fields, type: "custom_tool_call", ...called(one), input }
      : { ...fields, type: "function_call", ...called(one), arguments: input }
  );
  return fc.oneof(...otherItems, { weight: 3, arbitrary: call });
}

const grammar = fc.oneof(
  constant({ type: "text" }),
  fc.record({ type: constant("grammar"), syntax: fc.constantFrom("lark", "regex"), definition: someText }),
);
const functionTool = object({ type: constant("function") }, {
  description: text,
  parameters: schema,
  strict: fc.boolean(),
  defer_loading: fc.boolean(),
});
const functionNamed = (called: string) => functionTool.map((tool): JsonObject => ({ ...tool, name: called }));
const customTool = object({ type: constant("custom") }, { description: text, format: grammar });
const customNamed = (called: string) => customTool.map((tool): JsonObject => ({ ...tool, name: called }));
const namespaceOf = (called: string) =>
  fc.record({
    type: constant("namespace"),
    name: constant(called),
    description: someText,
    tools: fc.uniqueArray(name, { minLength: 1, maxLength: 2 })
      .chain((names) => fc.tuple(...names.map((one) => fc.oneof(functionNamed(one), customNamed(one))))),
  });
const hosted = object({ type: fc.constantFrom("web_search", "code_interpreter", "crystal_ball") }, {
  search_context_size: constant("low"),
});
const toolNamed = (called: string) =>
  fc.oneof(
    { weight: 3, arbitrary: functionNamed(called) },
    customNamed(called),
    namespaceOf(called),
    hosted,
  ) as fc.Arbitrary<JsonObject>;
const toolList = fc.uniqueArray(name, { maxLength: 4 })
  .chain((names) => fc.tuple(...names.map(toolNamed))) as fc.Arbitrary<JsonObject[]>;

function offeredBy(tools: readonly JsonObject[]): Offered[] {
  return tools.flatMap((tool): Offered[] => {
    if (tool.type === "namespace") {
      return offeredBy(tool.tools as JsonObject[]).map((inner) => ({ ...inner, namespace: tool.name as string }));
    }
    return tool.type === "function" || tool.type === "custom" ? [{ kind: tool.type, name: tool.name as string }] : [];
  });
}

/** Tools, a choice among them, and a conversation with them. */
const conversation = toolList.chain((tools) => {
  const offered = offeredBy(tools);
  // The last of them may come up in the middle of the conversation.
  const split = fc.nat({ max: tools.length });
  const references: JsonObject[] = [
    ...offered.map((one) => ({ type: one.kind, ...called(one) })),
    ...tools.filter(({ name }) => name === undefined).map(({ type }) => ({ type })),
  ];
  const choice = fc.oneof(
    fc.constantFrom<JsonValue>("none", "auto", "required", ...references),
    ...(references.length === 0 ? [] : [fc.record({
      type: constant("allowed_tools"),
      mode: fc.constantFrom("auto", "required"),
      tools: fc.uniqueArray(fc.constantFrom(...references), {
        minLength: 1,
        maxLength: 2,
        selector: (one) => JSON.stringify(one),
      }),
    })]),
  );
  return fc.tuple(
    split,
    object({}, { tool_choice: choice, parallel_tool_calls: fc.boolean() }, { unknown: false }),
    fc.oneof(
      { weight: 1, arbitrary: someText },
      { weight: 9, arbitrary: fc.array(itemWith(offered), { minLength: 1, maxLength: 6 }) },
    ),
    fc.constantFrom({ type: "additional_tools", role: "developer" }, {
      type: "tool_search_output",
      call_id: "call_x1",
    }),
  ).map(([at, controls, input, place]): JsonObject => {
    const later = tools.slice(at);
    if (typeof input === "string" || later.length === 0) return { ...controls, input, tools };
    const added = { ...place, tools: later };
    return { ...controls, input: [...input.slice(0, 1), added, ...input.slice(1)], tools: tools.slice(0, at) };
  });
});

const format = fc.oneof(
  fc.constantFrom<JsonObject>({ type: "text" }, { type: "json_object" }),
  object({ type: constant("json_schema"), name, schema }, { description: text, strict: fc.boolean() }),
);
const controls = object({}, {
  instructions: text,
  max_output_tokens: limit,
  temperature: fc.double({ min: 0, max: 2, noNaN: true }),
  top_p: fc.double({ min: 0, max: 1, noNaN: true }),
  top_logprobs: fc.nat({ max: 20 }),
  max_tool_calls: limit,
  reasoning: object({}, {
    effort: fc.constantFrom("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    summary: fc.constantFrom("auto", "concise", "detailed"),
    context: constant("all_turns"),
  }),
  text: object({}, { format, verbosity: fc.constantFrom("low", "medium", "high") }),
  include: fc.subarray(["reasoning.encrypted_content", "message.output_text.logprobs"]),
  stream: fc.boolean(),
  stream_options: fc.record({ include_obfuscation: fc.boolean() }),
  store: fc.boolean(),
  previous_response_id: idLike("resp"),
  background: constant(false),
  truncation: constant("disabled"),
  metadata: fc.dictionary(name, text, { maxKeys: 2 }),
  client_metadata: fc.dictionary(name, text, { maxKeys: 2 }),
  prompt_cache_key: text,
  prompt_cache_retention: constant("24h"),
  safety_identifier: text,
  service_tier: fc.constantFrom("auto", "flex"),
  user: text,
  context_management: fc.array(fc.record({ type: constant("compaction"), compact_threshold: limit }), { maxLength: 1 }),
});

/** Any request that the gateway serves. */
export const responsesRequest: fc.Arbitrary<JsonObject> = fc.tuple(controls, conversation, name)
  .map(([controls, conversation, model]) => ({ ...controls, ...conversation, model }));

// Answers

const wireUsage = fc.record({
  input_tokens: limit,
  output_tokens: tokens,
  input_tokens_details: object({}, { cached_tokens: tokens, cache_write_tokens: tokens }),
  output_tokens_details: object({}, { reasoning_tokens: tokens }),
}, { requiredKeys: ["input_tokens", "output_tokens"] }).map((usage): JsonObject => ({
  ...overTheWire(usage),
  total_tokens: usage.input_tokens + usage.output_tokens,
}));

const answerItem = fc.oneof(
  object({
    type: constant("message"),
    id: idLike("msg"),
    status: constant("completed"),
    role: constant("assistant"),
    content: fc.tuple(fc.oneof(
      object({ type: constant("output_text"), text: someText }, { annotations, logprobs }, { nulls: false }),
      object({ type: constant("refusal"), refusal: someText }),
    )),
  }, { phase: fc.constantFrom("commentary", "final_answer") }),
  object({ type: constant("reasoning"), id: idLike("rs"), content: fc.tuple(...[thoughtOf(someText)]) }, {
    summary: constant([]),
    encrypted_content: constant(""),
  }, { unknown: false }),
  object({ type: constant("reasoning"), id: idLike("rs"), summary: fc.tuple(summaryOf(someText)) }, {}, {
    unknown: false,
  }),
  object(
    {
      type: fc.constantFrom("web_search_call", "code_interpreter_call", "mcp_call", "from_the_future"),
      id: idLike("ws"),
    },
    { status: constant("completed"), action: json },
    { nulls: false },
  ),
);

function thoughtOf(text: fc.Arbitrary<string>) {
  return fc.record({ type: constant("reasoning_text"), text });
}

function summaryOf(text: fc.Arbitrary<string>) {
  return fc.record({ type: constant("summary_text"), text });
}

const answerCall = fc.oneof(
  object({ type: constant("function_call"), call_id: callId, name, arguments: fc.json({ maxDepth: 1 }) }, {
    id: idLike("fc"),
    status: constant("completed"),
    caller: json,
  }),
  object({ type: constant("custom_tool_call"), call_id: callId, name, input: text }, { id: idLike("ctc") }),
);

/** Any whole answer, its calls last. */
export const responsesAnswer: fc.Arbitrary<JsonObject> = fc.tuple(
  object({
    id: idLike("resp"),
    object: constant("response"),
    created_at: limit,
    model: name,
    usage: wireUsage,
  }, { error: constant(null), service_tier: fc.constantFrom("default", "flex") }),
  fc.array(answerItem, { maxLength: 4 }),
  fc.uniqueArray(answerCall, { maxLength: 2, selector: ({ call_id }) => call_id }),
  fc.constantFrom<JsonObject>(
    { status: "completed", incomplete_details: null },
    { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    { status: "incomplete", incomplete_details: { reason: "content_filter" } },
  ),
).map(([rest, items, calls, ending]) => ({ ...rest, ...ending, output: [...items, ...calls] }));

// Canonical responses

const usage: fc.Arbitrary<Usage> = fc.record({
  inputTokens: limit,
  outputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens,
  reasoningTokens: tokens,
});
const annotation: fc.Arbitrary<Annotation> = fc.record({
  type: constant("url-citation" as const),
  url,
  title: text,
  start: tokens,
  end: tokens,
});
/** Encrypted reasoning is bound to the id of its item, so both travel as one text. */
const opaque = fc.tuple(idLike("rs"), base64).map(([id, data]) => ({ origin: WIRE, data: `${id}:${data}` }));
const part: fc.Arbitrary<OutputPart> = fc.oneof(
  fc.record({ type: constant("text" as const), text: someText }),
  fc.record({
    type: constant("text" as const),
    text: someText,
    annotations: fc.array(annotation, { minLength: 1, maxLength: 2 }),
  }),
  fc.record<ReasoningPart>({ type: constant("reasoning" as const), text: someText, opaque }, {
    requiredKeys: ["type", "text"],
  }),
  // Thoughts that only their vendor can read.
  opaque.map((opaque): ReasoningPart => ({ type: "reasoning", text: "", opaque })),
  fc.record({ type: constant("refusal" as const), text: someText }),
  fc.record({ query: someText, number: fc.nat() }).map(({ query, number }): OutputPart => ({
    type: "opaque",
    standIn: `[web_search_call: ${JSON.stringify({ query })}]`,
    extra: {
      wire: WIRE,
      fields: { id: `ws_${number}`, type: "web_search_call", status: "completed", action: { query } },
    },
  })),
);
const call: fc.Arbitrary<OutputPart & { type: "tool-call" }> = fc.oneof(
  fc.record({
    type: constant("tool-call" as const),
    kind: constant("function" as const),
    id: callId,
    name,
    input: fc.json({ maxDepth: 2 }),
  }),
  fc.record({
    type: constant("tool-call" as const),
    kind: constant("custom" as const),
    id: callId,
    name,
    input: someText,
  }),
);

/** The answers that this wire can express. */
export const responsesResponse = (model: string): fc.Arbitrary<GenerateResponse> =>
  fc.record({
    parts: fc.uniqueArray(part, { maxLength: 4, selector: (one) => one.type === "opaque" ? one.extra.fields.id : one }),
    calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
    reason: fc.constantFrom("stop" as const, "length" as const, "content-filter" as const),
    usage,
    extra: unknownFields,
  }).map(({ parts, calls, reason, usage, extra }) => ({
    model,
    content: [...parts, ...calls],
    finish: { reason: reason === "stop" && calls.length > 0 ? "tool-calls" : reason },
    usage,
    ...(Object.keys(extra).length > 0 && { extra: { wire: WIRE, fields: extra } }),
  }));
