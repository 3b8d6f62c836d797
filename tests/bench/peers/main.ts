/**
 * `deno task bench:peers [--quick] [--only=<names>] [--peers=<names>] [--write]`: Laneway beside its peers, all in front of the same
 * fake upstream on this machine, in turn. With `--write` the tables go to `measured.md` beside this file, and one of medians to
 * `docs/performance.md`. A peer that fails at something has the reason in place of a figure.
 */
import { parseArgs } from "node:util";
import { checkStream, checkWhole } from "../check.ts";
import { IDLE_FIGURES, measureIdle, measureMemory, measureStart, MEMORY_FIGURES, START_FIGURES } from "../fresh.ts";
import { BARE, type Gateway, laneway, startGateway, startUpstream, type Subject } from "../gateways.ts";
import { stopPrograms } from "../program.ts";
import { type Figure, formatTable, Results, rotate } from "../table.ts";
import { CHUNKS, FULL, type Measure, MEASURES, QUICK, warmUp } from "../traffic.ts";
import type { Wire } from "../bodies.ts";
import { PEER_NAMES, versionOf } from "./install.ts";
import { writeBetweenMarks } from "./marks.ts";
import { peer } from "./peers.ts";
import { standings } from "./standings.ts";
import { type Measured, summarize } from "./summary.ts";

const PAGE = new URL("../../../docs/performance.md", import.meta.url);
const RECORD = new URL("measured.md", import.meta.url);
/** A measure that hangs is ended with its servers. */
const DEADLINE_MS = 25 * 60_000;

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean" },
    only: { type: "string" },
    peers: { type: "string" },
    write: { type: "boolean" },
  },
});
const size = options.quick
  ? { ...QUICK, rounds: 2 }
  : { ...FULL, rounds: 3, requests: 300, largeRequests: 30, streams: 30, budgetMs: 1_000, lastsMs: 1_000 };
const FRESH_ROUNDS = options.quick ? 1 : 2;
const isWanted = (name: string) => options.only?.split(",").some((beginning) => name.startsWith(beginning)) ?? true;
const measures = MEASURES.filter(({ name }) => isWanted(name));

const results: Record<"chat" | "messages", Results> = { chat: new Results(), messages: new Results() };
const fresh = new Results();
const EVENTS: Record<string, Figure> = {
  events: { label: `pieces of text of ${CHUNKS} chunks`, unit: "count", digits: 0 },
};

Deno.unrefTimer(setTimeout(stopPrograms, DEADLINE_MS));
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => void stopPrograms().then(() => Deno.exit(1)));
}

const began = performance.now();
let load = Deno.loadavg()[0]!;
const gateways = await installed();
load = Math.max(load, Deno.loadavg()[0]!);
try {
  const { origin } = await startUpstream();
  await measureTraffic(gateways, origin);
  if (isWanted("start")) {
    await measureFresh(gateways, START_FIGURES, (gateway) => measureStart(gateway, origin));
  }
  if (isWanted("memory")) {
    await Promise.all(gateways.map((gateway) => {
      return measureFresh([gateway], IDLE_FIGURES, () => measureIdle(gateway, origin));
    }));
    await measureFresh(
      gateways,
      MEMORY_FIGURES,
      (gateway) => measureMemory(gateway, wiresOf(gateway).at(-1)!, origin, gateway.name !== "LiteLLM"),
    );
  }
} finally {
  await stopPrograms();
}

const names = gateways.map(({ name }) => name);
const [circumstances, tables] = [describeRun(), formatTables(names)];
const report = [circumstances, ...tables.map(section)].join("\n\n");
Deno.stdout.writeSync(new TextEncoder().encode(`${report}\n`));
if (options.write) {
  const summary = summarize(tables, names);
  await writeBetweenMarks(PAGE, `${circumstances}\n\n${summary}\n\n${standings(summary)}`);
  await writeBetweenMarks(RECORD, report);
}

async function installed(): Promise<Gateway[]> {
  const found = [BARE, laneway(), laneway("Laneway, node", { transport: "node" })];
  for (const name of PEER_NAMES) {
    if (!(options.peers?.split(",").includes(name) ?? true)) continue;
    progress(`install ${name} ${versionOf(name)}`);
    try {
      found.push(await peer(name));
    } catch (error) {
      failEverywhere(name, `install: ${reasonOf(error)}`);
    }
  }
  return found;
}

/** In each round each measure is taken of all of them in turn. */
async function measureTraffic(gateways: readonly Gateway[], upstream: string): Promise<void> {
  const subjects: Subject[] = [];
  for (const gateway of gateways) {
    progress(`warm up ${gateway.name}`);
    try {
      const server = await startGateway(gateway, upstream);
      for (const wire of wiresOf(gateway)) {
        const subject: Subject = { name: gateway.name, gateway, wire, server };
        await checkWhole(subject);
        subjects.push(subject);
        const streams = await take(subject, EVENTS, async () => ({ events: await checkStream(subject) }));
        await warmUp(subject).catch(() => {});
        if (!streams) failStreams(subject);
      }
    } catch (error) {
      failEverywhere(gateway.name, reasonOf(error));
    }
  }
  for (let round = 0; round < size.rounds; round++) {
    progress(`round ${round + 1} of ${size.rounds}`);
    for (const measure of measures) {
      for (const subject of rotate(subjects, round)) {
        await take(subject, measure.figures, () => measure.take(subject, size));
      }
    }
  }
  for (const server of new Set(subjects.map((subject) => subject.server))) await server.stop();
}

/** Records what `measure` finds; whether it finds anything. The bare passthrough is the base on both wires. */
async function take(
  { name, wire, gateway }: Subject,
  figures: Record<string, Figure>,
  measure: () => ReturnType<Measure["take"]>,
): Promise<boolean> {
  const places = gateway === BARE ? Object.values(results) : [results[wire as "chat"]];
  if (places.some((place) => Object.keys(figures).some((figure) => place.failure(name, figure) !== undefined))) {
    return false;
  }
  try {
    const values = await measure();
    for (const place of places) place.record(name, values);
    return true;
  } catch (error) {
    for (const place of places) place.fail(name, Object.keys(figures), reasonOf(error));
    return false;
  }
}

async function measureFresh(
  gateways: readonly Gateway[],
  figures: Record<string, Figure>,
  measure: (gateway: Gateway) => ReturnType<Measure["take"]>,
): Promise<void> {
  for (let round = 0; round < FRESH_ROUNDS; round++) {
    progress(`${Object.keys(figures)[0]} ${round + 1} of ${FRESH_ROUNDS}`);
    for (const gateway of rotate(gateways, round)) {
      try {
        fresh.record(gateway.name, await measure(gateway));
      } catch (error) {
        fresh.fail(gateway.name, Object.keys(figures), reasonOf(error));
      }
    }
  }
}

function describeRun(): string {
  const versions = PEER_NAMES.map((name) => `${name} ${versionOf(name)}`).join(", ");
  const minutes = ((performance.now() - began) / 60_000).toFixed(0);
  return `${new Date().toISOString().slice(0, 10)}; ${cpuModel()}, ${navigator.hardwareConcurrency} cores, load ${
    load.toFixed(1)
  } before it; Deno ${Deno.version.deno}; ${versions}. Medians of ${size.rounds} rounds in ${minutes} min.`;
}

function formatTables(names: readonly string[]): Measured[] {
  const traffic: Record<string, Figure> = Object.assign({ ...EVENTS }, ...measures.map(({ figures }) => figures));
  const idle = { ...START_FIGURES, ...IDLE_FIGURES, ...MEMORY_FIGURES };
  return [
    { title: "Clients of the chat wire", clients: "chat", table: formatTable(traffic, names, results.chat) },
    {
      title: "Clients of the messages wire",
      clients: "messages",
      table: formatTable(traffic, names.filter(servesMessages), results.messages),
    },
    { title: "Start and memory", table: formatTable(idle, names, fresh) },
  ];
}

function section({ title, table }: Measured): string {
  return `### ${title}\n\n${table}\n\n${standings(table)}`;
}

function servesMessages(name: string): boolean {
  const gateway = gateways.find((each) => each.name === name);
  return gateway === BARE || gateway?.wires.messages !== undefined;
}

function wiresOf({ wires }: Gateway): Wire[] {
  return (["chat", "messages"] as const).filter((wire) => wires[wire]);
}

/** Who streams wrongly has no figures of streams. */
function failStreams({ name, wire }: Subject): void {
  const place = results[wire as "chat"];
  for (const measure of MEASURES.filter(({ name }) => /chunk|stream|byte/.test(name))) {
    place.fail(name, Object.keys(measure.figures), place.failure(name, "events")!);
  }
}

function failEverywhere(name: string, reason: string): void {
  progress(`${name} fails: ${reason}`);
  const names = [EVENTS, ...MEASURES.map(({ figures }) => figures)].flatMap((figures) => Object.keys(figures));
  for (const place of Object.values(results)) place.fail(name, names, reason);
}

/** On one line, short enough for a cell. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/[\s|]+/g, " ").slice(0, 100);
}

function cpuModel(): string {
  return Deno.readTextFileSync("/proc/cpuinfo").match(/^model name\s*: (.*)$/m)?.[1] ?? Deno.build.arch;
}

function progress(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}
