/** One operation, asked of one target. */
import type { Message } from "../canonical/generate.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import type { AnswerContext } from "../contract/context.ts";
import type { LocalOperation, Target, UpstreamOperation } from "../contract/driver.ts";
import { GatewayError } from "../errors.ts";
import type { Upstream } from "./send.ts";

/** What a target turned out to refuse, and how else it is asked. */
export interface Lessons {
  refusesCacheHints: boolean;
  /** Whether it takes no reasoning of earlier turns. */
  refusesReasoning: boolean;
  /** Present where the form of the answer is asked for in words: the turns that correct an answer which had not that form. */
  corrections?: readonly Message[];
}

/** What one answer of the upstream costs. The first end that is reported of it counts. */
export interface AnswerBill<K extends ModelOperation> {
  /** `text`: how much of the answer has come, in characters. */
  follow(text: { readonly length: number }): void;
  answered(output: Output<K>): void;
  /** The same step by step: the event that ended it. */
  finished(last: StreamEvent<K>): void;
  /** The answer is over, or never came. `isGivenUp`: because nobody wanted it any more. */
  ended(isGivenUp: boolean): void;
}

export interface Ask<K extends ModelOperation> {
  operation: K;
  /** As it was asked, before it was prepared for the target: the answer is read by it. */
  input: Input<K>;
  /** The input as the target wants it; nothing but this changes it. */
  prepare(lessons: Lessons): Input<K>;
  /** The tokens of a conversation, estimated; 0 where it is none. */
  estimate: number;
  target: Target;
  upstream: Upstream;
  context: AnswerContext;
  /** Aborted when the answer is no longer wanted. */
  signal: AbortSignal;
  /**
   * Present where the form of the answer is asked for in words: the turns that correct an answer which had not that form,
   * none at the first try. Where it is absent, what is known of the upstream decides.
   */
  corrections?: readonly Message[];
  /** Called when the upstream's calls are described, and before one is made again with less: the last moment to refuse. */
  onDescribed(): void;
  /** Opens the bill of an answer that is about to be asked for; one more for each try. Throws where nobody pays for it. */
  bill?(): AnswerBill<K> | Promise<AnswerBill<K>>;
  /** Hears the head of each answer that is no failure. The answer is read once what it gives is done, if anything. */
  onHead?(headers: Headers): Promise<unknown> | undefined;
}

/** How the upstream is asked. Throws where it lacks its secret, or does not serve the operation. */
export function wayOf<K extends ModelOperation>(
  { operation, upstream }: Ask<K>,
): UpstreamOperation<K> | LocalOperation<K> {
  if (upstream.missingSecret !== undefined) {
    const message = `Upstream "${upstream.name}" has no secret: set the environment variable ${upstream.missingSecret}`;
    throw new GatewayError("unavailable", message, { retryable: false, notProcessed: true });
  }
  const way = upstream.driver.operations[operation];
  if (!way) throw new GatewayError("unsupported", `Upstream "${upstream.name}" does not serve "${operation}"`);
  return way;
}

/** One model at one of the places that an upstream may have. */
export function placeOf<K extends ModelOperation>({ upstream, target }: Ask<K>): string {
  return `${upstream.baseUrl} ${target.model}`;
}

/** The embedded upstream is asked by answering, so what it leaves out is known only then. */
export function local<K extends ModelOperation>(way: LocalOperation<K>, ask: Ask<K>): Output<K> {
  const input = ask.prepare({ refusesCacheHints: false, refusesReasoning: false });
  const output = way.local(input, ask.target, ask.context);
  ask.onDescribed();
  return output;
}

/** What is asked of an upstream that gives no answer step by step. */
export function cannotStream({ operation, upstream }: Ask<ModelOperation>): GatewayError {
  return new GatewayError("unsupported", `Upstream "${upstream.name}" does not stream "${operation}"`);
}
