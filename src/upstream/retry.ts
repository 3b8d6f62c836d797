import type { GenerateEvent } from "../canonical/generate.ts";
import { type ErrorCode, toGatewayError } from "../errors.ts";

/** Failures of the upstream, which another one may not have. What the caller did wrong is wrong everywhere. */
const WORTH_ANOTHER: ReadonlySet<ErrorCode> = new Set([
  "upstream_error",
  "upstream_timeout",
  "unavailable",
  "rate_limit",
]);

/** The answer of the first target that gives one; else the last one's failure. */
export async function firstAnswer<T, R>(targets: readonly T[], attempt: (target: T) => Promise<R>): Promise<R> {
  for (const [position, target] of targets.entries()) {
    try {
      return await attempt(target);
    } catch (thrown) {
      if (position === targets.length - 1 || !isWorthAnother(thrown)) throw thrown;
    }
  }
  throw new Error("No target to ask");
}

/** The stream of the first target that gets as far as content. From there on a failure is the answer's own. */
export async function* firstStream<T>(
  targets: readonly T[],
  attempt: (target: T) => AsyncIterable<GenerateEvent>,
): AsyncGenerator<GenerateEvent> {
  let started = false;
  for (const [position, target] of targets.entries()) {
    let committed = position === targets.length - 1;
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
    }
  }
}

function isWorthAnother(thrown: unknown): boolean {
  return WORTH_ANOTHER.has(toGatewayError(thrown).code);
}
