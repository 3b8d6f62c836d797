import { assertEquals } from "@std/assert";
import { refusesForm } from "../../plugins/errors.ts";

/** What servers answered to a form that they do not know, or not for that model, as their users report it. */
const REFUSALS = [
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

/** What is about something else, or about the schema that the client wrote. */
const OTHERS = [
  { error: { message: "Invalid schema for response_format 'answer': 'oneOf' is not permitted" } },
  { error: { message: "response_format.json_schema.name: string too long" } },
  { error: { message: "This model does not support images" } },
  { error: { message: "output_config.format.schema: 'additionalProperties' must be explicitly set to false" } },
  new Uint8Array(),
];

Deno.test("refusals: a form that a server does not know is told from all else that it refuses", () => {
  for (const body of REFUSALS) assertEquals([refusesForm(body), body], [true, body]);
  for (const body of OTHERS) assertEquals([refusesForm(body), body], [false, body]);
});
