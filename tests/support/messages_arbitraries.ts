import fc from "fast-check";
import type { Usage } from "../../src/canonical/usage.ts";
import type { GenerateResponse, OutputPart, ReasoningPart } from "../../src/canonical/generate.ts";
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
import { pairedMessages } from "./paired.ts";

/** Requests, answers and canonical responses as the messages wire can carry them, at random. */

const id = fc.stringMatching(/^toolu_[a-zA-Z0-9]{1,12}$/);
const json = fc.dictionary(name, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }).map(overTheWire);
const strictly = { unknown: false, nulls: false };
const cacheControl = object({ type: fc.constant("ephemeral") }, { ttl: fc.constantFrom("5m", "1h") }, strictly);

// Requests

/** Servers refuse a blank text and a turn of blank texts, whatever else stands there, so no other field does here. */
const isBlank = (said: JsonValue | undefined): boolean =>
  typeof said === "string"
    ? said.trim() === ""
    : Array.isArray(said) && said.every((one) => isBlank((one as JsonObject).text));

const textBlock = object({ type: fc.constant("text"), text }, {
  cache_control: cacheControl,
  citations: fc.constant([]),
}).map((block) => isBlank(block.text) ? { type: "text", text: block.text! } : block);
const fileSource = [
  object({ type: fc.constant("url"), url }, {}, strictly),
  object({ type: fc.constant("file"), file_id: name }, {}, strictly),
];
const bytes = (type: string) =>
  object({ type: fc.constant("base64"), media_type: fc.constant(type), data: base64 }, {}, strictly);
const image = object({
  type: fc.constant("image"),
  source: fc.oneof(bytes("image/png"), bytes("image/webp"), ...fileSource),
}, { cache_control: cacheControl });
const document = object({
  type: fc.constant("document"),
  source: fc.oneof(
    bytes("application/pdf"),
    object({ type: fc.constant("text"), media_type: fc.constant("text/plain"), data: text }, {}, strictly),
    object(
      { type: fc.constant("content"), content: fc.oneof(text, fc.array(textBlock, { maxLength: 2 })) },
      {},
      strictly,
    ),
    ...fileSource,
  ),
}, { title: text, context: text, citations: fc.record({ enabled: fc.boolean() }), cache_control: cacheControl });
const searchResult = object({
  type: fc.constant("search_result"),
  source: url,
  title: text,
  content: fc.array(textBlock, { maxLength: 2 }),
});
const toolReference = object({ type: fc.constant("tool_reference"), tool_name: name });
const unknownBlock = object({ type: fc.constantFrom("container_upload", "compaction", "from_the_future") });

const resultContent = fc.oneof(
  text,
  fc.array(fc.oneof(textBlock, image, document, searchResult, toolReference, unknownBlock), { maxLength: 3 }),
);
const toolResult = object({ type: fc.constant("tool_result"), tool_use_id: id }, {
  content: resultContent,
  is_error: fc.boolean(),
  cache_control: cacheControl,
});
const userBlock = fc.oneof(textBlock, image, document, searchResult, toolResult, unknownBlock);
const thinking = object({
  type: fc.constant("thinking"),
  thinking: text,
  // The vendor's own models, to which a request of this wire may be sent, take back only what is signed.
  signature: base64,
});
const redacted = object({ type: fc.constant("redacted_thinking"), data: base64 });
const toolUse = object({ type: fc.constant("tool_use"), id, name, input: json }, { cache_control: cacheControl });
const serverToolUse = object({ type: fc.constant("server_tool_use"), id, name, input: json });
const serverToolResult = object({
  type: fc.constantFrom("web_search_tool_result", "code_execution_tool_result"),
  tool_use_id: id,
  content: fc.oneof(fc.array(object({ type: fc.constant("web_search_result"), url, title: text })), json),
});
const assistantBlock = fc.oneof(textBlock, thinking, redacted, toolUse, serverToolUse, serverToolResult, unknownBlock);

const message = fc.oneof(
  {
    weight: 3,
    arbitrary: object({ role: fc.constant("user"), content: fc.oneof(text, fc.array(userBlock, { maxLength: 4 })) }),
  },
  {
    weight: 3,
    arbitrary: object({
      role: fc.constant("assistant"),
      content: fc.oneof(text, fc.array(assistantBlock, { maxLength: 4 })),
    }),
  },
  object({ role: fc.constant("system") }, {
    content: fc.oneof(text, fc.array(textBlock, { maxLength: 2 })),
    clear_at: fc.constantFrom("never", "next_user_message"),
  }),
).map((turn) => isBlank(turn.content) ? { role: turn.role!, content: turn.content! } : turn);

const BILLING = "x-anthropic-billing-header: cc_version=2.1.329; cch=";
const billing = fc.tuple(fc.nat(), fc.oneof(fc.constant(""), text.map((more) => `\n${more}`)))
  .map(([count, more]) => `${BILLING}${count};${more}`);
const system = fc.oneof(
  text,
  billing,
  fc.array(textBlock, { maxLength: 3 }),
  fc.tuple(billing, fc.array(textBlock, { maxLength: 2 })).map((
    [line, blocks],
  ) => [{ type: "text", text: line }, ...blocks]),
);

const described = {
  description: text,
  strict: fc.boolean(),
  defer_loading: fc.boolean(),
  cache_control: cacheControl,
  input_examples: fc.array(json, { maxLength: 1 }),
};
const toolNamed = (called: string) =>
  fc.oneof(
    { weight: 3, arbitrary: object({ name: fc.constant(called), input_schema: schema }, described) },
    object({ name: fc.constant(called), type: fc.constant("custom"), input_schema: schema }, described),
    object({
      name: fc.constant(called),
      type: fc.constantFrom("bash_20250124", "text_editor_20250728", "memory_20250818"),
    }, {
      cache_control: cacheControl,
      max_characters: limit,
    }),
    object({ name: fc.constant(called), type: fc.constantFrom("web_search_20250305", "code_execution_20250825") }, {
      max_uses: limit,
    }),
  );
const toolUses = fc.uniqueArray(name, { minLength: 1, maxLength: 3 })
  .chain((names) => fc.tuple(fc.constant(names), ...names.map(toolNamed)))
  .chain(([names, ...tools]) =>
    object({ tools: fc.constant(tools) }, {
      tool_choice: fc.oneof(
        object({ type: fc.constantFrom("auto", "any") }, { disable_parallel_tool_use: fc.boolean() }, {
          unknown: false,
        }),
        fc.constant({ type: "none" }),
        object({ type: fc.constant("tool"), name: fc.constantFrom(...names as string[]) }, {
          disable_parallel_tool_use: fc.boolean(),
        }, { unknown: false }),
      ),
    }, { unknown: false })
  );

const display = { display: fc.constantFrom("summarized", "omitted", "updates") };
const controls = object({}, {
  system,
  max_tokens: fc.nat({ max: 128_000 }),
  temperature: fc.double({ min: 0, max: 1, noNaN: true }),
  top_p: fc.double({ min: 0, max: 1, noNaN: true }),
  top_k: fc.integer({ min: 0, max: 200 }),
  stop_sequences: fc.array(someText, { maxLength: 3 }),
  stream: fc.boolean(),
  thinking: fc.oneof(
    object({ type: fc.constant("enabled"), budget_tokens: limit }, display),
    object({ type: fc.constant("adaptive") }, display),
    object({ type: fc.constant("disabled") }),
    object({ type: fc.constant("between_tools") }),
  ),
  output_config: object({}, {
    effort: fc.constantFrom("low", "medium", "high", "xhigh", "max"),
    format: object({ type: fc.constant("json_schema"), schema }, {}, strictly),
    task_budget: fc.record({ type: fc.constant("tokens"), total: limit }),
  }),
  metadata: fc.record({ user_id: text }),
  service_tier: fc.constantFrom("auto", "standard_only"),
  context_management: fc.record({ edits: fc.array(fc.record({ type: fc.constant("clear_thinking_20251015") })) }),
  mcp_servers: fc.array(object({ type: fc.constant("url"), name, url }), { maxLength: 1 }),
  container: name,
  cache_control: cacheControl,
  safeguards: fc.array(object({ type: fc.constant("dangerous_tool_use") }), { maxLength: 1 }),
});

/** Any request that the gateway serves. */
export const messagesRequest: fc.Arbitrary<JsonObject> = fc.tuple(
  fc.record({ model: name, messages: fc.array(message, { minLength: 1, maxLength: 5 }).map(pairedMessages) }),
  controls,
  fc.oneof(fc.constant({}), toolUses),
  unknownFields,
).map(([required, ...others]) => Object.assign({}, ...others, required));

// Answers

const wireUsage = object({ input_tokens: limit, output_tokens: tokens }, {
  cache_creation_input_tokens: tokens,
  cache_read_input_tokens: tokens,
  cache_creation: fc.record({ ephemeral_5m_input_tokens: tokens, ephemeral_1h_input_tokens: tokens }),
  output_tokens_details: object({}, { thinking_tokens: tokens }),
  server_tool_use: fc.record({ web_search_requests: tokens }),
  service_tier: fc.constantFrom("standard", "batch"),
});
const wireCitation = object(
  { type: fc.constant("web_search_result_location"), url, cited_text: text },
  { title: text },
  {
    nulls: false,
  },
);
const answerBlock = fc.oneof(
  object({ type: fc.constant("text"), text: someText }, {
    citations: fc.array(wireCitation, { minLength: 1, maxLength: 2 }),
  }),
  object({ type: fc.constant("thinking"), thinking: text, signature: base64 }, {}, strictly),
  object({ type: fc.constant("thinking"), thinking: someText, signature: fc.constant("") }, {}, strictly),
  redacted,
  serverToolUse,
  serverToolResult,
);
const answerCall = object({ type: fc.constant("tool_use"), id, name, input: json }, { caller: json });

/** Any whole answer, its calls last. */
export const messagesAnswer: fc.Arbitrary<JsonObject> = fc.tuple(
  object({
    id: name,
    type: fc.constant("message"),
    role: fc.constant("assistant"),
    model: name,
    usage: wireUsage,
  }, { container: json, context_management: json, diagnostics: json }),
  fc.array(answerBlock, { maxLength: 4 }),
  fc.uniqueArray(answerCall, { maxLength: 2, selector: ({ id }) => id }),
  fc.oneof(
    fc.constantFrom("end_turn", "max_tokens", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded")
      .map((stop_reason) => ({ stop_reason, stop_sequence: null })),
    someText.map((stop_sequence) => ({ stop_reason: "stop_sequence", stop_sequence })),
  ),
).map(([rest, blocks, calls, stop]) => ({ ...rest, content: [...blocks, ...calls], ...stop }));

// Canonical responses

const usage: fc.Arbitrary<Usage> = fc.record({
  output: tokens,
  fresh: limit,
  cached: tokens,
  written: tokens,
  reasoning: fc.option(tokens, { nil: undefined }),
}).map(({ output, fresh, cached, written, reasoning }) => ({
  inputTokens: fresh + cached + written,
  outputTokens: output,
  cachedInputTokens: cached,
  cacheWriteTokens: written,
  ...(reasoning !== undefined && { reasoningTokens: reasoning }),
}));

const WIRE = "messages";
const opaque = base64.map((data) => ({ origin: WIRE, data }));
const part: fc.Arbitrary<OutputPart> = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text: someText }),
  fc.record<ReasoningPart>({ type: fc.constant("reasoning" as const), text: someText, opaque }, {
    requiredKeys: ["type", "text"],
  }),
  // Thoughts that are withheld, and those that only their vendor can read.
  opaque.map((opaque): ReasoningPart => ({ type: "reasoning", text: "", opaque })),
  opaque.map((opaque): ReasoningPart => ({
    type: "reasoning",
    text: "",
    opaque,
    extra: { wire: WIRE, fields: {}, hints: { type: "redacted_thinking" } },
  })),
  serverToolUse.map((fields): OutputPart => ({
    type: "opaque",
    standIn: `[Called ${fields.name} with ${JSON.stringify(fields.input)}]`,
    extra: { wire: WIRE, fields: { ...fields, type: "server_tool_use" } },
  })),
);
const call = fc.record({
  type: fc.constant("tool-call" as const),
  kind: fc.constant("function" as const),
  id,
  name,
  input: json.map((value) => JSON.stringify(value)),
});
/** Two texts in a row are told apart by their blocks; an answer without a part gets an empty text. */
const parts: fc.Arbitrary<OutputPart[]> = fc.tuple(
  fc.array(part, { maxLength: 4 }),
  fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
).map(([before, calls]) => [...before, ...calls]);

/** The answers that this wire can express. */
export const messagesResponse = (model: string): fc.Arbitrary<GenerateResponse> =>
  fc.record({
    content: parts,
    finish: fc.constantFrom<GenerateResponse["finish"]>(
      { reason: "stop" },
      { reason: "stop", stopSequence: "STOP" },
      { reason: "length" },
      { reason: "length", raw: "model_context_window_exceeded" },
      { reason: "content-filter" },
    ),
    usage,
    extra: unknownFields as fc.Arbitrary<Record<string, JsonValue>>,
  }).map(({ content, finish, usage, extra }) => ({
    model,
    content,
    finish: finish.reason === "stop" && content.some(({ type }) => type === "tool-call")
      ? { reason: "tool-calls" }
      : finish,
    usage,
    ...(Object.keys(extra).length > 0 && { extra: { wire: WIRE, fields: extra } }),
  }));
