import { replay } from "../../src/canonical/replay.ts";
import { GatewayError } from "../../src/errors.ts";
import { bodyOf, boundariesOf } from "../support/chunks.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { answerBytes, isOk, isStream, loadFixtures } from "../support/fixtures.ts";
import { law } from "../support/law.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";
import { assertResponsesStream } from "../support/responses_grammar.ts";
import type { GenerateEvent } from "../../src/canonical/generate.ts";
import { RESPONSES, WIRES } from "../support/wires.ts";

/** Clients that ask for a summary of the thoughts are told them as one. */
const ASKED = [undefined, { summary: "auto" }].map((reasoning) =>
  newWireRequest({ model: "m", input: "a", stream: true, reasoning })
);

function assertGrammar(events: readonly GenerateEvent[]): void {
  for (const asked of ASKED) {
    const input = RESPONSES.parseRequest(asked, newContext(RESPONSES.name));
    const exchange = RESPONSES.newExchange(input, asked);
    assertResponsesStream(RESPONSES.writeFrames(events, exchange));
  }
}

for (const { wire, response } of LAW_INPUTS) {
  law(
    `responses: any answer that ${wire.name} can tell is streamed in the wire's grammar`,
    response("m"),
    (answer) => assertGrammar([...replay(answer)]),
  );
}

for (const wire of WIRES) {
  for (const fixture of loadFixtures(wire.name).filter(isOk)) {
    Deno.test(`${wire.name} to responses: ${fixture.name} is streamed in the wire's grammar, wherever it is cut`, async () => {
      if (!isStream(fixture)) {
        const body = fixture.response.json ?? fixture.response.text ?? "";
        try {
          const answer = wire.parseResponse(body, wire.inputOf(fixture), newContext(wire.name));
          assertGrammar([...replay(answer)]);
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error;
        }
        return;
      }
      const bytes = answerBytes(fixture);
      for (const length of boundariesOf(bytes)) {
        assertGrammar(await wire.readStream(fixture, bodyOf([bytes.subarray(0, length)])));
      }
    });
  }
}
