import { assertEquals } from "@std/assert";
import { chatProtocols } from "../../plugins/chat/mod.ts";
import { responsesProtocols } from "../../plugins/responses/mod.ts";
import type { Protocol } from "../../src/contract/protocol.ts";
import { forgetConversation } from "../../src/inference/incoming.ts";
import { newContext, newExchange, newWireRequest } from "../support/context.ts";

const BODIES = {
  chat: { model: "m", stream: true, messages: [{ role: "user", content: "Hello" }], metadata: { a: "b" } },
  responses: { model: "m", stream: true, input: "Hello", instructions: "Be brief", metadata: { a: "b" } },
};

for (const protocol of [chatProtocols, responsesProtocols].map((all) => all[0] as Protocol<"generate">)) {
  Deno.test(`forgotten: once a ${protocol.name} answer begins, of the conversation nothing is kept, and all else is`, () => {
    const wire = newWireRequest(BODIES[protocol.name as keyof typeof BODIES]);
    const input = protocol.parse(wire, newContext(protocol.wire));
    const exchange = newExchange(protocol.wire, input, wire);
    forgetConversation(exchange, protocol);
    assertEquals(exchange.input, { ...input, messages: [] });
    assertEquals(JSON.stringify(exchange.wire.body).includes("Hello"), false);
    const { [protocol.conversation!]: _, ...rest } = wire.body as Record<string, unknown>;
    assertEquals(JSON.parse(JSON.stringify(exchange.wire.body)), rest);
    // What was asked is the caller's own, who may ask another target yet.
    assertEquals([input.messages.length > 0, JSON.stringify(wire.body).includes("Hello")], [true, true]);
  });
}
