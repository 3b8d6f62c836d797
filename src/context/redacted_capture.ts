/** Captures of gateways with stages of plugins, which may take something out of what is recorded. */
import type { JsonValue } from "../canonical/json.ts";
import type { Destination, OutgoingContext, Stage } from "../contract/stage.ts";
import { passOutgoing } from "../transforms/pass_stages.ts";
import type { CapturedBytes } from "./captured_bytes.ts";

/** Records a value as the stages let it out. `within`: the request that it belongs to. */
export type Redact = (value: unknown, into: CapturedBytes, within: unknown) => Promise<void>;

const CONSOLE: Destination = { kind: "capture", name: "console", isConfigured: true };

/** Never aborted: a body is recorded even if its client has left. */
const NEVER = new AbortController().signal;

/** `undefined` if no stage changes what is recorded. */
export function redactionFor(
  stages: readonly Stage[],
  caller: OutgoingContext["caller"],
): Redact | undefined {
  if (!stages.some(({ outgoing }) => outgoing)) return undefined;
  let hasFailed = false;
  return async (value, into, within) => {
    // A key that the store does not give is waited for once.
    if (hasFailed) return leaveOut(into);
    try {
      const about = { caller, signal: NEVER, within };
      into.addText(JSON.stringify(await passOutgoing(stages, value as JsonValue, about, CONSOLE)));
    } catch {
      hasFailed = true;
      return leaveOut(into); // the stage's failure is that of the request, if it is one
    }
    into.end();
  };
}

/** The description of what is not recorded. */
const NOT_KEPT = { notKept: "The configuration has stages that change what is recorded" };

export function leaveOut(into: CapturedBytes): void {
  into.describe(NOT_KEPT);
  into.end();
}

/** The JSON of an answer. Any other answer is not kept. */
export function jsonIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return NOT_KEPT;
  }
}
