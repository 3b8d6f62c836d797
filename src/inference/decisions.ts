/**
 * Has all questions of a request answered by one target. A target that cannot answer in the first way is asked in the next one:
 * by its own decisions, by log probabilities, by a schema, by a tool.
 */
import type { DecideResponse, Decision } from "../canonical/decide.ts";
import { estimateTextTokens } from "../canonical/estimate.ts";
import type { Input } from "../canonical/operations.ts";
import { type ReportedUsage, sumReported } from "../canonical/usage.ts";
import type { UpstreamOperation } from "../contract/driver.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { type Attempt, placeOf, wayOf } from "../upstream/attempt.ts";
import { decidingTarget, type Lesson, lessonOf, LOGPROBS, remember } from "../upstream/decisions.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import type { Ask, Inference } from "./inference.ts";

/** The models of each upstream that have reported log probabilities, so that all questions can be asked at once. */
const REPORTING = new WeakMap<object, BoundedMap<string, true>>();
const MOST_MODELS = 1_000;

/** The most characters that all requests for one are, together: each question is sent with all of the input. */
const MOST_CHARACTERS = 67_108_864;

/** From here on, the possible answers count as all that the model wanted to say. */
const ALL = 0.99;

/** A way is given up after each try but the last. */
const MOST_TRIES = 8;

export async function decide(inference: Inference<"decide">, ask: Ask<"decide">): Promise<DecideResponse> {
  const { attempt } = inference;
  const way = attempt && wayOf(attempt);
  if (!attempt || !way || "local" in way || !way.wayAt) return await ask(inference).whole();
  const loading = way.load?.();
  if (loading) await loading;
  return await new Deciding(inference, attempt, way, ask).run();
}

/** One request at one target. */
class Deciding {
  readonly #inference: Inference<"decide">;
  readonly #attempt: Attempt<"decide">;
  readonly #way: UpstreamOperation<"decide">;
  readonly #ask: Ask<"decide">;
  readonly #found = new Set<Lesson>();
  readonly #answers: (Decision | undefined)[];
  readonly #usages: ReportedUsage[] = [];
  #extra: DecideResponse["extra"];

  constructor(
    inference: Inference<"decide">,
    attempt: Attempt<"decide">,
    way: UpstreamOperation<"decide">,
    ask: Ask<"decide">,
  ) {
    this.#inference = inference;
    this.#attempt = attempt;
    this.#way = way;
    this.#ask = ask;
    this.#answers = inference.input.questions.map(() => undefined);
  }

  async run(): Promise<DecideResponse> {
    const { input } = this.#inference;
    let unread: number[] = [];
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const pending = input.questions.flatMap((_, index) => this.#answers[index] ? [] : index);
      if (pending.length === 0) break;
      // Without a label among the likeliest tokens, only these questions are asked in another way.
      const found = unread.length > 0 ? new Set([...this.#found, LOGPROBS] as Lesson[]) : this.#found;
      await this.#next(unread.length > 0 ? unread : pending, found);
      unread = [...this.#answers.keys()].filter((index) => isWithoutLabel(this.#answers[index]));
      for (const index of unread) this.#answers[index] = undefined;
    }
    const answers = this.#answers.filter((one) => one !== undefined);
    if (answers.length < input.questions.length) {
      throw new GatewayError("upstream_error", "The upstream's answer shows none of the possible answers");
    }
    const least = Math.min(...answers.map((one) => one.type === "decided" ? one.labelMass ?? 1 : 1));
    if (least < ALL) {
      this.#attempt.context.note(`the possible answers had ${least.toFixed(2)} of all probability at least`);
    }
    return { model: this.#attempt.target.model, answers, usage: sumReported(this.#usages), extra: this.#extra };
  }

  /** Asks some of the questions in the first way that may work. */
  async #next(pending: readonly number[], found: ReadonlySet<Lesson>): Promise<void> {
    const target = decidingTarget(this.#attempt, found);
    const how = this.#way.wayAt!(target);
    if (how !== "natively") checkSize(this.#inference.input);
    const { upstream: { refusals } } = this.#attempt;
    const place = placeOf(this.#attempt);
    const isUnknown = how === "log probabilities" && !REPORTING.get(refusals)?.has(place);
    // One question shows whether the server reports any. The others would be paid for in vain.
    const asked = isUnknown ? pending.slice(0, 1) : pending;
    let output: DecideResponse;
    try {
      output = await this.#ask({ ...this.#inference, attempt: this.#attemptFor(asked, target, how) }).whole();
    } catch (thrown) {
      const lesson = lessonOf(thrown, how, found);
      if (lesson === undefined || found.has(lesson) || !this.#canAskAgain(lesson)) throw this.#failure(thrown);
      this.#learn(lesson);
      return;
    }
    this.#take(output, asked);
    if (how !== "log probabilities") return;
    if (asked.some((index) => lacksLogprobs(this.#answers[index]))) {
      for (const index of asked) if (lacksLogprobs(this.#answers[index])) this.#answers[index] = undefined;
      this.#learn(LOGPROBS);
    } else {
      const reporting = REPORTING.get(refusals) ?? new BoundedMap<string, true>(MOST_MODELS);
      REPORTING.set(refusals, reporting);
      reporting.set(place, true);
    }
  }

  #take({ answers, usage, extra }: DecideResponse, asked: readonly number[]): void {
    for (const [at, index] of asked.entries()) this.#answers[index] = answers[at];
    this.#usages.push(usage);
    this.#extra = extra;
  }

  #learn(lesson: Lesson): void {
    this.#found.add(lesson);
    remember(this.#attempt, lesson);
  }

  /** Whether there is another way, and another call may be made. */
  #canAskAgain(lesson: Lesson): boolean {
    const { signal, calls } = this.#attempt;
    if (signal.aborted || calls?.areCallsSpent()) return false;
    if (calls) calls.repeated++;
    try {
      this.#way.wayAt!(decidingTarget(this.#attempt, new Set([...this.#found, lesson])));
      return true;
    } catch {
      return false;
    }
  }

  /** A target that has answered some of the questions charges for that. */
  #failure(thrown: unknown): unknown {
    if (this.#usages.length === 0) return thrown;
    const { code, message, details } = toGatewayError(thrown);
    return new GatewayError(code, message, { ...details, notProcessed: false });
  }

  /** The attempt for some of the questions. */
  #attemptFor(asked: readonly number[], target: Attempt<"decide">["target"], how: string): Attempt<"decide"> {
    const { input, estimate } = this.#inference;
    const attempt = this.#attempt;
    const some = (all: Input<"decide">): Input<"decide"> =>
      asked.length === all.questions.length ? all : { ...all, questions: asked.map((index) => all.questions[index]!) };
    const part = { ...some(input) };
    return {
      ...attempt,
      input: part,
      target,
      estimate: how === "natively" ? estimate : estimateEach(part),
      prepare(lessons) {
        const prepared = attempt.prepare(lessons);
        // The answer has the values as they were sent, in which stages of plugins may have replaced something.
        const keep = (one: Input<"decide">) => Object.assign(part, some(one));
        return prepared instanceof Promise ? prepared.then(keep) : keep(prepared);
      },
    };
  }
}

function isWithoutLabel(answer: Decision | undefined): boolean {
  return answer?.type === "open" && answer.lacks === "label";
}

function lacksLogprobs(answer: Decision | undefined): boolean {
  return answer?.type === "open" && answer.lacks === "logprobs";
}

function checkSize({ turns, questions }: Input<"decide">): void {
  const characters = JSON.stringify(turns).length * questions.length;
  if (characters <= MOST_CHARACTERS) return;
  const message =
    `The input is sent with each question, which is at most ${MOST_CHARACTERS} characters together, not ${characters}`;
  throw new GatewayError("invalid_request", message, { param: "questions", tryNextTarget: true, notProcessed: true });
}

/** The tokens of one request for each question, each of which has the whole state. */
function estimateEach({ turns, questions }: Input<"decide">): number {
  return estimateTextTokens(JSON.stringify(turns)) * questions.length + estimateTextTokens(JSON.stringify(questions));
}
