/** Requests that pass by the canonical form: those for several choices, log probabilities or sound, which shape the whole answer. */
import { asObject, isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { RelayEvent, RelayRequest, RelayResponse } from "../../src/canonical/relay.ts";
import type { Context, Exchange } from "../../src/contract/context.ts";
import type { Target, UpstreamOperation } from "../../src/contract/driver.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { Emit, StreamReader, StreamWriter } from "../../src/contract/stream.ts";
import { GatewayError } from "../../src/errors.ts";
import { serializeErrorBody } from "../shared/errors.ts";
import { factsOf } from "./families.ts";
import { notAnAnswer, parseAnswer } from "./parse_response.ts";
import { parseFrame } from "./parse_stream.ts";
import { asksForUsage } from "./serialize_stream.ts";
import { parseUsage } from "./usage.ts";
import { type ChatAnswer, type ChatRequest, WIRE } from "./wire.ts";

/** The request to relay. `undefined` if the canonical form can carry it. */
export function parseRelay(body: ChatRequest): RelayRequest | undefined {
  const field = relayedField(body);
  if (field === undefined) return undefined;
  return { model: body.model, stream: body.stream ?? false, wire: WIRE, field, body: body as JsonObject };
}

function relayedField({ n, logprobs, top_logprobs, modalities, audio }: ChatRequest): string | undefined {
  if (n !== null && n !== undefined && n !== 1) return "n";
  if (logprobs) return "logprobs";
  if (top_logprobs) return "top_logprobs";
  if (modalities?.some((modality) => modality !== "text")) return "modalities";
  return audio ? "audio" : undefined;
}

/**
 * Relays to an upstream of this wire. The body goes up as it came, but for the model's name there, a limit of the answer if the
 * gateway sets one, and the request for a stream's usage.
 */
export const relayOperation: UpstreamOperation<"relay"> = {
  request: (input, target) => ({ path: "chat/completions", body: serializeBody(input, target) }),
  response: ([reply], input, _, context) => parseWhole(reply?.body, input, context),
  stream: { framing: "sse", reader: (input, _target, context) => new RelayReader(input, context) },
};

function serializeBody({ body, stream, maxOutputTokens: limit }: RelayRequest, { model }: Target): JsonObject {
  const options = asObject(body.stream_options);
  const own = limit === undefined ? body : { ...body, [factsOf(model).limitField]: limit };
  return { ...own, model, ...(stream && { stream_options: { ...options, include_usage: true } }) };
}

function parseWhole(body: unknown, input: RelayRequest, context: Context): RelayResponse {
  const { choices, usage } = parseAnswer(body);
  if (!choices || choices.length === 0 || !isJsonObject(body)) throw notAnAnswer();
  noteMissing(choices.length, input, context);
  return { body, ...usageField(usage) };
}

/** Some servers ignore `n` (llama-cpp-python). */
function noteMissing(count: number, { body: { n } }: RelayRequest, context: Context): void {
  if (typeof n === "number" && count < n) context.note(`answered ${count} of ${n} choices`);
}

/** Over with `[DONE]`, or where the connection ends after every choice that began had its finish reason. */
class RelayReader implements StreamReader<RelayEvent> {
  done = false;
  readonly #input: RelayRequest;
  readonly #context: Context;
  readonly #begun = new Set<number>();
  readonly #ended = new Set<number>();
  #usage: ChatAnswer["usage"];

  constructor(input: RelayRequest, context: Context) {
    this.#input = input;
    this.#context = context;
  }

  read({ data }: Frame, emit: Emit<RelayEvent>): void {
    const text = data?.trim();
    if (!text) return;
    if (text === "[DONE]") {
      this.done = true;
      return this.#finish(emit);
    }
    const body = parseFrame(text);
    const answer = parseAnswer(body);
    if (!isJsonObject(body) || (!answer.choices && !answer.usage)) return;
    this.#usage = answer.usage ?? this.#usage;
    for (const { index, finish_reason } of answer.choices ?? []) {
      this.#begun.add(index ?? 0);
      if (finish_reason) this.#ended.add(index ?? 0);
    }
    emit({ type: "frame", body });
  }

  end(emit: Emit<RelayEvent>): void {
    if (this.#ended.size === 0 || this.#ended.size < this.#begun.size) {
      throw new GatewayError("upstream_error", "The upstream's answer ended before it was complete");
    }
    this.#finish(emit);
  }

  #finish(emit: Emit<RelayEvent>): void {
    noteMissing(this.#begun.size, this.#input, this.#context);
    emit({ type: "finish", ...usageField(this.#usage) });
  }
}

function usageField(usage: ChatAnswer["usage"]): Pick<RelayResponse, "usage"> {
  const counts = usage ? parseUsage(usage) : {};
  return Object.keys(counts).length > 0 ? { usage: counts } : {};
}

/** The upstream's answer, under the id and the model name that are the gateway's. */
export function serializeRelayed({ body }: RelayResponse, { id, input }: Exchange<"relay">): Response {
  return Response.json({ ...body, id, model: input.model });
}

/** Like `serializeRelayed`, but for each chunk. Usage is shown to a client that asked for it. */
export function serializeRelayedStream({ id, input, wire }: Exchange<"relay">): StreamWriter<RelayEvent> {
  const showsUsage = asksForUsage(wire.body);
  return {
    write(event, emit) {
      switch (event.type) {
        case "frame": {
          const { usage, ...rest } = event.body;
          const isOnlyUsage = Array.isArray(rest.choices) && rest.choices.length === 0;
          if (isOnlyUsage && !showsUsage) return;
          return emit({ data: JSON.stringify({ ...rest, id, model: input.model, ...(showsUsage && { usage }) }) });
        }
        case "finish":
          return emit({ data: "[DONE]" });
        case "error":
          return emit({ data: JSON.stringify(serializeErrorBody(event.error)) });
        default:
          event satisfies never;
      }
    },
  };
}
