/**
 * `deno task bench:own`: what the gateway itself costs in process, of every pair of wires: per request and per chunk. With
 * `--write` the sums become the committed figures that `tests/cost/own_cpu_test.ts` holds new code to; with `--sums` nothing else
 * is printed, as JSON. `--rounds=<n>`: how often each is run, of which the least counts.
 */
import { parseArgs } from "node:util";
import { measureOwn, type OwnCost, WORKS } from "./own.ts";
import { formatCosts } from "./own_report.ts";
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
  const rounds = Number(values.rounds);
  say(values.sums ? JSON.stringify(sumsOf(await measureOwn(rounds))) : await formatCosts(rounds));
}

function sumsOf(costs: readonly OwnCost[]): Sums {
  const sum = (work: string) =>
    costs.filter((cost) => cost.work === work).reduce((all, { ofFixed }) => all + ofFixed, 0);
  return Object.fromEntries(WORKS.map((work) => [work, Number(sum(work).toPrecision(4))])) as Sums;
}

function say(text: string): void {
  // deno-lint-ignore no-console -- this is a command line
  console.log(text);
}
