/** Deno's tests, on Node: they are collected, and run one after another once all files of the group are loaded. */
import { exceptionFor } from "./folders.ts";

type Run = (t: Context) => unknown;

interface Definition {
  name: string;
  ignore?: boolean;
  fn: Run;
}

interface Context {
  name: string;
  step(first: string | Definition, run?: Run): Promise<boolean>;
}

const defined: (Definition & { file: string })[] = [];
let file = "";

/** All that is defined from now on belongs to the file. */
export function beginFile(path: string): void {
  file = path;
}

export function test(first: string | Run | Partial<Definition>, second?: Run | Partial<Definition>, third?: Run): void {
  const named = typeof first === "string" ? { name: first } : typeof first === "function" ? { fn: first } : first;
  const more = typeof second === "function" ? { fn: second } : second;
  const definition = { ...named, ...more, ...third && { fn: third } } as Definition;
  defined.push({ ...definition, name: definition.name ?? definition.fn.name, file });
}

export interface Outcome {
  passed: number;
  failed: number;
  ignored: number;
}

/** Runs all; prints those that fail or are ignored. */
export async function runAll(print: (text: string) => void): Promise<Outcome> {
  const outcome = { passed: 0, failed: 0, ignored: 0 };
  for (const { name, ignore, fn, file } of defined) {
    const title = `${file} => ${name}`;
    if (exceptionFor(file, name) !== undefined) continue;
    if (ignore) {
      outcome.ignored++;
      print(`${title} ... ignored`);
      continue;
    }
    running = title;
    const failures = await failuresOf(name, fn);
    outcome[failures.length === 0 ? "passed" : "failed"]++;
    if (failures.length > 0) print([`${title} ... FAILED`, ...failures].join("\n"));
  }
  running = undefined;
  return outcome;
}

/** The test that runs, for what ends the process in the middle of it. */
export let running: string | undefined;

/** Thrown outside of all that a test awaits. */
export const uncaught: unknown[] = [];

async function failuresOf(name: string, run: Run): Promise<string[]> {
  const failures: string[] = [];
  const context: Context = {
    name,
    async step(first, second) {
      const step = typeof first === "string" ? { name: first, fn: second! } : first;
      if (step.ignore) return false;
      const found = await failuresOf(step.name, step.fn);
      failures.push(...found.map((failure) => `${step.name} ... ${failure}`));
      return found.length === 0;
    },
  };
  try {
    await unlessItHangs(() => run(context));
  } catch (thrown) {
    failures.push(textOf(thrown));
  }
  failures.push(...uncaught.splice(0).map((thrown) => `uncaught: ${textOf(thrown)}`));
  return failures;
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.stack ?? String(thrown) : String(thrown);
}

/** How long a test may do nothing, in milliseconds: the tests themselves wait for a minute at most. */
const IDLE_MS = 120_000;
const LOOK_MS = 5_000;
/** A test that takes less of the processor than this fraction does nothing. */
const BUSY = 1 / 100;

/** The real ones: a test may replace them. */
const { setInterval, clearInterval } = globalThis;

/** Throws if the test hangs. A busy machine, or many random inputs, may take any time. */
async function unlessItHangs(run: () => unknown): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  let idleMs = 0;
  let before = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    idleMs = user + system > LOOK_MS * 1_000 * BUSY ? 0 : idleMs + LOOK_MS;
    if (idleMs >= IDLE_MS) reject(new Error("It hangs"));
  }, LOOK_MS);
  try {
    await Promise.race([run(), promise]);
  } finally {
    clearInterval(timer);
  }
}
