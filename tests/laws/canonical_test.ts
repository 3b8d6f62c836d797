/** Conversations that no one wire brings about: what a wire can tell of one comes back, and a note says what it cannot. */
import { assertEquals } from "@std/assert";
import { newContext, newWireRequest } from "../support/context.ts";
import { canonicalRequest, NO_WIRE } from "../support/canonical_arbitraries.ts";
import { requestFacts, RULES } from "../support/canonical_normal_form.ts";
import { law } from "../support/law.ts";
import { WIRES } from "../support/wires.ts";

const copy = (value: unknown) => JSON.parse(JSON.stringify(value));

for (const wire of WIRES) {
  const rules = RULES[wire.name]!;
  law(`${wire.name}: any conversation is told as far as the wire can tell it`, canonicalRequest, (request) => {
    const context = newContext(NO_WIRE);
    const sent = copy(wire.serializeRequest(structuredClone(request), context));
    const back = wire.parseRequest(newWireRequest(sent), newContext(wire.name));
    const { facts, losses } = requestFacts(request, rules);
    const read = requestFacts({ ...back, model: request.model }, rules);
    assertEquals(copy(read.facts), copy(facts));
    for (const loss of losses) {
      assertEquals(context.notes.filter((note) => loss.test(note)).length > 0, true, `${loss}`);
    }
  });
}
