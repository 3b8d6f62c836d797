/**
 * `deno task bench:scale [--write]`: measures the costs that `deno task scale` computes with, of one process, and holds them to
 * runs of one to four processes under a mixed load. With `--write` the costs are those of `costs.json` from then on; without, the
 * committed ones are held to the runs, too.
 */
import { laneway, startUpstream } from "../gateways.ts";
import { stopPrograms } from "../program.ts";
import { rotate } from "../table.ts";
import { type Load, startProcesses, take, type Taken, warm } from "./measure.ts";
import { coresFor, type Cost, type Costs } from "./model.ts";
import committed from "./costs.json" with { type: "json" };

const NONE: Load = { requests: 0, bytes: 1_000, streams: 0, events: 0 };
/** One thing at a time, of a process that is busy: one that is not takes more for each, because it wakes up for it. */
const REQUESTS: Load = { ...NONE, requests: Infinity };
const LONG: Load = { ...NONE, requests: Infinity, bytes: 100_000 };
const STREAMS: Load = { ...NONE, streams: 400, events: 25 };
const PARKED: Load = { ...NONE, streams: 600, events: 1 };
/** What the costs are held to: processes that are as busy as they can be, and the same traffic spread over ever more of them. */
const BUSY: Load = { ...NONE, requests: Infinity, streams: 100, events: 20 };
const SPREAD: Load = { ...NONE, requests: 300, streams: 160, events: 10 };
const PROCESSES = [1, 2, 3, 4];
const ROUNDS = 3;
const TAKE_MS = 2_500;

const gateway = laneway("Laneway", {}, "main.ts");
const written = new URL("./costs.json", import.meta.url);

Deno.unrefTimer(setTimeout(() => void stopPrograms(), 10 * 60_000));
try {
  const { origin } = await startUpstream();
  const servers = await startProcesses(gateway, origin, PROCESSES.at(-1)!);
  await warm(gateway, servers, 6_000);
  const each = await measureCosts(servers.slice(0, 1));
  const spread = await runUnder(SPREAD, servers);
  const costs = rounded({ ...each, processCores: slopeOf(spread) });
  say(`Costs: ${JSON.stringify(costs)}`);
  say(tableOf("Busy", await runUnder(BUSY, servers), costs));
  say(tableOf("The same traffic", spread, costs));
  if (Deno.args.includes("--write")) {
    const machine = `${navigator.hardwareConcurrency} cores, Deno ${Deno.version.deno}`;
    const text = JSON.stringify({ date: new Date().toISOString().slice(0, 10), machine, costs }, null, 2);
    await Deno.writeTextFile(written, `${text}\n`);
  }
} finally {
  await stopPrograms();
}

type Servers = Parameters<typeof take>[1];

type Runs = ReadonlyMap<number, Taken[]>;

/** One to four processes under a load. They take turns. */
async function runUnder(load: Load, servers: Servers): Promise<Runs> {
  const runs = new Map<number, Taken[]>(PROCESSES.map((count) => [count, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const count of rotate(PROCESSES, round)) {
      runs.get(count)!.push(await take(gateway, servers.slice(0, count), load, TAKE_MS));
    }
  }
  return runs;
}

/** By how much more a process more takes of the same traffic. */
function slopeOf(runs: Runs): number {
  const [fewest, most] = [PROCESSES[0]!, PROCESSES.at(-1)!];
  return (coresOf(runs.get(most)!) - coresOf(runs.get(fewest)!)) / (most - fewest);
}

function tableOf(name: string, runs: Runs, costs: Costs): string {
  return [
    `\n${name}\n`,
    "| processes | requests/s | events/s | cores taken | by costs of the same run | by the committed costs |",
    "| --------- | ---------- | -------- | ----------- | ------------------ | ---------------------- |",
    ...Array.from(runs, ([count, taken]) => rowOf(count, taken, costs)),
  ].join("\n");
}

async function measureCosts(one: Servers): Promise<Omit<Costs, "processCores">> {
  const least = async (load: Load, per: (taken: Taken) => number): Promise<Cost> => {
    const found: Cost[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const taken = await take(gateway, one, load, TAKE_MS);
      found.push({ cpuUs: taken.cpuUs / per(taken), threadUs: taken.threadUs / per(taken) });
    }
    return found.sort((a, b) => a.cpuUs - b.cpuUs)[Math.floor(ROUNDS / 2)]!;
  };
  const idle = await take(gateway, one, NONE, 200);
  const request = await least(REQUESTS, ({ requests }) => requests);
  const long = await least(LONG, ({ requests }) => requests);
  const event = await least(STREAMS, ({ events }) => events);
  const before = await take(gateway, one, NONE, 200);
  const parked = await take(gateway, one, PARKED, 1_000);
  return {
    request,
    kilobyte: {
      cpuUs: (long.cpuUs - request.cpuUs) / (LONG.bytes / 1_000 - 1),
      threadUs: (long.threadUs - request.threadUs) / (LONG.bytes / 1_000 - 1),
    },
    event,
    idleMb: Math.max(idle.residentMb, before.residentMb),
    openKb: Math.max(0, parked.residentMb - before.residentMb) * 1_000 / PARKED.streams,
  };
}

function rowOf(processes: number, taken: readonly Taken[], costs: Costs): string {
  const requests = medianOf(taken, (one) => one.requests / one.seconds);
  const events = medianOf(taken, (one) => one.events / one.seconds);
  const cores = coresOf(taken);
  const beside = (by: Costs) => {
    const predicted = coresFor(processes, requests, events, by);
    return `${predicted.toFixed(2)} (${(predicted / cores).toFixed(2)}×)`;
  };
  const cells = [processes, requests.toFixed(0), events.toFixed(0), cores.toFixed(2)];
  return `| ${[...cells, beside(costs), beside(committed.costs)].join(" | ")} |`;
}

function coresOf(taken: readonly Taken[]): number {
  return medianOf(taken, ({ cpuUs, seconds }) => cpuUs / 1e6 / seconds);
}

function medianOf(taken: readonly Taken[], of: (one: Taken) => number): number {
  return taken.map(of).sort((a, b) => a - b)[Math.floor(taken.length / 2)]!;
}

function rounded(costs: Costs): Costs {
  return JSON.parse(
    JSON.stringify(costs, (_, value) => typeof value === "number" ? Number(value.toPrecision(3)) : value),
  );
}

function say(text: string): void {
  // deno-lint-ignore no-console -- this is a command line
  console.log(text);
}
