/** Chooses what to give up of a refused request beyond what the driver recognizes, and finds out which of it has helped. */
import type { JsonObject } from "../canonical/json.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import type { BodyLayout } from "../contract/body_layout.ts";
import type { Call, Reply } from "../contract/call.ts";
import type { ErrorCode, GatewayError } from "../errors.ts";
import { readEvidence } from "../relaxations/evidence.ts";
import type { Search } from "../relaxations/learnt.ts";
import { changeAt } from "../relaxations/paths.ts";
import { effectiveIn, plainest, relax, type Relaxation } from "../relaxations/relaxation.ts";
import { wordsIn } from "../relaxations/words.ts";
import { digestOf } from "../util/digest.ts";
import { type Attempt, placeOf } from "./attempt.ts";
import { bodyIn, layoutFor, relaxNoted, trialOf } from "./known_refusals.ts";
import { FORM } from "./schema_in_prompt.ts";

/** How much of a refusal is read, in characters. */
const LONGEST_WORDS = 8_192;

/** The relaxations beyond what the driver recognizes, and which of them have helped. */
export class Guesses<K extends ModelOperation> {
  readonly #attempt: Attempt<K>;
  readonly #layout: BodyLayout | undefined;
  readonly #trial: Search | undefined;
  #failure: GatewayError | undefined;
  #active: readonly Relaxation[] = [];
  /** Those that the last call gave up in addition. */
  #last: readonly Relaxation[] = [];
  /** All that the plainest form gives up. */
  #plainest: readonly Relaxation[] = [];
  readonly #tried = new Set<string>();
  readonly #sent = new Set<string>();
  #words = "";
  #step: "none" | "named" | "plainest" | "trial" = "none";

  constructor(first: Call, attempt: Attempt<K>) {
    this.#attempt = attempt;
    this.#layout = layoutFor(attempt);
    this.#trial = trialOf(first);
  }

  /** The refusal of the request as it was before anything was guessed, unless the host then found another reason than its form. */
  get failure(): GatewayError | undefined {
    return this.#failure;
  }

  refused(error: GatewayError, { body }: Reply): void {
    const isOther = !REFUSALS.has(error.code) || this.#layout?.ideas(wordsIn(body, LONGEST_WORDS)).isFinal;
    if (this.#step === "none" || isOther) this.#failure = error;
  }

  applied(call: Call): Call {
    const body = bodyIn(call);
    if (!this.#layout || !body || this.#active.length === 0) return call;
    return { ...call, body: relax(body, this.#active, this.#layout) };
  }

  /** Notes what was given up, and remembers it. */
  accepted(call: Call): void {
    const body = bodyIn(call);
    if (!this.#layout || !body || this.#active.length === 0) return;
    const { upstream: { refusals }, key } = this.#attempt;
    const place = placeOf(this.#attempt);
    relaxNoted(body, this.#active, this.#layout, this.#attempt);
    if (this.#step === "trial") return;
    const isSearch = this.#plainest.length > 1;
    const known = isSearch ? this.#active.filter((one) => !this.#plainest.includes(one)) : this.#active;
    refusals.add(place, known.filter((one) => one.does !== "clamp" || one.isOwn), key);
    if (isSearch) refusals.search(place, this.#plainest, key);
  }

  /** Chooses what to give up next. `isLastTry`: whether no other call is left. Returns whether there is anything. */
  next(call: Call, reply: Reply, isLastTry: boolean): boolean {
    const original = bodyIn(call);
    if (this.#step === "trial" || !this.#layout || !original || !this.#failure) return false;
    if (!isRefusal(this.#failure, reply, this.#layout, original)) return false;
    return this.#trial && this.#step === "none"
      ? this.#endTrial(this.#trial)
      : this.#guess(original, reply, isLastTry, this.#layout);
  }

  /** Something that was not given up is needed. */
  #endTrial(trial: Search): boolean {
    const { upstream: { refusals }, key } = this.#attempt;
    refusals.tried(placeOf(this.#attempt), trial, false, key);
    [this.#active, this.#step] = [trial.enough, "trial"];
    return true;
  }

  #guess(original: JsonObject, { status, body: said }: Reply, isLastTry: boolean, layout: BodyLayout): boolean {
    const text = wordsIn(said, LONGEST_WORDS);
    const words = text.replace(/\b[\w-]*\d[\w-]*\b/g, "");
    const hasHelped = this.#step === "none" || words !== this.#words;
    // Without another complaint there is nothing left to give up.
    if (this.#plainest.length > 0 && !hasHelped) return false;
    // The complaint is the same, so it was not about this.
    if (!hasHelped) this.#active = this.#active.filter((one) => !this.#last.includes(one));
    this.#words = words;
    const body = relax(original, this.#active, layout);
    this.#sent.add(digestOf(JSON.stringify(body)));
    const { lists, isOpen } = readEvidence({ text, estimate: this.#attempt.estimate }, body, layout);
    const named = isLastTry && !hasHelped ? [] : lists;
    if (named.some((list) => this.#gives(list, body, layout, "named"))) return true;
    // Strict requests give up nothing that the host does not name, and another provider may take all of it.
    const isKept = this.#attempt.onDescribed !== undefined || this.#failure?.details.tryNextTarget === true ||
      this.#plainest.length > 0;
    return isOpen && !isKept && status !== 413 && this.#gives(plainest(body, layout), body, layout, "plainest");
  }

  #gives(
    list: readonly Relaxation[],
    body: JsonObject,
    layout: BodyLayout,
    step: "named" | "plainest",
  ): boolean {
    const fresh = list.filter((one) => step === "plainest" || !this.#tried.has(JSON.stringify(one)));
    const useful = effectiveIn(body, fresh, layout);
    const relaxed = relax(body, useful, layout);
    const digest = digestOf(JSON.stringify(relaxed));
    if (useful.length === 0 || this.#sent.has(digest)) return false;
    if (this.#attempt.onDescribed) {
      relaxNoted(body, useful, layout, this.#attempt);
      this.#attempt.onDescribed();
    }
    for (const one of useful) this.#tried.add(JSON.stringify(one));
    this.#sent.add(digest);
    if (step === "plainest") this.#plainest = useful;
    [this.#active, this.#last, this.#step] = [[...this.#active, ...useful], useful, step];
    return true;
  }
}

const REFUSALS: ReadonlySet<ErrorCode> = new Set(["invalid_request", "unsupported_media_type", "request_too_large"]);

/** Whether the upstream refused the form of the request, and has done no work. */
function isRefusal(
  { code, details }: GatewayError,
  { status, body: said }: Reply,
  { ideas, answerForms }: BodyLayout,
  sent: JsonObject,
): boolean {
  // The stage for structured output asks in words.
  const hasForm = answerForms.some((path) => changeAt(sent, path, () => undefined) !== sent);
  if (hasForm && details.unsupported?.includes(FORM)) return false;
  if (status === 500 && ideas(wordsIn(said, LONGEST_WORDS)).isUnread) return true;
  return REFUSALS.has(code) && [400, 413, 415, 422, 500].includes(status);
}
