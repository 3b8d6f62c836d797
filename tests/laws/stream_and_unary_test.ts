import { assert, assertEquals } from "@std/assert";
import { collect } from "../../src/canonical/collect.ts";
import type { GenerateResponse } from "../../src/canonical/generate.ts";
import { replay } from "../../src/canonical/replay.ts";
import { GatewayError } from "../../src/errors.ts";
import { formatFrame } from "../../src/http/sse.ts";
import { readFrames } from "../../src/upstream/frames.ts";
import { chatResponse } from "../support/chat_arbitraries.ts";
import { bodyOf, fromArray, toArray } from "../support/chunks.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { answerBytes, isOk, isStream, loadFixtures } from "../support/fixtures.ts";
import { law } from "../support/law.ts";
import { assertWellFormed } from "../support/well_formed.ts";
import { CHAT } from "../support/wires.ts";

const wire = newWireRequest({
  model: "m",
  messages: [{ role: "user", content: "a" }],
  stream: true,
  stream_options: { include_usage: true },
});
const input = CHAT.parseRequest(wire, newContext());

law("chat: an answer streamed and an answer whole tell the same", chatResponse("m"), async (response) => {
  const exchange = CHAT.newExchange(input, wire);
  const frames = await toArray(CHAT.serializeStream(fromArray(replay(response)), exchange));
  const bytes = new TextEncoder().encode(frames.map(formatFrame).join(""));
  const events = await toArray(CHAT.parseStream(readFrames(bodyOf([bytes])), input, newContext()));
  assertWellFormed(events);
  assertEquals(await collect(fromArray(events)), response);

  const whole = await CHAT.serializeResponse(response, exchange);
  assertEquals(CHAT.parseResponse(whole, input, newContext()), response);
});

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
    calls: content.filter((part) => part.type === "tool-call"),
    reason: finish.reason,
    usage: counted,
    extra,
  };
}

for (const fixture of loadFixtures("chat").filter(isOk)) {
  Deno.test(`chat: streamed and whole, ${fixture.name} tells the same`, async () => {
    const asked = CHAT.inputOf(fixture);
    const exchange = CHAT.newExchange(asked, wire);
    let response: GenerateResponse;
    try {
      response = isStream(fixture)
        ? await collect(fromArray(await CHAT.readStream(fixture, bodyOf([answerBytes(fixture)]))))
        : CHAT.parseResponse(fixture.response.json ?? fixture.response.text ?? "", asked, newContext());
    } catch (error) {
      assert(error instanceof GatewayError);
      return;
    }
    const events = [...replay(response)];
    assertWellFormed(events);
    const frames = CHAT.serializeStream(fromArray(events), exchange);
    const streamed = await collect(CHAT.parseStream(frames, asked, newContext()));
    assertEquals(meaningOf(streamed), meaningOf(response));
    const whole = CHAT.parseResponse(await CHAT.serializeResponse(response, exchange), asked, newContext());
    assertEquals(meaningOf(whole), meaningOf(response));
  });
}
