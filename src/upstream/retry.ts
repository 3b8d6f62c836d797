import { type ErrorCode, toGatewayError } from "../errors.ts";

/** Failures of the upstream, which another one may not have. */
const FAILURES: ReadonlySet<ErrorCode> = new Set(["upstream_error", "upstream_timeout", "unavailable", "rate_limit"]);
/** What this upstream cannot do and another one may. What the caller did wrong is wrong everywhere. */
const INABILITIES: ReadonlySet<ErrorCode> = new Set(["model_not_found", "unsupported", "unsupported_media_type"]);

/** What becomes of the targets that are asked. */
export interface Fate<T> {
  /** The target whose answer it is; of a stream, as soon as there is content. */
  onServed(target: T): void;
  /** A target that cannot answer, or whose answer broke off. */
  onFailed(target: T): void;
}

/** The answer of the first target that gives one. */
export async function firstAnswer<T, R>(
  targets: readonly T[],
  attempt: (target: T) => Promise<R>,
  fate?: Fate<T>,
): Promise<R> {
  const refusals: unknown[] = [];
  for (const target of targets) {
    try {
      const answer = await attempt(target);
      fate?.onServed(target);
      return answer;
    } catch (thrown) {
      if (isTargets(thrown)) fate?.onFailed(target);
      if (!isWorthAnother(thrown)) throw thrown;
      refusals.push(thrown);
    }
  }
  throw worstOf(refusals);
}

/** The stream of the first target that gets as far as content. From there on a failure is the answer's own. */
export async function* firstStream<T, E extends { type: string }>(
  targets: readonly T[],
  attempt: (target: T) => AsyncIterable<E>,
  fate?: Fate<T>,
): AsyncGenerator<E> {
  const refusals: unknown[] = [];
  let started = false;
  for (const target of targets) {
    let committed = false;
    try {
      for await (const event of attempt(target)) {
        if (event.type === "start") {
          if (started) continue;
        } else if (!committed) {
          committed = true;
          fate?.onServed(target);
        }
        started = true;
        yield event;
      }
      return;
    } catch (thrown) {
      if (isTargets(thrown)) fate?.onFailed(target);
      if (committed || !isWorthAnother(thrown)) throw thrown;
      refusals.push(thrown);
    }
  }
  throw worstOf(refusals);
}

/** What to tell when nobody answered: the last failure, which may pass; that some could not do it, only where none failed. */
function worstOf(refusals: readonly unknown[]): unknown {
  return refusals.findLast(isFailure) ?? refusals.at(-1) ?? new Error("No target to ask");
}

function isWorthAnother(thrown: unknown): boolean {
  const { details } = toGatewayError(thrown);
  return !details.workBegun && (details.elsewhere === true || isTargets(thrown));
}

/** Whether it is for the target to mend, and not for the caller. */
function isTargets(thrown: unknown): boolean {
  const { code } = toGatewayError(thrown);
  return FAILURES.has(code) || INABILITIES.has(code);
}

/** Whether the same may go well the next time. */
export function isFailure(thrown: unknown): boolean {
  return FAILURES.has(toGatewayError(thrown).code);
}
