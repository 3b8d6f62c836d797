/** The ways to ask an upstream for decisions, and what is learnt about them. */
import type { ModelOperation } from "../canonical/operations.ts";
import type { Target } from "../contract/driver.ts";
import { type ErrorCode, toGatewayError } from "../errors.ts";
import { type Attempt, placeOf } from "./attempt.ts";
import { A_FORM, FORM } from "./schema_in_prompt.ts";

/** Remembered of an upstream that makes no decisions itself. */
export const OWN_DECISIONS = "decisions";
/** Remembered of one that reports no log probabilities. */
export const LOGPROBS = "log probabilities";
/** Remembered of one that reports fewer alternatives of a token than most. */
export const MANY_LOGPROBS = "more than 5 log probabilities";

export type Lesson = typeof OWN_DECISIONS | typeof LOGPROBS | typeof MANY_LOGPROBS | typeof A_FORM;

type Asked = Pick<Attempt<ModelOperation>, "target" | "upstream" | "key">;

/** The target, with what its upstream is known to refuse, and what this request has found. */
export function decidingTarget({ target, upstream, key }: Asked, found: ReadonlySet<Lesson> = new Set()): Target {
  const known = upstream.refusals.names(placeOf({ upstream, target }), key);
  const { refuses } = upstream;
  const has = (lesson: Lesson) => found.has(lesson) || known.includes(lesson);
  return {
    ...target,
    refusesDecisions: has(OWN_DECISIONS),
    refusesLogprobs: has(LOGPROBS) || refuses.includes("logprobs") || refuses.includes("top_logprobs"),
    refusesManyLogprobs: has(MANY_LOGPROBS),
    refusesForm: has(A_FORM) || refuses.includes(FORM),
  };
}

const REFUSALS: ReadonlySet<ErrorCode> = new Set(["invalid_request", "unsupported", "upstream_error"]);
/** The path is unknown, or the server serves it, but not for this model. */
const LACKING: ReadonlySet<number | undefined> = new Set([405, 501]);

const ANY_LOGPROBS = /log[ _-]?prob/i;
/** The field with a number that is less than what is usual: `top_logprobs must be between 0 and 5`. */
const FEW_LOGPROBS = /top_?logprobs\D{0,60}(?:.{0,40}\D)?(?:[5-9]|1\d)(?!\d)/i;

/** The lesson of a failure. `how`: how it was asked. `undefined` if it would fail in another way, too. */
export function lessonOf(thrown: unknown, how: string, found: ReadonlySet<Lesson>): Lesson | undefined {
  const { code, message, details: { upstreamStatus, unsupported } } = toGatewayError(thrown);
  if (upstreamStatus === undefined) return undefined;
  if (how === "natively") {
    const isPath = upstreamStatus === 404 && !/\bmodel\b/i.test(message);
    return LACKING.has(upstreamStatus) || isPath ? OWN_DECISIONS : undefined;
  }
  if (!REFUSALS.has(code)) return undefined;
  if (how === "log probabilities") {
    if (!ANY_LOGPROBS.test(message)) return undefined;
    return FEW_LOGPROBS.test(message) && !found.has(MANY_LOGPROBS) ? MANY_LOGPROBS : LOGPROBS;
  }
  return how === "schema" && unsupported?.includes(FORM) ? A_FORM : undefined;
}

/** Remembers it for the next requests. */
export function remember({ target, upstream, key }: Asked, lesson: Lesson): void {
  upstream.refusals.add(placeOf({ upstream, target }), [lesson], key);
}
