/**
 * Asks an upstream again without what it refused: first what its driver recognizes, then what the words of the refusal
 * name of the body, at last everything that can be given up.
 */
import type { JsonObject } from "../canonical/json.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import type { BodyLayout } from "../contract/body_layout.ts";
import type { Call, Reply } from "../contract/call.ts";
import { type ErrorCode, GatewayError } from "../errors.ts";
import type { TransportResponse } from "../platform/transport.ts";
import { readEvidence, wordsIn } from "../relaxations/evidence.ts";
import { nameOf, plainest, relax, type Relaxation, relaxOne } from "../relaxations/relaxation.ts";
import { CACHE_HINT } from "../transforms/cache_hints.ts";
import { digestOf } from "../util/digest.ts";
import { type Attempt, placeOf, wayOf } from "./attempt.ts";
import { callsFor, EMPTY_CONTENT, NULL_CONTENT, REASONING, refusedBy } from "./describe_call.ts";
import { bodyIn, layoutFor, relaxNoted, trialOf } from "./known_refusals.ts";
import { fieldsOf, tellsRoom, without, withShorterAnswer } from "./call_fields.ts";
import { FORM } from "./schema_in_prompt.ts";
import { readReply, send, type Upstream } from "./send.ts";

/** Entries for parts that occur in many places of the input. The whole call is described again to leave one out. */
const IN_INPUT: readonly string[] = [CACHE_HINT, REASONING, NULL_CONTENT, EMPTY_CONTENT];

/** How often one upstream is asked, with the first time. Some hosts report only one field at a time. */
const MOST_TRIES = 5;
/** How much of a refusal is read, in characters. */
const LONGEST_WORDS = 8_192;

/**
 * The response to a call that is repeated without the parts that the upstream refuses, beginning with those in
 * `refusal`. Throws the upstream's first refusal if nothing helps.
 */
export async function askAgain<K extends ModelOperation>(
  first: Call,
  refusal: TransportResponse,
  attempt: Attempt<K>,
  signal: AbortSignal,
): Promise<TransportResponse> {
  const { upstream, key } = attempt;
  const place = placeOf(attempt);
  const guesses = new Guesses(first, attempt);
  const learnt: string[] = [];
  let refused = refusedBy(attempt);
  let call = first;
  let shortened = false;
  for (let tries = 1;; tries++) {
    const response = tries === 1 ? refusal : await send(guesses.applied(call), upstream, signal, attempt.largeFor);
    const reply = response.ok ? undefined : await readReply(response, upstream.answerBytes, upstream.json);
    const error = reply && refusalOf(upstream, reply);
    // A different complaint means that leaving out the earlier part has helped.
    const isPast = !error || error.details.unsupported?.some((one) => !refused.includes(one));
    if (isPast && learnt.length > 0) upstream.refusals.add(place, learnt, key);
    if (!error) {
      guesses.accepted(call);
      return response;
    }
    guesses.refused(error);
    const shorter = shortened ? undefined : withShorterAnswer(call, attempt, error);
    if (shorter) {
      // The first refusal may only have led to an estimate. The next one may state the exact number.
      shortened = tellsRoom(error);
      call = shorter;
      continue;
    }
    if (tries === MOST_TRIES || attempt.signal.aborted) throw guesses.failure;
    const named = namedIn(error);
    refused = [...refused, ...named];
    const less = await lessOf(call, attempt, named, refused);
    if (less) {
      attempt.onDescribed?.();
      learnt.push(...named.filter((one) => isLearnt(one, call, less, error)));
      call = less;
    } else if (!guesses.next(call, reply, tries === MOST_TRIES - 1)) throw guesses.failure;
  }
}

/** What is given up beyond what the driver recognizes, and which of it has helped. */
class Guesses<K extends ModelOperation> {
  readonly #attempt: Attempt<K>;
  readonly #trial;
  #failure: GatewayError | undefined;
  #active: readonly Relaxation[] = [];
  /** What the last call gave up in addition. */
  #last: readonly Relaxation[] = [];
  readonly #tried = new Set<string>();
  readonly #sent = new Set<string>();
  #words = "";
  #step: "none" | "named" | "plainest" | "trial" = "none";

  constructor(first: Call, attempt: Attempt<K>) {
    this.#attempt = attempt;
    this.#trial = trialOf(first);
  }

  /** The refusal of the request as it was before anything was guessed. */
  get failure(): GatewayError | undefined {
    return this.#failure;
  }

  refused(error: GatewayError): void {
    if (this.#step === "none") this.#failure = error;
  }

  applied(call: Call): Call {
    const layout = layoutFor(this.#attempt);
    const body = bodyIn(call);
    return layout && body && this.#active.length > 0 ? { ...call, body: relax(body, this.#active, layout) } : call;
  }

  /** Notes what was given up, and remembers it. */
  accepted(call: Call): void {
    const layout = layoutFor(this.#attempt);
    const body = bodyIn(call);
    if (!layout || !body || this.#active.length === 0) return;
    const { upstream: { refusals }, key } = this.#attempt;
    const place = placeOf(this.#attempt);
    relaxNoted(body, this.#active, layout, this.#attempt);
    if (this.#step === "trial") return;
    const isSearch = this.#step === "plainest" && this.#last.length > 1;
    const known = isSearch ? this.#active.filter((one) => !this.#last.includes(one)) : this.#active;
    refusals.add(place, known.filter((one) => one.does !== "clamp" || one.isOwn), key);
    if (isSearch) refusals.search(place, this.#last, key);
  }

  /** Chooses what to give up next. `isLastTry`: whether no other call is left. Returns whether there is anything. */
  next(call: Call, reply: Reply, isLastTry: boolean): boolean {
    const { upstream: { refusals }, key } = this.#attempt;
    const layout = layoutFor(this.#attempt);
    const original = bodyIn(call);
    if (!layout || !original || !this.#failure || !isRefusal(this.#failure, reply, layout)) return false;
    if (this.#trial && this.#step === "none") {
      refusals.tried(placeOf(this.#attempt), this.#trial, false, key);
      this.#active = this.#trial.enough;
      this.#step = "trial";
      return true;
    }
    if (this.#step === "plainest" || this.#step === "trial") return false;
    const text = wordsIn(reply.body, LONGEST_WORDS);
    const words = text.replace(/\b[\w-]*\d[\w-]*\b/g, "");
    const hasHelped = this.#step === "none" || words !== this.#words;
    // The complaint is the same, so it was not about this.
    if (!hasHelped) this.#active = this.#active.filter((one) => !this.#last.includes(one));
    this.#words = words;
    const body = relax(original, this.#active, layout);
    this.#sent.add(digestOf(JSON.stringify(body)));
    const { lists, isOpen } = readEvidence({ text, estimate: this.#attempt.estimate }, body, layout);
    if (!isLastTry || hasHelped) {
      for (const list of lists) if (this.#gives(list, body, layout, "named")) return true;
    }
    // Strict requests give up nothing that the host does not name, and another provider may take all of it.
    if (!isOpen || this.#attempt.onDescribed || reply.status === 413 || this.#failure.details.tryNextTarget) {
      return false;
    }
    return this.#gives(plainest(body, layout), body, layout, "plainest");
  }

  #gives(
    list: readonly Relaxation[],
    body: JsonObject,
    layout: BodyLayout,
    step: "named" | "plainest",
  ): boolean {
    const fresh = list.filter((one) => step === "plainest" || !this.#tried.has(JSON.stringify(one)));
    const useful = fresh.filter((one) => relaxOne(body, one, layout) !== body);
    const relaxed = relax(body, useful, layout);
    const digest = digestOf(JSON.stringify(relaxed));
    if (useful.length === 0 || this.#sent.has(digest)) return false;
    if (this.#attempt.onDescribed) {
      relaxNoted(body, useful, layout, this.#attempt);
      this.#attempt.onDescribed();
    }
    for (const one of useful) this.#tried.add(JSON.stringify(one));
    this.#sent.add(digest);
    [this.#active, this.#last, this.#step] = [[...this.#active, ...useful], useful, step];
    return true;
  }
}

const REFUSALS: ReadonlySet<ErrorCode> = new Set(["invalid_request", "unsupported_media_type", "request_too_large"]);

/** Whether the upstream refused the form of the request, and has done no work. */
function isRefusal({ code, details }: GatewayError, { status, body }: Reply, { ideas }: BodyLayout): boolean {
  // The stage for structured output asks in words.
  if (details.unsupported?.includes(FORM)) return false;
  if (status === 500 && ideas(wordsIn(body, LONGEST_WORDS)).isUnread) return true;
  return REFUSALS.has(code) && [400, 413, 415, 422, 500].includes(status);
}

/** The parts that an upstream's refusal names and that can be left out. The output schema cannot. */
function namedIn({ details: { unsupported = [], reasoning } }: GatewayError): string[] {
  return [...unsupported.filter((field) => field !== FORM), ...(reasoning ? [REASONING] : [])];
}

/**
 * The call without the parts in `named`; `undefined` if that changes nothing. `refused`: all parts that are refused so
 * far.
 */
async function lessOf<K extends ModelOperation>(
  call: Call,
  attempt: Attempt<K>,
  named: readonly string[],
  refused: readonly string[],
): Promise<Call | undefined> {
  const way = wayOf(attempt);
  const standsInInput = named.some((one) => IN_INPUT.includes(one));
  if (!standsInInput || !("messages" in attempt.input) || "local" in way) {
    const less = without(call, named, attempt);
    return less === call ? undefined : less;
  }
  const [less] = await callsFor(attempt, way, refused);
  return less && JSON.stringify(less.body) !== JSON.stringify(call.body) ? less : undefined;
}

/**
 * Whether to remember the refusal: only if it concerns a field that was sent. Reasoning that is refused because of one
 * conversation, such as another vendor's signature, says nothing about the next conversation.
 */
function isLearnt(named: string, before: Call, after: Call, { details }: GatewayError): boolean {
  if ([CACHE_HINT, NULL_CONTENT, EMPTY_CONTENT].includes(named)) return true;
  if (named === REASONING) return details.reasoning === "any";
  return Object.hasOwn(fieldsOf(before), named) && !Object.hasOwn(fieldsOf(after), named);
}

/**
 * The error for a status outside 2xx. A redirect or an unknown status comes from something that is not a model server
 * or is misconfigured, so it is not retried.
 */
function refusalOf({ driver }: Upstream, reply: Reply): GatewayError {
  const { code, message, details } = driver.parseError(reply);
  const { status } = reply;
  if (status < 400 || status > 599) {
    return new GatewayError("upstream_error", message, { ...details, retryable: false, tryNextTarget: false });
  }
  return new GatewayError(code, message, { ...details, notProcessed: isNotProcessed(status) });
}

/**
 * 4xx statuses (RFC 9110) that a server sends while it is already working or waiting: 408 and 424, and 499 from
 * proxies.
 */
const LATE_REFUSALS: ReadonlySet<number> = new Set([408, 424, 499]);
/** 5xx statuses that mean that the server is too busy to begin. 529 is the messages wire's own status for that. */
const BUSY: ReadonlySet<number> = new Set([503, 529]);

/**
 * Whether a status means that the work was not started. After any other status the server may still be working and
 * charge for it.
 */
function isNotProcessed(status: number): boolean {
  return status < 500 ? !LATE_REFUSALS.has(status) : BUSY.has(status);
}
