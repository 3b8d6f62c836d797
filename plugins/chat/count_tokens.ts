/** How servers of this wire count what a request would be to their model. */
import type { GenerateRequest } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { reportedCount } from "../../src/canonical/usage.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Counter } from "../../src/contract/quirks.ts";
import type { Call } from "../../src/contract/call.ts";
import type { Target, UpstreamOperation } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { serializeRequest } from "./serialize_request.ts";

/** The request to each counter, and the count in its reply. Some counters are at the server's root, above the paths of the wire. */
const COUNTERS: Partial<Record<Counter, { request(body: JsonObject): Call; count(reply: JsonObject): unknown }>> = {
  // llama.cpp
  input_tokens: {
    request: (body) => ({ path: "chat/completions/input_tokens", body }),
    count: (reply) => reply.input_tokens,
  },
  // vLLM
  tokenize: {
    request: ({ model, messages, tools, chat_template_kwargs }) => ({
      path: "../tokenize",
      body: { model, messages, tools, chat_template_kwargs, add_generation_prompt: true },
    }),
    count: (reply) => reply.count,
  },
  // TGI
  chat_tokenize: {
    request: (body) => ({ path: "../chat_tokenize", body }),
    count: ({ tokenize_response: tokens }) => Array.isArray(tokens) ? tokens.length : undefined,
  },
};

export const counters = Object.keys(COUNTERS) as Counter[];

export const countOperation: UpstreamOperation<"countTokens"> = {
  request: (input, target, context) => counterOf(target).request(serializeCounted(input, target, context)),
  response: ([reply], _input, target) => {
    const body = reply?.body;
    return reportedCount(isJsonObject(body) ? counterOf(target).count(body as JsonObject) : undefined);
  },
};

function counterOf({ counter, upstream }: Target) {
  const known = counter && COUNTERS[counter];
  if (!known) throw new GatewayError("unsupported", `Upstream "${upstream}" counts no tokens`);
  return known;
}

/** The request as a model would read it; how long its answer may be is no part of it. */
function serializeCounted(input: GenerateRequest, target: Target, context: Context): JsonObject {
  return serializeRequest({ ...input, stream: false, maxOutputTokens: undefined }, target, context);
}
