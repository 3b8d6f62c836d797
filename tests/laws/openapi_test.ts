/** What the gateway takes and what it answers, over all fixtures, is as its description of the API says. */
import { assert, assertEquals } from "@std/assert";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { newContext } from "../support/context.ts";
import { emittedAnswers } from "../support/emitted_answers.ts";
import { loadFixtures, wireRequest } from "../support/fixtures.ts";
import { Checker, readOpenapi } from "../support/openapi.ts";
import { CLIENT_WIRES, WIRES } from "../support/wires.ts";

const PLACES: Readonly<Record<string, string>> = {
  chat: "POST /{lane}/v1/chat/completions",
  messages: "POST /{lane}/v1/messages",
  responses: "POST /{lane}/v1/responses",
  ollama: "POST /{lane}/api/chat",
  gemini: "POST /{lane}/v1beta/models/{id}:generateContent",
};
/** Where a stream has a path of its own. */
const STREAMS: Readonly<Record<string, string>> = {
  gemini: "POST /{lane}/v1beta/models/{id}:streamGenerateContent",
};
const checker = new Checker(await readOpenapi());
const answers = await Array.fromAsync(emittedAnswers());

/** Of a stream, its events; a failure in place of one has the shape of the protocol's errors. */
function valuesIn(frames: readonly { data?: string }[]): JsonObject[] {
  return frames.flatMap(({ data }) => {
    const value: unknown = data === undefined || data === "[DONE]" ? undefined : JSON.parse(data);
    return isJsonObject(value) && value.error === undefined ? [value] : [];
  });
}

for (const { name } of CLIENT_WIRES) {
  Deno.test(`openapi: ${name}: every answer of every fixture is as it says, whole and streamed`, () => {
    const own = answers.filter(({ to }) => to === name);
    assert(own.length > 100);
    const mediaType = name === "ollama" ? "application/x-ndjson" : "text/event-stream";
    const faults = own.flatMap(({ fixture, from, whole, frames }) =>
      [
        ...(whole ? checker.answer(PLACES[name]!, 200, whole) : []),
        ...valuesIn(frames).flatMap((value) => checker.answer(STREAMS[name] ?? PLACES[name]!, 200, value, mediaType)),
      ].map((fault) => `${from}/${fixture}: ${fault}`)
    );
    assertEquals(faults, []);
  });
}

for (const wire of WIRES) {
  Deno.test(`openapi: ${wire.name}: every request of every fixture that the gateway takes is as it says`, () => {
    const faults = loadFixtures(wire.name).flatMap((fixture) => {
      const request = wireRequest(fixture);
      try {
        wire.parseRequest(request, newContext(wire.name));
      } catch (thrown) {
        if (thrown instanceof GatewayError) return [];
        throw thrown;
      }
      return checker.request(PLACES[wire.name]!, request.body).map((fault) => `${fixture.name}: ${fault}`);
    });
    assertEquals(faults, []);
  });
}
