/** The audit log: who was given, used or was refused a key, and what of the configuration changed. It holds no secret and no content. */
import { builtin } from "../util/builtin.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { createOutput, type Output } from "./output.ts";

export type AuditEvent =
  | { event: "started"; version: string }
  /** `by`: who ran the command, or the operator at the console. */
  | { event: "key made" | "key limited" | "key revoked"; key: string; by?: string }
  | { event: "key used first"; key: string; address?: string }
  | { event: "key refused"; code: string; key?: string; reason?: string; address?: string }
  /** `paths`: what differs, never how. `by`: the operator at the console. */
  | { event: "configuration changed"; paths: readonly string[]; morePaths?: number; by?: string }
  /** It is served by after the next start. */
  | { event: "configuration saved"; by: string }
  | { event: "configuration refused" };

export interface Audit {
  write(event: AuditEvent): void;
  /** Writes what is still due, for `ms` at most. */
  flush(ms: number): Promise<void>;
}

/** How long refusals that are alike are one line, in milliseconds: whoever guesses keys fills no disk. */
const ALIKE_MS = 60_000;
const MOST_KINDS = 1_000;

/** Appends lines of JSON to a file, which may be renamed at any time. Where it cannot, it says so once, and what it has is lost. */
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
  /** Refusals of the last minute, and how often each came again. */
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

  /** How often it came since its last line; nothing where it needs no line now. */
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

/** What differs between two configurations, by its place. */
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
