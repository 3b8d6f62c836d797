/** Compares digests of files with those of a release. */
import manifest from "../../../deno.json" with { type: "json" };
import type { Digests } from "./listed.ts";

/** A file that is not as the release has it. */
export interface Difference {
  name: string;
  result: "differs" | "missing" | "not listed";
}

/** Documents and types may be missing: some packages of the release are without them. */
const IS_PROGRAM = /\.(m?js|json|wasm)$/;

export function differencesBetween(files: Digests, listed: Digests): Difference[] {
  const own = [...files].filter(([name, digest]) => listed.get(name) !== digest).map(([name]): Difference => ({
    name,
    result: listed.has(name) ? "differs" : "not listed",
  }));
  const missing = [...listed.keys()].filter((name) => IS_PROGRAM.test(name) && !files.has(name));
  return [...own, ...missing.map((name): Difference => ({ name, result: "missing" }))];
}

/** An executable is found by its digest, because its name may be another one after it was installed. */
export function judgeExecutable(path: string, digest: string, listed: Digests) {
  const name = path.replace(/^.*[/\\]/, "");
  const same = [...listed].find(([, one]) => one === digest);
  if (same) return { result: "ok", message: `this program is ${same[0]}` } as const;
  const hasVersion = [...listed.keys()].some((one) => one.startsWith(`laneway-${manifest.version}-`));
  return listed.has(name) || hasVersion
    ? { result: "differs", message: `${name} is none of the release's files: its SHA-256 is ${digest}` } as const
    : { result: "not listed", message: `no executable of version ${manifest.version} is listed` } as const;
}
