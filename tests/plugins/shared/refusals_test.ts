import { assertEquals } from "@std/assert";
import { refusedParameters, refusesForm } from "../../../plugins/shared/refusals.ts";

const openAi = (message: string, more: object = {}) => ({ error: { message, type: "invalid_request_error", ...more } });

/** Answers that servers were seen to give, each with the tuning parameters that it is about. */
const SAID: [said: unknown, fields: string[]][] = [
  [
    openAi(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      {
        param: "max_tokens",
        code: "unsupported_parameter",
      },
    ),
    ["max_tokens"],
  ],
  [
    openAi(
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
      {
        param: "temperature",
        code: "unsupported_value",
      },
    ),
    ["temperature"],
  ],
  [openAi("Unknown parameter: 'verbosity'."), ["verbosity"]],
  [openAi("Unrecognized request argument supplied: parallel_tool_calls"), ["parallel_tool_calls"]],
  [openAi("property 'stream_options' is unsupported"), ["stream_options"]],
  [{ detail: [{ type: "extra_forbidden", loc: ["body", "seed"], msg: "Extra inputs are not permitted" }] }, ["seed"]],
  [
    openAi("[{'type': 'extra_forbidden', 'loc': ('body', 'verbosity'), 'msg': 'Extra inputs are not permitted'}]"),
    ["verbosity"],
  ],
  [openAi("Extra inputs are not permitted, field: 'prompt_cache_key', value: 'abc'"), ["prompt_cache_key"]],
  [openAi("context_management: Extra inputs are not permitted"), ["context_management"]],
  [{ error: 'json: unknown field "metadata"' }, ["metadata"]],
  [{ error: "unknown field `top_k`, expected one of `model`, `messages`, `seed`, `stop`" }, ["top_k"]],
  [openAi('Invalid JSON payload received. Unknown name "seed": Cannot find field.'), ["seed"]],
  [openAi("The following fields are wrong: body.parallel_tool_calls is not supported"), ["parallel_tool_calls"]],
  ["stop is not supported by this model", ["stop"]],
];

for (const [said, fields] of SAID) {
  const text = typeof said === "string" ? said : JSON.stringify(said);
  Deno.test(`a refusal names ${fields}: ${text}`, () => assertEquals(refusedParameters(said), fields));
}

/** Answers about something else: leaving a parameter out would not help, or would change what is answered. */
const OTHER: unknown[] = [
  openAi("max_tokens is too large: 99999. This model supports at most 4096 completion tokens", { param: "max_tokens" }),
  openAi("Unsupported parameter: 'max_tokens'", { param: "max_tokens", code: "unsupported_parameter" }),
  openAi("Unsupported parameter: 'tools' is not supported with this model.", {
    param: "tools",
    code: "unsupported_parameter",
  }),
  openAi("response_format is not supported"),
  openAi("metadata.user_id: Extra inputs are not permitted"),
  openAi("messages.1.metadata: Extra inputs are not permitted"),
  openAi("Unknown parameter: 'messages[0].seed'."),
  openAi("Unknown parameter: 'metadata.trace'."),
  { detail: [{ type: "extra_forbidden", loc: ["body", "tools", 0, "seed"], msg: "Extra inputs are not permitted" }] },
  { detail: [{ type: "less_than_equal", loc: ["body", "temperature"], msg: "Input should be less than 2" }] },
  openAi("temperature must be between 0 and 2", { param: "temperature", code: "invalid_value" }),
  "The user is not allowed to use this model",
  "unknown user",
];

for (const said of OTHER) {
  const text = typeof said === "string" ? said : JSON.stringify(said);
  Deno.test(`a refusal names no knob: ${text}`, () => assertEquals(refusedParameters(said), []));
}

/** Answers of servers to a form that they do not know, or not for that model, as their users report them. */
const FORM_REFUSALS = [
  { error: { message: "This response_format type is unavailable now", type: "invalid_request_error" } },
  { error: { message: "This model does not support response format `json_schema`" } },
  { error: { message: "response_format json_object is not supported for this model" } },
  { detail: "Unsupported parameter: response_format" },
  { error: { message: "json mode cannot be combined with tool/function calling" } },
  { error: { message: "capability_rejected: structured_outputs_unsupported" } },
  { error: { message: "output_config.format: Extra inputs are not permitted" } },
  { detail: [{ loc: ["body", "response_format"], msg: "Extra inputs are not permitted" }] },
  {
    error: {
      message: "Provider returned error",
      metadata: { raw: '{"error":{"message":"Structured outputs are not available for this model"}}' },
    },
  },
  "You cannot specify response format and function call at the same time",
];

/** Answers about something else, or about the schema that the client wrote. */
const OTHER_REFUSALS = [
  { error: { message: "Invalid schema for response_format 'answer': 'oneOf' is not permitted" } },
  { error: { message: "response_format.json_schema.name: string too long" } },
  { error: { message: "This model does not support images" } },
  { error: { message: "output_config.format.schema: 'additionalProperties' must be explicitly set to false" } },
  new Uint8Array(),
];

Deno.test("refusals: a form that a server does not know is told from all else that it refuses", () => {
  for (const body of FORM_REFUSALS) assertEquals([refusesForm(body), body], [true, body]);
  for (const body of OTHER_REFUSALS) assertEquals([refusesForm(body), body], [false, body]);
});
