import { replay } from "../../src/canonical/replay.ts";
import { GatewayError } from "../../src/errors.ts";
import { readFrames } from "../../src/upstream/frames.ts";
import { bodyOf, boundariesOf, fromArray, toArray } from "../support/chunks.ts";
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

async function assertGrammar(events: () => AsyncIterable<GenerateEvent>): Promise<void> {
  for (const asked of ASKED) {
    const input = RESPONSES.parseRequest(asked, newContext(RESPONSES.name));
    const exchange = RESPONSES.newExchange(input, asked);
    assertResponsesStream(await toArray(RESPONSES.serializeStream(events(), exchange)));
  }
}

for (const { wire, response } of LAW_INPUTS) {
  law(
    `responses: any answer that ${wire.name} can tell is streamed in the wire's grammar`,
    response("m"),
    (answer) => assertGrammar(() => fromArray(replay(answer))),
  );
}

for (const wire of WIRES) {
  for (const fixture of loadFixtures(wire.name).filter(isOk)) {
    Deno.test(`${wire.name} to responses: ${fixture.name} is streamed in the wire's grammar, wherever it is cut`, async () => {
      if (!isStream(fixture)) {
        const body = fixture.response.json ?? fixture.response.text ?? "";
        try {
          const answer = wire.parseResponse(body, wire.inputOf(fixture), newContext(wire.name));
          await assertGrammar(() => fromArray(replay(answer)));
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error;
        }
        return;
      }
      const bytes = answerBytes(fixture);
      for (const length of boundariesOf(bytes)) {
        await assertGrammar(() => {
          const frames = readFrames(bodyOf([bytes.subarray(0, length)]));
          return wire.parseStream(frames, wire.inputOf(fixture), newContext(wire.name));
        });
      }
    });
  }
}
