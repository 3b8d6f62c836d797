import { assert, assertEquals } from "@std/assert";
import { collect } from "../../src/canonical/collect.ts";
import type { GenerateResponse, OpaquePart, OutputPart } from "../../src/canonical/generate.ts";
import { isJsonText } from "../../src/canonical/json.ts";
import { replay } from "../../src/canonical/replay.ts";
import { GatewayError } from "../../src/errors.ts";
import { formatFrame } from "../../src/http/framing.ts";
import { readFrames } from "../support/sources.ts";
import { bodyOf, toArray } from "../support/chunks.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { answerBytes, isOk, isStream, loadFixtures } from "../support/fixtures.ts";
import { law } from "../support/law.ts";
import { assertWellFormed } from "../../src/programs/testing/well_formed.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";
import { WIRES } from "../support/wires.ts";

const asked = newWireRequest({
  model: "m",
  messages: [{ role: "user", content: "a" }],
  input: "a",
  max_tokens: 100,
  stream: true,
  stream_options: { include_usage: true },
});

for (const { wire, response: responses } of LAW_INPUTS) {
  law(`${wire.name}: an answer streamed and an answer whole tell the same`, responses("m"), async (response) => {
    const input = wire.parseRequest(asked, newContext(wire.name));
    const exchange = wire.newExchange(input, asked);
    const frames = wire.writeFrames(replay(response), exchange);
    const bytes = new TextEncoder().encode(frames.map(formatFrame).join(""));
    const events = wire.readEvents(await toArray(readFrames(bodyOf([bytes]))), input, newContext(wire.name));
    assertWellFormed(events);
    assertEquals(withoutStatus(collect(events)), response);

    const whole = await wire.serializeResponse(response, exchange);
    assertEquals(withoutStatus(wire.parseResponse(whole, input, newContext(wire.name))), response);
  });
}

/** That the last item was cut off is told twice on the responses wire: by its status, and by the ending. */
function withoutStatus(response: GenerateResponse): GenerateResponse {
  const last = response.content.at(-1);
  const status = last?.extra?.fields["message.status"] ?? last?.extra?.fields.status;
  if (!last || status !== "incomplete" || response.finish.reason === "stop") return response;
  const { extra: _, ...rest } = last as Exclude<OutputPart, OpaquePart>;
  return { ...response, content: [...response.content.slice(0, -1), rest] };
}

/** What an answer says, apart from the order of its kinds of parts, which a whole answer of this wire does not tell. */
function meaningOf({ content, finish, usage, extra }: GenerateResponse): unknown {
  const { estimated: _, ...counted } = usage;
  const textOf = (type: "text" | "reasoning" | "refusal") =>
    content.flatMap((part) => part.type === type ? [part.text] : []).join("");
  return {
    text: textOf("text"),
    reasoning: textOf("reasoning"),
    refusal: textOf("refusal"),
    annotations: content.flatMap((part) => part.type === "text" ? part.annotations ?? [] : []),
    calls: content.flatMap((part) => part.type === "tool-call" ? [{ ...part, input: inputOf(part.input) }] : []),
    // A word that the wire does not know is a plain stop.
    reason: finish.reason === "other" ? "stop" : finish.reason,
    // No count of some tokens and a count of none are the same.
    usage: { cachedInputTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, ...counted },
    extra,
  };
}

/** One wire carries the input as a text, another as an object, in which a text that is not JSON is told as it is. */
function inputOf(text: string): unknown {
  return isJsonText(text) ? JSON.parse(text) : { input: text };
}

/** Where the input is an object, a whole answer does not have the call in which it ended. */
function withoutCutCall(response: GenerateResponse): GenerateResponse {
  const { finish: { reason }, content } = response;
  const last = content.at(-1);
  const isCut = reason === "length" && last?.type === "tool-call" && !isJsonText(last.input);
  return isCut ? { ...response, content: content.slice(0, -1) } : response;
}

for (const wire of WIRES) {
  for (const fixture of loadFixtures(wire.name).filter(isOk)) {
    Deno.test(`${wire.name}: streamed and whole, ${fixture.name} tells the same`, async () => {
      const input = wire.inputOf(fixture);
      const exchange = wire.newExchange(input, asked);
      const context = newContext(wire.name);
      let response: GenerateResponse;
      try {
        response = isStream(fixture)
          ? collect(await wire.readStream(fixture, bodyOf([answerBytes(fixture)])))
          : wire.parseResponse(fixture.response.json ?? fixture.response.text ?? "", input, context);
      } catch (error) {
        assert(error instanceof GatewayError);
        return;
      }
      const events = [...replay(response)];
      assertWellFormed(events);
      const streamed = collect(wire.readEvents(wire.writeFrames(events, exchange), input, context));
      assertEquals(meaningOf(streamed), meaningOf(response));
      const whole = wire.parseResponse(await wire.serializeResponse(response, exchange), input, context);
      assertEquals(meaningOf(whole), meaningOf(wire.name === "messages" ? withoutCutCall(response) : response));
    });
  }
}
