/** The path of a request: which functions of `src/` and `plugins/` it runs, and how many promises that makes. */
import { CHUNKS, type Name } from "./requests.ts";

export interface Path {
  functions: { file: string; name: string }[];
  calls: number;
  promises: number;
  /** Those that a relay of ten lines makes for the same request. */
  barePromises: number;
}

export type Paths = Record<Name, Path>;

/** The counts of a path, by the words that the tables and limits have for them. */
export interface Counts {
  functions: number;
  files: number;
  calls: number;
  promises: number;
  callsPerChunk: number;
  promisesPerChunk: number;
}

const HERE = import.meta.dirname!;

/** Measures all of them in a process of their own. */
export async function measurePaths(): Promise<Paths> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--quiet", "--allow-all", `--config=${HERE}/../deno.json`, `${HERE}/measure.ts`],
    stdin: "null",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!success) throw new Error(`The paths cannot be measured: ${err}`);
  return JSON.parse(out!);
}

/** The counts of one request. What a stream makes beyond a whole answer to the same client is spread over its chunks. */
export function countsOf(paths: Paths, name: Name): Counts {
  const { functions, calls, promises } = paths[name];
  const whole = paths[name.replace("stream", "whole") as Name];
  const files = new Set(functions.map(({ file }) => file)).size;
  const [callsPerChunk, promisesPerChunk] = [(calls - whole.calls) / CHUNKS, (promises - whole.promises) / CHUNKS];
  return { functions: functions.length, files, calls, promises, callsPerChunk, promisesPerChunk };
}

/** How many functions of each name run, by file. */
export type Names = Map<string, Map<string, number>>;

export function namesOf({ functions }: Path): Names {
  const names: Names = new Map();
  for (const { file, name } of functions) {
    const inFile = names.get(file) ?? new Map<string, number>();
    names.set(file, inFile.set(name, (inFile.get(name) ?? 0) + 1));
  }
  return names;
}

/** What `a` has beyond `b`. */
export function beyond(a: Names, b: Names): Names {
  const more: Names = new Map();
  for (const [file, names] of a) {
    const left = [...names].map(([name, count]) => [name, count - (b.get(file)?.get(name) ?? 0)] as const)
      .filter(([, count]) => count > 0);
    if (left.length > 0) more.set(file, new Map(left));
  }
  return more;
}

/** A line for each file, with the names in it: `×2` where two functions have the same. */
export function linesOf(names: Names): string[] {
  return [...names].sort(byKey).map(([file, inFile]) => {
    const shown = [...inFile].sort(byKey).map(([name, count]) => count === 1 ? name : `${name}×${count}`);
    return `${file}: ${shown.join(" ")}`;
  });
}

/** Reads what `linesOf` writes. */
export function readLines(lines: readonly string[]): Names {
  return new Map(lines.map((line) => {
    const [file, names] = line.split(": ") as [string, string];
    return [
      file,
      new Map(
        names.split(" ").map((shown) => {
          const [name, count = "1"] = shown.split("×") as [string, string?];
          return [name, Number(count)];
        }),
      ),
    ];
  }));
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
