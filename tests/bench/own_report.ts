/** The gateway's own cost in process as a table. */
import { WIRES } from "./bodies.ts";
import { largeJsonUs, measureOwn, type Pair, WORKS } from "./own.ts";

/** Every pair of wires with its costs, each the least of so many rounds. */
export async function formatCosts(rounds: number): Promise<string> {
  const costs = await measureOwn(rounds);
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
