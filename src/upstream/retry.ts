import { type ErrorCode, toGatewayError } from "../errors.ts";

/** Failures of the upstream, which another one may not have. */
const FAILURES: ReadonlySet<ErrorCode> = new Set(["upstream_error", "upstream_timeout", "unavailable", "rate_limit"]);
/** What this upstream cannot do and another one may. What the caller did wrong is wrong everywhere. */
const INABILITIES: ReadonlySet<ErrorCode> = new Set(["model_not_found", "unsupported", "unsupported_media_type"]);

/** The answer of the first target that gives one. */
export async function firstAnswer<T, R>(targets: readonly T[], attempt: (target: T) => Promise<R>): Promise<R> {
  const refusals: unknown[] = [];
  for (const target of targets) {
    try {
      return await attempt(target);
    } catch (thrown) {
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
): AsyncGenerator<E> {
  const refusals: unknown[] = [];
  let started = false;
  for (const target of targets) {
    let committed = false;
    try {
      for await (const event of attempt(target)) {
        if (event.type !== "start") committed = true;
        else if (started) continue;
        started = true;
        yield event;
      }
      return;
    } catch (thrown) {
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
  const { code, details } = toGatewayError(thrown);
  return !details.workBegun && (details.elsewhere === true || FAILURES.has(code) || INABILITIES.has(code));
}

/** Whether the same may go well the next time. */
export function isFailure(thrown: unknown): boolean {
  return FAILURES.has(toGatewayError(thrown).code);
}
