import { collect } from "../../src/canonical/collect.ts";
import type { GenerateEvent, GenerateResponse } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { replay } from "../../src/canonical/replay.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { GatewayError } from "../../src/errors.ts";
import { bodyOf } from "./chunks.ts";
import { newContext, newWireRequest } from "./context.ts";
import { answerBytes, type Fixture, isOk, isStream, loadFixtures } from "./fixtures.ts";
import { CLIENT_WIRES, type Wire, WIRES } from "./wires.ts";

/** An upstream's answer as a client gets it, in both modes; of a failure its stream alone. */
export interface EmittedAnswer {
  fixture: string;
  from: string;
  to: string;
  whole?: JsonObject;
  frames: Frame[];
}

/** A client that wants to know the usage of its streams. */
const ASKED = newWireRequest({
  model: "m",
  messages: [{ role: "user", content: "a" }],
  input: "a",
  contents: [{ parts: [{ text: "a" }] }],
  max_tokens: 100,
  stream: true,
  stream_options: { include_usage: true },
});

async function eventsOf(fixture: Fixture, from: Wire): Promise<GenerateEvent[]> {
  if (isStream(fixture)) return await from.readStream(fixture, bodyOf([answerBytes(fixture)]));
  const body = fixture.response.json ?? fixture.response.text ?? "";
  try {
    return [...replay(from.parseResponse(body, from.inputOf(fixture), newContext(from.name)))];
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return [{ type: "error", error }];
  }
}

function wholeOf(events: readonly GenerateEvent[]): GenerateResponse | undefined {
  return events.at(-1)?.type === "finish" ? collect(events) : undefined;
}

/** Every answer of every fixture, in the wire of every client. */
export async function* emittedAnswers(): AsyncGenerator<EmittedAnswer> {
  for (const from of WIRES) {
    for (const fixture of loadFixtures(from.name).filter(isOk)) {
      const events = await eventsOf(fixture, from);
      const answer = wholeOf(events);
      for (const to of CLIENT_WIRES) {
        const input = to.parseRequest(ASKED, newContext(to.name));
        const exchange = () => to.newExchange(input, ASKED);
        yield {
          fixture: fixture.name,
          from: from.name,
          to: to.name,
          ...(answer && { whole: await to.serializeResponse(answer, exchange()) as JsonObject }),
          frames: to.writeFrames(events, exchange()),
        };
      }
    }
  }
}
