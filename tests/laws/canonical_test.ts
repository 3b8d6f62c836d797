/** Conversations that no one wire brings about: what a wire can tell of one comes back, and a note says what it cannot. */
import { assert, assertEquals } from "@std/assert";
import { collect } from "../../src/canonical/collect.ts";
import { replay } from "../../src/canonical/replay.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { canonicalRequest, canonicalResponse, NO_WIRE } from "../support/canonical_arbitraries.ts";
import { answerFacts, requestFacts, RULES } from "../support/canonical_normal_form.ts";
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

  law(
    `${wire.name}: any answer is told as far as the wire can tell it, whole and streamed`,
    canonicalResponse,
    async (response) => {
      const asked = newWireRequest({
        model: "m",
        max_tokens: 9,
        messages: ASKED,
        input: "a",
        stream_options: { include_usage: true },
      });
      const input = wire.parseRequest(asked, newContext(wire.name));
      const { facts, losses } = answerFacts(response, rules);
      const exchanges = [wire.newExchange(input, asked), wire.newExchange(input, asked)] as const;
      const whole = await wire.serializeResponse(response, exchanges[0]);
      assertEquals(answerFacts(wire.parseResponse(whole, input, newContext(wire.name)), rules).facts, facts, "whole");
      const frames = wire.writeFrames(replay(response), exchanges[1]);
      const streamed = collect(wire.readEvents(frames, input, newContext(wire.name)));
      assertEquals(answerFacts(streamed, rules).facts, facts, "streamed");
      for (const { notes } of exchanges) {
        for (const loss of losses) assert(notes.some((note) => loss.test(note)), `${loss} is in ${notes.join("; ")}`);
      }
    },
  );
}

const ASKED = [{ role: "user", content: "a" }];
