/** Reads the answers of servers, whole or in pieces, on each of their wires. */
import type { TokenLogprobs } from "../../src/canonical/complete.ts";
import { type Extra, extraOf } from "../../src/canonical/extra.ts";
import type { Finish } from "../../src/canonical/generate.ts";
import { asList, asObject, asText, isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { reportedTotals, type ReportedUsage } from "../../src/canonical/usage.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import type { Way } from "./ways.ts";
import { ANSWER_KEYS, answerSchema, CHOICE_KEYS, WIRE } from "./wire.ts";

/** A piece of one completion, or all of it. */
export interface Piece {
  index: number;
  text: string;
  logprobs?: TokenLogprobs;
  /** Whether the positions of its tokens count from its own beginning. */
  isRelative?: boolean;
  finish?: Finish;
  extra?: Extra;
}

export interface Decoded {
  pieces: Piece[];
  usage?: ReportedUsage;
  extra?: Extra;
  /** Whether nothing follows. */
  isLast?: boolean;
}

/** Reads an answer, or a frame of one. Throws the error that it holds. */
export function decode(body: unknown, way: Exclude<Way, "chat">): Decoded {
  // llama.cpp ends streams of several completions with an empty frame.
  if (body === null) return { pieces: [] };
  if (saysError(body)) throw upstreamStreamError(body);
  if (!isJsonObject(body)) throw unreadable();
  switch (way) {
    case "completions":
    case "fim":
      return decodeChoices(body);
    case "infill":
      return decodeInfill(body);
    case "generate":
      return decodeGenerate(body);
    default:
      return way satisfies never;
  }
}

function decodeChoices(body: JsonObject): Decoded {
  const answer = accept(answerSchema, body);
  if (!answer) throw unreadable();
  const { choices, usage } = answer;
  const extra = extraOf(WIRE, body, ANSWER_KEYS);
  return {
    pieces: (choices ?? []).map((choice, position) => {
      const { index, text, message, delta, logprobs, finish_reason: word } = choice;
      const parsed = parseLogprobs(logprobs);
      const own = extraOf(WIRE, choice, CHOICE_KEYS);
      return {
        index: index ?? position,
        text: text ?? contentText((message ?? delta)?.content),
        ...(parsed && { logprobs: parsed, isRelative: Array.isArray(asObject(logprobs).content) }),
        ...(word && { finish: finishOf(word) }),
        ...(own && { extra: own }),
      };
    }),
    ...(usage && {
      usage: {
        ...reportedTotals(usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        ...(usage.prompt_tokens_details?.cached_tokens && {
          cachedInputTokens: usage.prompt_tokens_details.cached_tokens,
        }),
      },
    }),
    ...(extra && { extra }),
  };
}

/** A text, or a list of parts with texts. */
function contentText(content: unknown): string {
  return typeof content === "string" ? content : asList(content).map((part) => asText(asObject(part).text)).join("");
}

function decodeInfill(body: JsonObject): Decoded {
  const { content, stop, tokens_evaluated: read, tokens_predicted: written } = body;
  if (typeof content !== "string") throw unreadable();
  const isLast = stop === true;
  const extra = isLast ? extraOf("infill", body, INFILL_KEYS) : undefined;
  return {
    ...(extra && { extra }),
    pieces: [{ index: 0, text: content, ...(isLast && { finish: infillFinish(body) }) }],
    ...(isLast && { usage: reportedTotals(asCount(read), asCount(written), undefined), isLast }),
  };
}

/** The fields that the gateway writes itself. It also hides those that show the prompt as the server read it, and its settings. */
const INFILL_KEYS: ReadonlySet<string> = new Set([
  "index",
  "content",
  "tokens",
  "id_slot",
  "model",
  "stop",
  "stop_type",
  "stopping_word",
  "tokens_predicted",
  "tokens_evaluated",
  "generation_settings",
  "prompt",
]);

/** Older servers have a field for each reason. */
function infillFinish({ stop_type: type, stopped_limit: isCut, stopping_word: word }: JsonObject): Finish {
  if (type === "limit" || isCut === true) return { reason: "length" };
  return { reason: "stop", ...(typeof word === "string" && word !== "" && { stopSequence: word }) };
}

function decodeGenerate(body: JsonObject): Decoded {
  const { response, done, done_reason: reason, prompt_eval_count: read, eval_count: written } = body;
  const isLast = done === true;
  if (typeof response !== "string" && !isLast) throw unreadable();
  return {
    pieces: [{ index: 0, text: asText(response), ...(isLast && { finish: finishOf(asText(reason) || "stop") }) }],
    ...(isLast && { usage: reportedTotals(asCount(read), asCount(written), undefined), isLast }),
  };
}

function asCount(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function finishOf(word: string): Finish {
  if (word === "stop" || word === "length") return { reason: word };
  // Some servers name the token that ended the text, or their own reasons.
  if (word === "eos" || word === "eos_token" || word === "stop_sequence") return { reason: "stop" };
  return word === "content_filter" ? { reason: "content-filter" } : { reason: "other", raw: word };
}

/** Newer releases of llama.cpp send the lists of the chat wire here. */
function parseLogprobs(value: unknown): TokenLogprobs | undefined {
  if (!isJsonObject(value)) return undefined;
  const { content, tokens, token_logprobs: logprobs, top_logprobs: alternatives, text_offset: offsets } = value;
  if (Array.isArray(content)) return fromChat(content);
  if (!Array.isArray(tokens)) return undefined;
  return {
    tokens: tokens.map(String),
    logprobs: tokens.map((_, at) => asCount(asList(logprobs)[at]) ?? null),
    alternatives: tokens.map((_, at) => {
      const one = asList(alternatives)[at];
      return isJsonObject(one) ? one : null;
    }),
    offsets: tokens.map((_, at) => asCount(asList(offsets)[at]) ?? 0),
  };
}

function fromChat(content: readonly unknown[]): TokenLogprobs {
  let length = 0;
  const all = content.map(asObject);
  return {
    tokens: all.map(({ token }) => asText(token)),
    logprobs: all.map(({ logprob }) => asCount(logprob) ?? null),
    alternatives: all.map(({ top_logprobs: top }) =>
      Object.fromEntries(
        asList(top).map(asObject).map(({ token, logprob }) => [asText(token), asCount(logprob) ?? null]),
      )
    ),
    offsets: all.map(({ token }) => {
      const at = length;
      length += asText(token).length;
      return at;
    }),
  };
}

function unreadable(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's answer is not a completion");
}
