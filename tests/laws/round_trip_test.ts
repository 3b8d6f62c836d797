import { assertEquals } from "@std/assert";
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

law("chat: an answer comes out as it went in, unknown fields with it", chatAnswer, async (body) => {
  const wire = newWireRequest({ model: "m", messages: [{ role: "user", content: "a" }] });
  const input = CHAT.parseRequest(wire, newContext());
  const exchange = CHAT.newExchange(input, wire);
  const told = await CHAT.serializeResponse(CHAT.parseResponse(body, input, exchange), exchange);
  assertEquals(copy(normalAnswer(copy(told))), copy(normalAnswer(body)));
  assertEquals(exchange.notes, []);
});
