import { assert, assertEquals } from "@std/assert";
import { type ErrorCode, GatewayError, STATUS_OF } from "../../src/errors.ts";
import { formatFrame } from "../../src/http/sse.ts";
import { fromArray, toArray } from "../support/chunks.ts";
import { newWireRequest } from "../support/context.ts";
import { CHAT, WIRES } from "../support/wires.ts";

const CODES = Object.keys(STATUS_OF) as ErrorCode[];
const details = { param: "messages[0]", retryAfter: "7", allow: ["POST"], retryable: false };

for (const wire of WIRES) {
  Deno.test(`${wire.name}: every error has its status, its headers and its message`, async () => {
    for (const code of CODES) {
      const response = wire.serializeError(new GatewayError(code, "It went wrong", details));
      assertEquals(response.status, STATUS_OF[code]);
      assertEquals(response.headers.get("retry-after"), "7");
      assertEquals(response.headers.get("allow"), "POST");
      assertEquals(response.headers.get("x-should-retry"), "false");
      assertEquals(response.headers.get("content-type"), "application/json");
      assert((await response.text()).includes("It went wrong"));
    }
  });

  Deno.test(`${wire.name}: every error ends a stream with its mark, and once`, async () => {
    for (const code of CODES) {
      const error = new GatewayError(code, "It went wrong");
      const exchange = wire.newExchange({ model: "m", messages: [], stream: true }, newWireRequest({}));
      const events = fromArray([{ type: "error", error } as const]);
      const text = (await toArray(wire.serializeStream(events, exchange))).map(formatFrame).join("");
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
