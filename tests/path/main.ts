/**
 * `deno task path [--list=<name>]`: how many functions of `src/` and `plugins/` a request runs, in how many files, how often, and
 * how many promises that makes. With `--list` it prints the functions of one request, a line a file.
 */
import { parseArgs } from "node:util";
import { alignTable } from "../bench/table.ts";
import { countsOf, linesOf, measurePaths, namesOf } from "./paths.ts";
import { type Name, NAMES, REQUESTS } from "./requests.ts";

const { values: { list } } = parseArgs({ options: { list: { type: "string" } } });
if (list !== undefined && !(list in REQUESTS)) {
  throw new TypeError(`No request is called "${list}". There are: ${NAMES.join(", ")}`);
}
const paths = await measurePaths();
say(list === undefined ? table() : linesOf(namesOf(paths[list as Name])).join("\n"));

function table(): string {
  const head = ["", "functions", "files", "calls", "promises", "of bare", "calls a chunk", "promises a chunk"];
  const rows = NAMES.map((name) => {
    const { functions, files, calls, promises, callsPerChunk, promisesPerChunk } = countsOf(paths, name);
    const perChunk = name.startsWith("stream") ? [callsPerChunk.toFixed(1), promisesPerChunk.toFixed(1)] : ["", ""];
    return [name, ...[functions, files, calls, promises, paths[name].barePromises].map(String), ...perChunk];
  });
  return alignTable([head, ...rows]);
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}
