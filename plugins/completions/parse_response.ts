import type { CompleteRequest, CompleteResponse, Completion } from "../../src/canonical/complete.ts";
import { mergeExtras } from "../../src/canonical/extra.ts";
import { sumReported } from "../../src/canonical/usage.ts";
import type { Reply } from "../../src/contract/call.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { decode, type Decoded } from "./decode.ts";
import { textOf } from "./over_chat.ts";
import { StopCutter } from "./stops.ts";
import { echoesNatively, type Place, setupOf, stopsFor, type Way, wayOf, writesMarks } from "./ways.ts";

/** The completions in the replies to all calls. Each call but those of the completions wire has one. */
export function parseResponse(
  replies: readonly Reply[],
  input: CompleteRequest,
  place: Place & { context: AnswerContext },
): CompleteResponse {
  const way = wayOf(input, place);
  const decoded = replies.map((reply) => way === "chat" ? fromChat(reply, input, place) : decode(reply.body, way));
  const finishing = finisherFor(input, place, way);
  const pieces = replies.length === 1
    ? decoded[0]!.pieces.toSorted((a, b) => a.index - b.index)
    : decoded.flatMap(({ pieces }) => pieces.slice(0, 1));
  const expected = choicesOf(input);
  if (pieces.length !== expected) {
    throw new GatewayError("upstream_error", `The upstream sent ${pieces.length} of ${expected} completions`);
  }
  const extra = mergeExtras(decoded.map((one) => one.extra));
  return {
    model: place.target.model,
    choices: pieces.map(({ text, finish = { reason: "stop" }, logprobs, extra }, index): Completion => ({
      ...finishing(text, index, finish),
      ...(logprobs && { logprobs }),
      ...(extra && { extra }),
    })),
    usage: sumReported(decoded.map(({ usage }) => usage)),
    ...(extra && { extra }),
  };
}

function fromChat(
  reply: Reply,
  input: CompleteRequest,
  { chat, target, context }: Place & { context: AnswerContext },
): Decoded {
  const request = { model: input.model, messages: [], stream: false };
  const answer = chat!.response([reply], request, target, context);
  return { pieces: [{ index: 0, text: textOf(answer), finish: answer.finish }], usage: answer.usage };
}

/** How many completions the answer must have. */
export function choicesOf({ prompts, count = 1 }: CompleteRequest): number {
  return prompts.length * count;
}

/** Cuts a whole completion at the stops that the server was not sent, and repeats its prompt if the server does not. */
function finisherFor(input: CompleteRequest, place: Place, way: Way) {
  const { own } = stopsFor(input, place);
  const before = echoOf(input, place, way);
  return (received: string, index: number, ended: Completion["finish"]): Pick<Completion, "text" | "finish"> => {
    const { text, stop } = new StopCutter(own).push(isEmptied(input, place, way) ? "" : received, true);
    const finish = stop === undefined ? ended : { reason: "stop" as const, stopSequence: stop };
    return { text: before(index) + text, finish };
  };
}

/** Whether no text was wanted. A server that knows no such limit wrote some. */
export function isEmptied(input: CompleteRequest, place: Pick<Place, "target" | "isWire">, way: Way): boolean {
  return input.maxOutputTokens === 0 && !(input.echo && repeatsPrompt(input, place, way));
}

/** Whether the completions of the server begin with their prompts, as the client sent them. */
function repeatsPrompt(input: CompleteRequest, place: Pick<Place, "target" | "isWire">, way: Way): boolean {
  return echoesNatively(way, setupOf(place)) && !writesMarks(input, place);
}

/** The prompt that a completion begins with, where the server does not repeat it. */
export function echoOf(
  input: CompleteRequest,
  place: Pick<Place, "target" | "isWire">,
  way: Way,
): (index: number) => string {
  if (!input.echo || repeatsPrompt(input, place, way)) return () => "";
  const { prompts, count = 1 } = input;
  return (index) => String(prompts[Math.floor(index / count)] ?? "");
}
