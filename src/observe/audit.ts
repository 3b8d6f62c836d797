/** The audit log: keys that were made, used or refused, and changes of the configuration. It holds no secret and no content. */
import { builtin } from "../util/builtin.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { createOutput, type Output } from "./output.ts";

export type AuditEvent =
  | { event: "started"; version: string }
  /** `by`: the user who ran the command, or the operator at the console. */
  | { event: "file deleted"; owner: string; id: string; by: string }
  | { event: "key made" | "key limited" | "key rotated" | "key revoked"; key: string; by?: string }
  | { event: "key used first"; key: string; address?: string }
  | { event: "key refused"; code: string; key?: string; reason?: string; address?: string }
  /** `paths`: the settings that differ, without their values. `by`: the operator at the console. */
  | { event: "configuration changed"; paths: readonly string[]; morePaths?: number; by?: string }
  /** The saved configuration takes effect at the next start. */
  | { event: "configuration saved"; by: string }
  | { event: "configuration refused" | "secrets changed" }
  /** The launcher ran a command that changes files, or restarted the gateway, for an operator at the console. */
  | { event: "command run"; command: string; client?: string; by: string }
  | { event: "restarted"; by: string }
  /** Without `model`, all models of the upstream are asked in the full form again. */
  | { event: "refusals forgotten"; upstream: string; model?: string; by: string };

export interface Audit {
  write(event: AuditEvent): void;
  /** Writes the lines that are still due, for `ms` milliseconds at most. */
  flush(ms: number): Promise<void>;
}

/** How long refusals of one kind share a line, in milliseconds, so that guessing keys does not fill the disk. */
const ALIKE_MS = 60_000;
const MOST_KINDS = 1_000;

/** Appends lines of JSON to a file, which may be renamed at any time. If that fails, it says so once, and the lines are lost. */
export function createAudit(file: string, { say, now }: { say(text: string): void; now(): number }): Audit {
  const output = createOutput({
    write: (bytes) => append(file, bytes),
    dropped: (count) => JSON.stringify({ time: new Date(now()).toISOString(), event: "dropped", lines: count }),
    failed: (thrown) => say(`Cannot write the audit log, continuing without it: ${(thrown as Error).message}`),
  });
  return new FileAudit(output, now);
}

class FileAudit implements Audit {
  readonly #output: Output;
  readonly #now: () => number;
  /** The refusals of the last minute, and how often each was repeated. */
  readonly #refusals = new BoundedMap<string, { at: number; again: number }>(MOST_KINDS);

  constructor(output: Output, now: () => number) {
    this.#output = output;
    this.#now = now;
  }

  write(event: AuditEvent): void {
    const at = this.#now();
    const again = event.event === "key refused" ? this.#countRefusal(JSON.stringify(event), at) : 0;
    if (again === undefined) return;
    const line = { time: new Date(at).toISOString(), ...event, ...(again > 0 && { again }) };
    this.#output.print(JSON.stringify(line));
  }

  flush(ms: number): Promise<void> {
    return this.#output.flush(ms);
  }

  /** How often the refusal was repeated since its last line. Absent if it needs no line now. */
  #countRefusal(kind: string, at: number): number | undefined {
    const known = this.#refusals.get(kind);
    if (known && at - known.at < ALIKE_MS) {
      known.again++;
      return undefined;
    }
    this.#refusals.set(kind, { at, again: 0 });
    return known?.again ?? 0;
  }
}

async function append(file: string, bytes: Uint8Array): Promise<number> {
  await builtin("node:fs/promises").appendFile(file, bytes, { mode: 0o600 });
  return bytes.length;
}

const MOST_PATHS = 100;

/** The paths of the settings that differ between two configurations. */
export function changeOf(before: unknown, after: unknown): AuditEvent & { event: "configuration changed" } {
  const paths = [...pathsOf(before, after, "")];
  const more = paths.length - MOST_PATHS;
  return {
    event: "configuration changed",
    paths: paths.slice(0, MOST_PATHS),
    ...(more > 0 && { morePaths: more }),
  };
}

function* pathsOf(before: unknown, after: unknown, path: string): Generator<string> {
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  if (typeof before !== "object" || typeof after !== "object" || before === null || after === null) return yield path;
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, own] = [before, after].map((one) => (one as Record<string, unknown>)[name]);
    yield* pathsOf(old, own, path === "" ? name : `${path}.${name}`);
  }
}
