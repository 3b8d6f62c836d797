/** How servers of this wire count what a request would be to their model. */
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { reportedCount } from "../../src/canonical/usage.ts";
import type { UpstreamOperation } from "../../src/contract/driver.ts";
import { serializeHeaders, serializeRequest } from "./serialize_request.ts";

/** The fields that a model reads. Any other is an error at this endpoint. */
const COUNTED = ["model", "system", "messages", "tools", "tool_choice", "thinking", "output_config"];

export const countOperation: UpstreamOperation<"countTokens"> = {
  request(input, target, context) {
    const body = serializeRequest({ ...input, stream: false }, target, context);
    const counted: JsonObject = Object.fromEntries(COUNTED.map((field) => [field, body[field]]));
    return { path: "messages/count_tokens", headers: serializeHeaders(input), body: counted };
  },
  response: ([reply]) => reportedCount(isJsonObject(reply?.body) ? (reply.body as JsonObject).input_tokens : undefined),
};
