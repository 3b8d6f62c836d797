import type { GenerateRequest } from "../../../src/canonical/generate.ts";
import type { Frame } from "../../../src/contract/frame.ts";
import { GatewayError } from "../../../src/errors.ts";
import { readFrames } from "../sources.ts";
import { bodyOf, toArray } from "../chunks.ts";
import { newContext } from "../context.ts";
import { answerBytes, type Fixture, isOk, isStream, wireRequest } from "../fixtures.ts";
import { CLIENT_WIRES, type ClientWire, Wire } from "../wires.ts";

/** The text that goes to an upstream or a client in one exchange. */
export interface Translation {
  /** The request, the answer or the error that it is, and the wire: `answer to chat, streamed`. */
  name: string;
  /** A body as JSON text, or the frames of a stream. */
  content: string | Frame[];
  notes: string[];
  /** A request whose client does not limit the answer. */
  unlimited?: boolean;
  /** The gateway's own count of the input, which starts an answer. */
  inputTokens?: number;
}

/** The requests to upstreams of every wire in an exchange in `from`, and the answers to clients of every wire. */
export async function translate(fixture: Fixture, from: Wire): Promise<Translation[]> {
  const translations: Translation[] = [];
  const asked = newContext(from.name);
  let input: GenerateRequest | undefined;
  let refusal: unknown;
  try {
    input = from.parseRequest(wireRequest(fixture), asked);
  } catch (error) {
    refusal = error;
  }
  if (input?.relay) {
    const { wire, field } = input.relay;
    return [{ name: "relayed to its own wire alone", content: JSON.stringify({ wire, field }), notes: asked.notes }];
  }
  for (const to of CLIENT_WIRES) {
    if (to instanceof Wire) {
      translations.push(...await translateRequest(fixture, from, to, asked.notes, input, refusal));
    }
    if (!isOk(fixture)) {
      const content = await serializeError(from.parseError(fixture), to);
      translations.push({ name: `error to ${to.name}`, content, notes: [] });
    } else if (input) {
      translations.push(await translateAnswer(fixture, from, to, input));
    }
  }
  return translations;
}

async function translateRequest(
  fixture: Fixture,
  from: Wire,
  to: Wire,
  asked: string[],
  input: GenerateRequest | undefined,
  refusal: unknown,
): Promise<Translation[]> {
  const context = newContext(from.name);
  try {
    if (!input) throw refusal;
    const content = JSON.stringify(to.serializeRequest(input, context));
    const name = `request to ${to.name}${from === to ? ", its own wire" : ""}${input.stream ? ", streamed" : ""}`;
    const notes = [...asked, ...context.notes];
    return [{ name, content, notes, unlimited: input.maxOutputTokens === undefined }];
  } catch (error) {
    // What is not JSON at all never reaches a wire.
    if (typeof fixture.request.body === "string") return [];
    const notes = [...asked, ...context.notes];
    return [{ name: `refusal to ${to.name}`, content: await serializeError(error, to), notes }];
  }
}

async function translateAnswer(
  fixture: Fixture,
  from: Wire,
  to: ClientWire,
  input: GenerateRequest,
): Promise<Translation> {
  const wire = wireRequest(fixture);
  const exchange = to.newExchange(input, from === to ? wire : { ...wire, body: {} });
  const { notes, inputTokens } = exchange;
  if (isStream(fixture)) {
    const frames = await toArray(readFrames(bodyOf([answerBytes(fixture)])));
    const content = to.writeFrames(from.readEvents(frames, input, exchange), exchange);
    return { name: `answer to ${to.name}, streamed`, content, notes, inputTokens };
  }
  try {
    const output = from.parseResponse(fixture.response.json ?? fixture.response.text ?? "", input, exchange);
    const content = JSON.stringify(await to.serializeResponse(output, exchange));
    return { name: `answer to ${to.name}`, content, notes, inputTokens };
  } catch (error) {
    return { name: `error to ${to.name}`, content: await serializeError(error, to), notes };
  }
}

async function serializeError(error: unknown, wire: ClientWire): Promise<string> {
  if (!(error instanceof GatewayError)) throw error;
  const response = wire.serializeError(error);
  const { status, headers } = response;
  return JSON.stringify({ status, headers: Object.fromEntries(headers), body: await response.json() });
}
