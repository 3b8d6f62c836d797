import { assertArrayIncludes, assertEquals } from "@std/assert";
import { chatAnswer, chatRequest } from "../support/chat_arbitraries.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { law } from "../support/law.ts";
import { normalAnswer, normalRequest } from "../support/normal_form.ts";
import { CHAT, TARGET } from "../support/wires.ts";

const copy = (value: unknown) => JSON.parse(JSON.stringify(value));

law("chat: a request comes out as it went in, unknown fields with it", chatRequest, (body) => {
  const context = newContext();
  const sent = CHAT.serializeRequest(CHAT.parseRequest(newWireRequest(body), context), context);
  assertEquals(copy(normalRequest(copy(sent))), copy(normalRequest({ ...body, model: TARGET.model })));
  assertEquals(context.notes, []);
});

law("chat: an upstream gets the spelling that every server knows", chatRequest, (body) => {
  const sent = copy(CHAT.serializeRequest(CHAT.parseRequest(newWireRequest(body), newContext()), newContext()));
  assertEquals(sent.stream_options?.include_usage, body.stream === true ? true : undefined);
  for (const field of ["max_completion_tokens", "functions", "function_call"]) assertEquals(sent[field], undefined);
  assertEquals(Object.values(sent).includes(null), false);
  for (const { type, function: described } of sent.tools ?? []) {
    assertEquals([type, typeof described], ["function", "object"]);
  }
  for (const { role, content: _, ...rest } of sent.messages) {
    assertArrayIncludes(["system", "user", "assistant", "tool"], [role]);
    assertEquals(Object.values(rest).includes(null), false);
    for (const call of rest.tool_calls ?? []) {
      assertEquals([call.type, typeof call.function.arguments], ["function", "string"]);
    }
  }
});

law("chat: an answer comes out as it went in, unknown fields with it", chatAnswer, async (body) => {
  const wire = newWireRequest({ model: "m", messages: [{ role: "user", content: "a" }] });
  const input = CHAT.parseRequest(wire, newContext());
  const exchange = CHAT.newExchange(input, wire);
  const told = await CHAT.serializeResponse(CHAT.parseResponse(body, input, exchange), exchange);
  assertEquals(copy(normalAnswer(copy(told))), copy(normalAnswer(body)));
  assertEquals(exchange.notes, []);
});
