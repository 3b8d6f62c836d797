/**
 * `deno task bench:own`: what the gateway itself costs in process, of every pair of wires: per request and per chunk. With
 * `--write` the sums become the committed figures that `tests/own_cpu_test.ts` holds new code to; with `--sums` nothing else
 * is printed, as JSON. `--rounds=<n>`: how often each is run, of which the least counts.
 */
import { parseArgs } from "node:util";
import { WIRES } from "./bodies.ts";
import { largeJsonUs, measureOwn, type OwnCost, type Pair, WORKS } from "./own.ts";
import { FIGURES, leastSums, type Sums } from "./own_sums.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "40" },
    sums: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

if (values.write) {
  const sums = await leastSums(3);
  await Deno.writeTextFile(FIGURES, `${JSON.stringify(sums, null, 2)}\n`);
  say(`${JSON.stringify(sums)}\nWritten to ${FIGURES.pathname}`);
} else {
  const costs = await measureOwn(Number(values.rounds));
  say(values.sums ? JSON.stringify(sumsOf(costs)) : await formatCosts(costs));
}

function sumsOf(costs: readonly OwnCost[]): Sums {
  const sum = (work: string) => costs.filter((cost) => cost.work === work).reduce((all, { ofJson }) => all + ofJson, 0);
  return Object.fromEntries(WORKS.map((work) => [work, Number(sum(work).toPrecision(4))])) as Sums;
}

async function formatCosts(costs: readonly OwnCost[]): Promise<string> {
  const pairs = [...new Set(costs.map(({ pair }) => pair))];
  const cell = (pair: Pair, work: string) =>
    costs.find((cost) => cost.pair === pair && cost.work === work)!.us.toFixed(1);
  const rows = pairs.map((pair) => `| ${[pair, ...WORKS.map((work) => cell(pair, work))].join(" | ")} |`);
  const json: string[] = [];
  for (const wire of WIRES) json.push(`${wire} ${(await largeJsonUs(wire)).toFixed(0)} µs`);
  return [
    "Own processor time in µs, client → upstream (the bare platform's own is taken off):\n",
    `| pair | ${WORKS.join(" | ")} |`,
    `|---|${WORKS.map(() => "--:").join("|")}|`,
    ...rows,
    `\nThe JSON of 400 kB alone, parsed and written: ${json.join(", ")}`,
  ].join("\n");
}

function say(text: string): void {
  // deno-lint-ignore no-console -- this is a command line
  console.log(text);
}
