/** How servers of this wire count what a request would be to their model. */
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { reportedCount } from "../../src/canonical/usage.ts";
import type { UpstreamOperation } from "../../src/contract/driver.ts";
import { serializeRequest } from "./serialize_request.ts";

/** The fields that a model reads. */
const COUNTED = ["model", "instructions", "input", "tools", "tool_choice", "reasoning", "text"];

export const countOperation: UpstreamOperation<"countTokens"> = {
  request(input, target, context) {
    const body = serializeRequest({ ...input, stream: false }, target, context);
    return {
      path: "responses/input_tokens",
      body: Object.fromEntries(COUNTED.map((field): [string, JsonObject[string]] => [field, body[field]])),
    };
  },
  response: ([reply]) => reportedCount(isJsonObject(reply?.body) ? (reply.body as JsonObject).input_tokens : undefined),
};
