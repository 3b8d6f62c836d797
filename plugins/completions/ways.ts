/** The ways in which servers are asked for completions, and what each of them can do. */
import type { CompleteRequest } from "../../src/canonical/complete.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target, UpstreamOperation } from "../../src/contract/driver.ts";
import type { Completions } from "../../src/contract/quirks.ts";
import type { Framing } from "../../src/contract/stream.ts";
import { GatewayError } from "../../src/errors.ts";
import { familyOf, stopsOf } from "./families.ts";
import { MOST_CHOICES } from "./wire.ts";

/** The longest stop that the gateway looks for itself, in characters: it does so at every piece of a stream. */
const LONGEST_STOP = 256;

/** The facts about a target and its driver. */
export interface Place {
  target: Target;
  context: Context;
  /** How the driver asks for conversations. Absent if it cannot. */
  chat?: UpstreamOperation<"generate">;
  isWire: boolean;
}

/** How one request is made. */
export type Way = "completions" | "fim" | "infill" | "generate" | "chat";

/** Servers of the completions wire refuse more. */
const MOST_STOPS = 4;

/** Whether the request fills a gap, rather than going on after its prompt. */
export function fillsGap({ suffix, files, begin }: CompleteRequest): boolean {
  return suffix !== undefined || begin !== undefined || (files?.length ?? 0) > 0;
}

/** How servers of the target are set up. */
export function setupOf({ target, isWire }: Pick<Place, "target" | "isWire">): Completions {
  return target.completions ?? (isWire ? "plain" : "off");
}

/** How the request is made. Throws if the target cannot serve it. */
export function wayOf(input: CompleteRequest, place: Pick<Place, "target" | "isWire" | "chat">): Way {
  const setup = setupOf(place);
  const { upstream, model } = place.target;
  if (setup === "off" || (setup === "chat" ? !place.chat : !place.isWire)) {
    throw refuse("model", `Upstream "${upstream}" does not continue texts`);
  }
  const isOwn = setup === "plain" || setup === "suffix" || setup === "beta";
  const way = setup === "infill" ? (fillsGap(input) ? "infill" : "completions") : isOwn ? "completions" : setup as Way;
  if (way === "completions" && writesMarks(input, place) && !familyOf(place.target)) {
    throw refuse(
      "suffix",
      `Cannot fill a gap with model "${model}": its upstream takes no suffix, and the marks of its family are not known`,
    );
  }
  checkChoices(input, way, place);
  return way;
}

/** Whether the gap is written with the marks of the model's family. */
export function writesMarks(input: CompleteRequest, place: Pick<Place, "target" | "isWire">): boolean {
  const setup = setupOf(place);
  if (!fillsGap(input) || setup === "infill" || setup === "fim" || setup === "chat") return false;
  const { suffix, files, begin } = input;
  return setup === "plain" || place.target.refusesSuffix === true || suffix === undefined || begin !== undefined ||
    (files?.length ?? 0) > 0;
}

/** Notes that the suffix is written with marks because the server has refused its field. */
export function noteRefused(input: CompleteRequest, place: Place): void {
  const { target, context: { note } } = place;
  if (!target.refusesSuffix || writesMarks(input, { ...place, target: { ...target, refusesSuffix: false } })) return;
  note(`relaxed suffix: refused by ${target.upstream}`);
}

/** Whether the server itself repeats the prompt. */
export function echoesNatively(way: Way, setup: Completions): boolean {
  return way === "completions" && setup !== "infill";
}

/** Whether one call asks for all completions. llama.cpp reports the tokens of only one of several, unless it streams. */
export function isOneCall({ stream }: CompleteRequest, way: Way, setup: Completions): boolean {
  return way === "completions" && (stream || setup !== "infill");
}

function checkChoices(input: CompleteRequest, way: Way, place: Pick<Place, "target" | "isWire">): void {
  const setup = setupOf(place);
  const { prompts, count = 1, bestOf = count, logprobs, stream } = input;
  const isWhole = echoesNatively(way, setup);
  if (bestOf > count && !isWhole) throw refuse("best_of", "The upstream does not choose among completions");
  if (logprobs !== undefined) checkLogprobs(input, way, isWhole && !writesMarks(input, place));
  if (prompts.some((one) => typeof one !== "string")) checkTokens(input, way, isWhole);
  if (isOneCall(input, way, setup)) return;
  const calls = prompts.length * count;
  if (calls > 1 && stream) {
    throw refuse(count > 1 ? "n" : "prompt", "The upstream streams only one completion at a time");
  }
  if (calls > MOST_CHOICES) throw refuse("prompt", `The upstream gets at most ${MOST_CHOICES} requests for one`);
}

/** The tokens of a prompt come before those of its completion, where both are wanted. */
function checkLogprobs({ echo }: CompleteRequest, way: Way, repeatsPrompt: boolean): void {
  if (way !== "completions") throw refuse("logprobs", "The upstream reports no probabilities");
  if (!echo || repeatsPrompt) return;
  throw refuse("logprobs", "The upstream does not repeat the prompt, and reports no probabilities of it");
}

/** Only the model that made them can read token ids. */
function checkTokens(input: CompleteRequest, way: Way, isWhole: boolean): void {
  if (way === "completions" && !fillsGap(input) && (isWhole || !input.echo)) return;
  throw refuse("prompt", "The upstream takes texts only, and no token ids");
}

/** The error for what this target cannot do. Another may. */
export function refuse(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param, tryNextTarget: true, notProcessed: true });
}

export function framingOf({ completions }: Target): Framing {
  return completions === "generate" ? "ndjson" : "sse";
}

/** The texts at which completions end: those that the server is sent, and those at which the gateway cuts. */
export function stopsFor(
  input: CompleteRequest,
  place: Pick<Place, "target" | "isWire">,
): { sent: string[]; own: string[] } {
  const setup = setupOf(place);
  const family = writesMarks(input, place) ? familyOf(place.target) : undefined;
  const all = [...new Set([...input.stopSequences ?? [], ...family ? stopsOf(family) : []])];
  const most = setup === "infill" || setup === "generate" ? Infinity : MOST_STOPS;
  // Not every wire of conversations has stops.
  const own = setup === "chat" ? all : all.slice(most);
  if (own.some(({ length }) => length > LONGEST_STOP)) {
    throw refuse("stop", `Expected at most ${LONGEST_STOP} characters in the stop sequences after the first ${most}`);
  }
  // Text that is cut here would no longer match its tokens.
  if (input.logprobs === undefined || own.length === 0) return { sent: all.slice(0, most), own };
  if ((input.stopSequences?.length ?? 0) > most) {
    throw refuse(
      "stop",
      `The upstream takes at most ${most} stop sequences, and the text would not match its logprobs`,
    );
  }
  return { sent: all.slice(0, most), own: [] };
}
