/**
 * Which functions of this repository run, as V8 counts them. The counts are exact as long as V8 counts: it neither inlines nor
 * optimizes meanwhile.
 */
import { Session } from "node:inspector";

/** A function that has run, and how often. */
export interface FunctionRun {
  /** Its file, from the root of the repository. */
  file: string;
  /** Its name. One without a name is `-` behind the name of the function around it: `admit/-`. It says nothing of lines. */
  name: string;
  /** Tells apart functions of the same name in a file. */
  start: number;
  calls: number;
}

/** What the profiler reports of one file; the first range of a function is the function itself. */
interface ScriptCoverage {
  url: string;
  functions: { functionName: string; ranges: { startOffset: number; endOffset: number; count: number }[] }[];
}

interface Place {
  name: string;
  start: number;
  end: number;
}

const ROOT = new URL("../../", import.meta.url).href;
const OURS = [`${ROOT}src/`, `${ROOT}plugins/`];
const NAMELESS = "-";

export class Coverage {
  readonly #session: Session;
  /** Every function that has ever run, by file and then by its first character. */
  readonly #known = new Map<string, Map<number, Place>>();

  private constructor(session: Session) {
    this.#session = session;
  }

  /** Begin before our files are loaded: the name of a callback needs the function that made it, which may run only once. */
  static async begin(): Promise<Coverage> {
    const session = new Session();
    session.connect();
    const coverage = new Coverage(session);
    await coverage.#post("Profiler.enable");
    await coverage.#post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    return coverage;
  }

  /** The functions that have run since the last call, without the files themselves, which run once when they are loaded. */
  async take(): Promise<FunctionRun[]> {
    const { result } = await this.#post<{ result: ScriptCoverage[] }>("Profiler.takePreciseCoverage");
    return result.filter(({ url }) => OURS.some((folder) => url.startsWith(folder))).flatMap((script) => {
      const file = script.url.slice(ROOT.length);
      const known = this.#learn(file, script);
      return script.functions.flatMap(({ functionName, ranges: [range] }) => {
        const { startOffset: start, count: calls } = range!;
        if (calls === 0 || isFile(functionName, start)) return [];
        return [{ file, name: nameIn(known, start), start, calls }];
      });
    });
  }

  #learn(file: string, { functions }: ScriptCoverage): Map<number, Place> {
    const known = this.#known.get(file) ?? new Map<number, Place>();
    this.#known.set(file, known);
    for (const { functionName: name, ranges: [range] } of functions) {
      const { startOffset: start, endOffset: end } = range!;
      if (!isFile(name, start)) known.set(start, { name, start, end });
    }
    return known;
  }

  #post<T>(method: string, params: object = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#session.post(method, params, (error, result) => error ? reject(error) : resolve(result as T));
    });
  }
}

function isFile(name: string, start: number): boolean {
  return name === "" && start === 0;
}

function nameIn(known: ReadonlyMap<number, Place>, start: number): string {
  const { name, end } = known.get(start)!;
  // A getter is `get:name`: a space stands between two names.
  if (name !== "") return name.replaceAll(/[<>]/g, "").replaceAll(" ", ":");
  const around = [...known.values()].filter((place) => place.start < start && place.end >= end);
  // The innermost of those around it begins last.
  const nearest = around.reduce<Place | undefined>((a, b) => a && a.start > b.start ? a : b, undefined);
  return nearest ? `${nameIn(known, nearest.start)}/${NAMELESS}` : NAMELESS;
}
