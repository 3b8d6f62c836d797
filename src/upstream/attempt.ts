/** One request for an operation to one target. */
import type { Message } from "../canonical/generate.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import type { AnswerContext } from "../contract/context.ts";
import type { LocalOperation, Target, UpstreamOperation } from "../contract/driver.ts";
import { GatewayError } from "../errors.ts";
import type { PassedAll } from "../transforms/pass_stages.ts";
import type { Upstream } from "./send.ts";

/** The parts of requests that a target is known to refuse, and how to ask it instead. */
export interface Lessons {
  refusesCacheHints: boolean;
  /** Whether it refuses reasoning of earlier turns. */
  refusesReasoning: boolean;
  /**
   * Present if the output schema is requested in the prompt: the turns that correct an answer which did not match it.
   */
  corrections?: readonly Message[];
}

/** Tracks what one answer of the upstream costs. Only the first reported end counts. */
export interface AnswerBill<K extends ModelOperation> {
  /** `text`: how many characters of the answer have arrived. */
  follow(text: { readonly length: number }): void;
  answered(output: Output<K>): void;
  /** A streamed answer is complete; `last` is the event that ended it. */
  finished(last: StreamEvent<K>): void;
  /** The answer is over or never arrived. `isGivenUp`: the request was cancelled. */
  ended(isGivenUp: boolean): void;
}

/** Known once the calls are described. Holds nothing of the request. */
export type WayBack<K extends ModelOperation> = Omit<PassedAll<K>, "input">;

export interface Attempt<K extends ModelOperation> {
  operation: K;
  /** The input before it was prepared for the target. The answer is parsed against it. */
  input: Input<K>;
  /** Prepares the input for the target. This is the only place that changes it. It waits only for stages of plugins. */
  prepare(lessons: Lessons): Input<K> | Promise<Input<K>>;
  /** Estimated tokens of the conversation; 0 if the input is not one. */
  estimate: number;
  /** The caller, if the calls may be so large that they wait their turn. */
  largeFor?: string | undefined;
  /** Whose request it is. What an upstream refuses is remembered for the requests of one key first. */
  key: string;
  target: Target;
  /** The target as the calls were described for it, if that is another. The answer is read against it. */
  described?: Target;
  upstream: Upstream;
  context: AnswerContext;
  /** How the answer passes back through stages of plugins. Absent if there are none. */
  wayBack?: WayBack<K>;
  /** Aborted when the answer is no longer needed. */
  signal: AbortSignal;
  /** Whether the upstream refused the latest call, so that it is not working on one. */
  isRefused?: boolean;
  /** Counts the calls of the request. Absent if nobody does. */
  calls?: {
    /** Whether no further call may be made. */
    areCallsSpent(): boolean;
    /** How often an attempt called its upstream again. */
    repeated: number;
  };
  /**
   * Present if the output schema is requested in the prompt: the turns that correct an earlier answer, empty at the
   * first attempt. If absent, what is known about the upstream decides.
   */
  corrections?: readonly Message[];
  /**
   * Called once the upstream calls are described, and again before a reduced call is made. This is the last chance to
   * refuse.
   */
  onDescribed?(): void;
  /** Opens a bill for the answer that is about to be requested, one per attempt. Throws if no budget covers it. */
  bill?(): AnswerBill<K> | Promise<AnswerBill<K>>;
  /**
   * Called with the headers of each successful response. If it returns a promise, the body is read after that promise
   * settles.
   */
  onHead?(headers: Headers): Promise<unknown> | undefined;
}

/**
 * The driver's implementation of the operation. Throws if the upstream has no secret or does not serve the operation.
 */
export function wayOf<K extends ModelOperation>(
  { operation, upstream }: Attempt<K>,
): UpstreamOperation<K> | LocalOperation<K> {
  if (upstream.missingSecret !== undefined) {
    const { name, missingSecret, hasSecretFile } = upstream;
    const cure = hasSecretFile ? "write it to the file" : "set the environment variable";
    const message = `Upstream "${name}" has no secret: ${cure} ${missingSecret}`;
    throw new GatewayError("unavailable", message, { retryable: false, notProcessed: true });
  }
  const way = upstream.driver.operations[operation];
  if (!way) throw new GatewayError("unsupported", `Upstream "${upstream.name}" does not serve "${operation}"`);
  return way;
}

/** Whether the upstream was working on a call, or may have been, when its answer was no longer needed. */
export function isGivenUp({ signal, isRefused }: Pick<Attempt<ModelOperation>, "signal" | "isRefused">): boolean {
  return signal.aborted && !isRefused;
}

/** Identifies one model at one base URL. Its completions are another endpoint, which refuses other fields. */
export function placeOf(
  { operation, upstream, target }: Pick<Attempt<ModelOperation>, "upstream" | "target"> & {
    operation?: ModelOperation;
  },
): string {
  const place = `${upstream.baseUrl} ${target.model}`;
  return operation === "complete" ? `${place} completions` : place;
}

/** Answers from the embedded upstream. The parts that it cannot express are known only after it has answered. */
export function local<K extends ModelOperation>(
  way: LocalOperation<K>,
  attempt: Attempt<K>,
): Output<K> | Promise<Output<K>> {
  const loading = way.load?.(attempt.input);
  if (loading) return loading.then(() => local(way, attempt));
  const answer = (input: Input<K>) => {
    const output = way.local(input, attempt.target, attempt.context);
    attempt.onDescribed?.();
    return output;
  };
  const prepared = attempt.prepare({ refusesCacheHints: false, refusesReasoning: false });
  return prepared instanceof Promise ? prepared.then(answer) : answer(prepared);
}

/** The error for an upstream that cannot stream the operation. */
export function cannotStream({ operation, upstream }: Attempt<ModelOperation>): GatewayError {
  return new GatewayError("unsupported", `Upstream "${upstream.name}" does not stream "${operation}"`);
}
