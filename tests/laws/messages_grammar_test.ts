import { replay } from "../../src/canonical/replay.ts";
import { bodyOf, boundariesOf } from "../support/chunks.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { answerBytes, isOk, isStream, loadFixtures } from "../support/fixtures.ts";
import { law } from "../support/law.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";
import { assertMessagesStream } from "../support/messages_grammar.ts";
import { MESSAGES, WIRES } from "../support/wires.ts";

const asked = newWireRequest({ model: "m", messages: [{ role: "user", content: "a" }], max_tokens: 9, stream: true });
const input = MESSAGES.parseRequest(asked, newContext(MESSAGES.name));

for (const { wire, response } of LAW_INPUTS) {
  law(
    `messages: any answer that ${wire.name} can tell is streamed in the wire's grammar`,
    response("m"),
    (answer) => {
      const exchange = MESSAGES.newExchange(input, asked);
      assertMessagesStream(MESSAGES.writeFrames(replay(answer), exchange));
    },
  );
}

for (const wire of WIRES) {
  for (const fixture of loadFixtures(wire.name).filter(isOk)) {
    Deno.test(`${wire.name} to messages: ${fixture.name} is streamed in the wire's grammar, wherever it is cut`, async () => {
      const exchange = MESSAGES.newExchange(input, asked);
      if (!isStream(fixture)) {
        const body = fixture.response.json ?? fixture.response.text ?? "";
        try {
          const answer = wire.parseResponse(body, wire.inputOf(fixture), newContext(wire.name));
          assertMessagesStream(MESSAGES.writeFrames(replay(answer), exchange));
        } catch (error) {
          if (!(error instanceof Error && error.name === "GatewayError")) throw error;
        }
        return;
      }
      const bytes = answerBytes(fixture);
      for (const length of boundariesOf(bytes)) {
        const events = await wire.readStream(fixture, bodyOf([bytes.subarray(0, length)]));
        assertMessagesStream(MESSAGES.writeFrames(events, exchange));
      }
    });
  }
}
