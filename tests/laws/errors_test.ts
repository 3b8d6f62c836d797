import { assert, assertEquals } from "@std/assert";
import { type ErrorCode, GatewayError, STATUS_OF } from "../../src/errors.ts";
import { newWireRequest } from "../support/context.ts";
import { CHAT, CLIENT_WIRES, MESSAGES } from "../support/wires.ts";

const CODES = Object.keys(STATUS_OF) as ErrorCode[];
const details = { param: "messages[0]", retryAfter: "7", allow: ["POST"], retryable: true };

/** Statuses that only one wire has: for it, an overload that waiting mends. */
const OWN_STATUSES: Record<string, Partial<Record<ErrorCode, number>>> = { messages: { unavailable: 529 } };

for (const wire of CLIENT_WIRES) {
  Deno.test(`${wire.name}: every error has its status, its headers and its message`, async () => {
    for (const code of CODES) {
      const response = wire.serializeError(new GatewayError(code, "It went wrong", details));
      assertEquals(response.status, OWN_STATUSES[wire.name]?.[code] ?? STATUS_OF[code]);
      assertEquals(response.headers.get("retry-after"), "7");
      assertEquals(response.headers.get("allow"), "POST");
      assertEquals(response.headers.get("x-should-retry"), "true");
      assertEquals(response.headers.get("content-type"), "application/json");
      assert((await response.text()).includes("It went wrong"));
    }
  });

  Deno.test(`${wire.name}: every error ends a stream with its mark, and once`, () => {
    for (const code of CODES) {
      const error = new GatewayError(code, "It went wrong");
      const exchange = wire.newExchange({ model: "m", messages: [], stream: true }, newWireRequest({}));
      const text = wire.writeText([{ type: "error", error }], exchange);
      assertEquals(text.split(wire.marks.error).length, 2);
      assertEquals(text.split(wire.marks.done).length, 1);
    }
  });
}

Deno.test("chat: an error has the four keys of the published schema", async () => {
  for (const code of CODES) {
    for (const given of [{}, details]) {
      const { error, ...rest } = await CHAT.serializeError(new GatewayError(code, "It went wrong", given)).json();
      assertEquals(rest, {});
      assertEquals(Object.keys(error).sort(), ["code", "message", "param", "type"]);
      assertEquals(error.message, "It went wrong");
      assertEquals(error.param, given === details ? "messages[0]" : null);
      assert(typeof error.type === "string" && error.type !== "");
      assert(error.code === null || typeof error.code === "string");
    }
  }
});

Deno.test("chat: clients can act on the code of an error that they know", async () => {
  const codeOf = async (code: ErrorCode) => (await CHAT.serializeError(new GatewayError(code, "")).json()).error.code;
  assertEquals(await codeOf("context_length_exceeded"), "context_length_exceeded");
  assertEquals(await codeOf("model_not_found"), "model_not_found");
  assertEquals(await codeOf("model_task_mismatch"), "model_task_mismatch");
  assertEquals(await codeOf("billing"), "insufficient_quota");
  assertEquals(await codeOf("authentication"), "invalid_api_key");
});

/** What the wire's documentation calls an error of each status; an unlisted status is named as the one nearest to it. */
const TYPES: Record<number, string> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  405: "invalid_request_error",
  408: "invalid_request_error",
  413: "request_too_large",
  415: "invalid_request_error",
  422: "invalid_request_error",
  426: "invalid_request_error",
  429: "rate_limit_error",
  431: "request_too_large",
  499: "invalid_request_error",
  500: "api_error",
  501: "not_supported",
  502: "api_error",
  503: "api_error",
  504: "timeout_error",
  529: "overloaded_error",
};

Deno.test("messages: an error has the documented shape, its type by its status, and its id in body and header", async () => {
  for (const code of CODES) {
    for (const given of [{}, details]) {
      const response = MESSAGES.serializeError(new GatewayError(code, "It went wrong", given));
      const { type, error, request_id, ...rest } = await response.json();
      assertEquals([type, request_id, rest], ["error", "request-1", {}]);
      assertEquals(response.headers.get("request-id"), "request-1");
      assertEquals(error.type, TYPES[response.status]);
      assertEquals(
        Object.keys(error).sort(),
        code === "model_task_mismatch" || code === "budget_exceeded"
          ? ["details", "message", "type"]
          : ["message", "type"],
      );
    }
  }
});

Deno.test("messages: what waiting does not mend is no overload", async () => {
  const response = MESSAGES.serializeError(new GatewayError("unavailable", "No secret", { retryable: false }));
  assertEquals([response.status, response.headers.get("x-should-retry")], [503, "false"]);
  assertEquals((await response.json()).error.type, "api_error");
});

Deno.test("messages: a model of another task is a 422 that says so in the details", async () => {
  const response = MESSAGES.serializeError(new GatewayError("model_task_mismatch", "No chat model"));
  assertEquals(response.status, 422);
  assertEquals((await response.json()).error, {
    type: "invalid_request_error",
    message: "No chat model",
    details: { error_code: "model_task_mismatch" },
  });
});

Deno.test("messages: an error in a stream is an event of that name, in the same shape", async () => {
  for (const code of CODES) {
    const exchange = MESSAGES.newExchange({ model: "m", messages: [], stream: true }, newWireRequest({}));
    const failure = new GatewayError(code, "It went wrong");
    const [frame] = MESSAGES.writeFrames([{ type: "error", error: failure }], exchange);
    const { error } = await MESSAGES.serializeError(failure).json();
    assertEquals(frame?.event, "error");
    assertEquals(JSON.parse(frame!.data!), { type: "error", error });
  }
});

/** What servers say of a conversation that does not fit, and what agents then read: the words on which they compact. */
const OVERFLOWS: [said: string, expected: string][] = [
  [
    "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length",
    "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length",
  ],
  ["prompt is too long: 210000 tokens > 200000 maximum", "prompt is too long: 210000 tokens > 200000 maximum"],
  [
    "This model's maximum context length is 8192 tokens. However, your request has 9001 input tokens.",
    "prompt is too long: 9001 tokens > 8192 maximum",
  ],
  [
    "request (5214 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "prompt is too long: 5214 tokens > 4096 maximum",
  ],
  [
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (7976 in the messages, 1024 in the completion).",
    "prompt is too long: 9000 tokens > 8192 maximum",
  ],
  [
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 512 `max_new_tokens`",
    "input length and `max_tokens` exceed context limit: 4000 + 512 > 4096",
  ],
  [
    "'max_tokens' or 'max_completion_tokens' is too large: 40000. This model's maximum context length is 32768 tokens and your request has 12 input tokens (40000 > 32768 - 12).",
    "input length and `max_tokens` exceed context limit: 12 + 40000 > 32768",
  ],
  [
    "The input is longer than the model's context length",
    "prompt is too long: The input is longer than the model's context length",
  ],
];

Deno.test("messages: a conversation that does not fit is told in the words on which agents compact", async () => {
  for (const [said, expected] of OVERFLOWS) {
    const { error } = await MESSAGES.serializeError(new GatewayError("context_length_exceeded", said)).json();
    assertEquals(error, { type: "invalid_request_error", message: expected });
  }
});
