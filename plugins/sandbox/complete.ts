import type { CompleteRequest, CompleteResponse, Completion, TokenLogprobs } from "../../src/canonical/complete.ts";
import { estimateTextTokens } from "../../src/canonical/estimate.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { cut, prefix } from "./words.ts";

const MAX_QUOTE = 60;
/** The most tokens of one answer with their probabilities, each of which takes about a kilobyte. */
const MOST_LOGPROBS = 65_536;
/** The limit that servers of this wire set if the request has none. */
const USUAL_TOKENS = 64;
/** Less likely than the chosen word, each half as likely as the one before. */
const OTHERS = ["the", "a", "and", "of", "to"];

/** The sandbox's completions: sentences that quote the prompt, or a comment that names both sides of a gap. */
export function complete(
  input: CompleteRequest,
  { model }: Pick<Target, "model">,
  context: Pick<Context, "note">,
): CompleteResponse {
  fieldsFor("sandbox", input.extra, context.note);
  const { prompts, count = 1 } = input;
  if (prompts.some((one) => typeof one !== "string")) {
    throw new GatewayError("invalid_request", "The sandbox has no vocabulary: send texts, and no token ids", {
      param: "prompt",
      tryNextTarget: true,
    });
  }
  const choices = (prompts as string[]).flatMap((prompt) =>
    Array.from({ length: count }, (_, number) => completion(prompt, number, input))
  );
  if (input.logprobs !== undefined) addLogprobs(choices, input.logprobs, input.echo ? 1 : 0);
  const around = [input.suffix ?? "", input.begin ?? "", ...(input.files ?? []).map(({ text }) => text)];
  const read = [...prompts as string[], ...around].reduce((sum, text) => sum + estimateTextTokens(text), 0);
  const written = choices.reduce((sum, { text }) => sum + estimateTextTokens(text), 0);
  // Not marked as estimated, because this is the sandbox's own count.
  return { model, choices, usage: { inputTokens: read, outputTokens: written } };
}

function completion(prompt: string, number: number, input: CompleteRequest): Completion {
  const { maxOutputTokens = USUAL_TOKENS, stopSequences = [], echo } = input;
  const whole = textFor(prompt, number, input);
  const kept = firstWords(whole, maxOutputTokens);
  const stops = stopSequences.flatMap((stop) => {
    const at = kept.indexOf(stop);
    return stop === "" || at < 0 ? [] : [{ at, stop }];
  });
  const [stopped] = stops.sort((a, b) => a.at - b.at);
  const written = stopped ? kept.slice(0, stopped.at) : kept;
  const text = echo ? prompt + written : written;
  return {
    text,
    finish: stopped
      ? { reason: "stop", stopSequence: stopped.stop }
      : { reason: kept.length < whole.length ? "length" : "stop" },
  };
}

function textFor(prompt: string, number: number, { suffix, begin = "" }: CompleteRequest): string {
  const which = number === 0 ? "" : ` (completion ${number + 1})`;
  if (suffix !== undefined) {
    return ` /* the Laneway sandbox fills the gap${which} between ${quoted(lastLine(prompt + begin))} and ${
      quoted(suffix.trimStart().split("\n", 1)[0]!)
    } */ `;
  }
  return ` [the Laneway sandbox goes on${which} after ${quoted(lastLine(prompt))}, with no key and no network]`;
}

function lastLine(text: string): string {
  const line = text.trimEnd().split("\n").at(-1)!;
  return line.slice(-MAX_QUOTE);
}

function quoted(text: string): string {
  return `"${cut(text, MAX_QUOTE)}"`;
}

/** As many words as there may be tokens. */
function firstWords(text: string, most: number): string {
  const words = wordsIn(text);
  return words.length <= most ? text : prefix(words.slice(0, most).join(""), text.length);
}

/** Each word with the space before it. */
function wordsIn(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

/** `unknown`: how many tokens of each completion have nothing before them. */
function addLogprobs(choices: Completion[], count: number, unknown: number): void {
  let all = 0;
  for (const choice of choices) {
    const tokens = wordsIn(choice.text);
    all += tokens.length;
    if (all > MOST_LOGPROBS) {
      throw new GatewayError(
        "invalid_request",
        `The sandbox gives the probabilities of at most ${MOST_LOGPROBS} tokens`,
        {
          param: "logprobs",
          tryNextTarget: true,
        },
      );
    }
    choice.logprobs = logprobsOf(tokens, count, unknown);
  }
}

/** Every word as a token, and as likely as the others. `unknown`: how many have nothing before them. */
function logprobsOf(tokens: string[], count: number, unknown: number): TokenLogprobs {
  let length = 0;
  return {
    tokens,
    logprobs: tokens.map((_, at) => at < unknown ? null : -0.5),
    alternatives: tokens.map((token, at) => {
      if (at < unknown || count === 0) return null;
      const others = OTHERS.slice(0, count - 1).map((other, rank): [string, number] => [` ${other}`, -1.5 - rank]);
      return Object.fromEntries([[token, -0.5], ...others]);
    }),
    offsets: tokens.map((token) => {
      const at = length;
      length += token.length;
      return at;
    }),
  };
}
