/**
 * `deno task bench [--quick] [--only=<names>]`: what Laneway costs, as multiples of a bare passthrough on the same machine at the
 * same time. The subjects take turns in every round, so that a machine that is busy for a while is busy for all of them.
 * `--only` takes names of measures and of sections, or their beginnings: `--only=whole-1kB,start`.
 */
import { parseArgs } from "node:util";
import { ENGINE } from "../../src/config/permissions.ts";
import { checkAnswers } from "./check.ts";
import { CONVERSATION_FIGURES, holdConversation, measureTurns, WAYS } from "./conversation.ts";
import { IDLE_FIGURES, measureIdle, measureMemory, measureStart, MEMORY_FIGURES, START_FIGURES } from "./fresh.ts";
import { BARE, type Gateway, laneway, startGateway, startUpstream, type Subject } from "./gateways.ts";
import { runOwn } from "./own_run.ts";
import { measureProcesses, PROCESS_FIGURES } from "./processes.ts";
import { measureObserving, OBSERVING, OBSERVING_FIGURES } from "./observing.ts";
import { stopPrograms } from "./program.ts";
import { measureSafeguards, SAFEGUARD_FIGURES, SAFEGUARDS } from "./safeguards.ts";
import { stopServers } from "./server.ts";
import { type Figure, formatTable, Results, rotate } from "./table.ts";
import { askForVectors, measureJson, measureTasks, TASK_FIGURES, TASK_SUBJECTS } from "./tasks.ts";
import { FULL, MEASURES, QUICK, settle, warmUp } from "./traffic.ts";
import { measureUploads, UPLOAD_FIGURES, UPLOAD_WAYS } from "./uploads.ts";
import { type Wire, WIRES } from "./bodies.ts";

const { values: options } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string" } } });
const size = options.quick ? QUICK : FULL;
const FRESH_ROUNDS = options.quick ? 1 : 3;
const DEADLINE_MS = 20 * 60_000;

const LANEWAY = laneway();
const NODE = laneway("Laneway, node", { transport: "node" });
/** As the README starts it. */
const STARTED = laneway("Laneway", {}, "deno task -q laneway");
const STARTED_NODE = laneway("Laneway, node", { transport: "node" }, "deno task -q laneway");

interface Measured {
  name: string;
  gateway: Gateway;
  wire: Wire;
}
const SUBJECTS: readonly Measured[] = [
  { name: "bare", gateway: BARE, wire: "chat" },
  ...WIRES.map((wire) => ({ name: wire as string, gateway: STARTED, wire })),
  { name: "messages, node", gateway: STARTED_NODE, wire: "messages" },
];
/** Each collects its garbage when it is asked to. */
const MEMORY_SUBJECTS: readonly Measured[] = [
  { name: "bare", gateway: BARE, wire: "chat" },
  { name: "messages", gateway: LANEWAY, wire: "messages" },
  { name: "messages, node", gateway: NODE, wire: "messages" },
];

/** What is measured, by name; each prints a table. */
const SECTIONS: Record<string, (upstream: string) => Promise<string>> = {
  traffic,
  start,
  memory,
  processes,
  stored,
  "in-process": () => runOwn(ENGINE, `--rounds=${options.quick ? 15 : 40}`),
  vectors,
  uploads,
  safeguards,
  observe: observing,
};

const wanted = options.only?.split(",");
const isWanted = (name: string) => wanted === undefined || wanted.some((beginning) => name.startsWith(beginning));
const measures = MEASURES.filter(({ name }) => isWanted("traffic") || isWanted(name));
const sections = Object.keys(SECTIONS).filter((name) => name === "traffic" ? measures.length > 0 : isWanted(name));
if (sections.length === 0) {
  const names = [...MEASURES.map(({ name }) => name), ...Object.keys(SECTIONS)];
  throw new TypeError(`Nothing is called "${options.only}". There are: ${names.join(", ")}`);
}

// Without servers every request fails: a server that does not answer cannot hold up the bench for ever.
Deno.unrefTimer(setTimeout(stopAll, DEADLINE_MS));
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => void stopAll().then(() => Deno.exit(1)));
}

const began = performance.now();
say(
  `Deno ${Deno.version.deno}, ${Deno.build.target}, ${navigator.hardwareConcurrency} cores, load ${
    Deno.loadavg()[0]!.toFixed(1)
  }.
Medians of rounds (least–greatest); CPU is that of the gateway's processes alone; bold is beside bare.`,
);
try {
  const { origin } = await startUpstream();
  for (const name of sections) say(`\n${await SECTIONS[name]!(origin)}`);
} finally {
  await stopAll();
}
say(`\n${Math.round((performance.now() - began) / 1_000)} s, load ${Deno.loadavg()[0]!.toFixed(1)}`);

async function traffic(upstream: string): Promise<string> {
  const results = new Results();
  const servers = new Map<Gateway, Subject["server"]>();
  const subjects: Subject[] = [];
  for (const { name, gateway, wire } of SUBJECTS) {
    const server = servers.get(gateway) ?? await startGateway(gateway, upstream);
    servers.set(gateway, server);
    subjects.push({ name, gateway, wire, server });
  }
  for (const subject of subjects) {
    await checkAnswers(subject);
    await warmUp(subject);
    for (const measure of measures) {
      progress(`warm ${subject.name} for ${measure.name}`);
      await settle(subject, measure, size);
    }
  }
  for (let round = 0; round < size.rounds; round++) {
    progress(`round ${round + 1} of ${size.rounds}`);
    for (const measure of measures) {
      for (const subject of rotate(subjects, round)) results.record(subject.name, await measure.take(subject, size));
    }
  }
  for (const server of servers.values()) await server.stop();
  const figures: Record<string, Figure> = Object.assign({}, ...measures.map((measure) => measure.figures));
  return formatTable(figures, SUBJECTS.map(({ name }) => name), results);
}

async function start(upstream: string): Promise<string> {
  const results = new Results();
  const gateways = [
    BARE,
    laneway("main.ts", {}, "main.ts"),
    laneway("deno task -q laneway", {}, "deno task -q laneway"),
  ];
  for (let round = 0; round < 2 * FRESH_ROUNDS; round++) {
    progress(`start ${round + 1} of ${2 * FRESH_ROUNDS}`);
    for (const gateway of rotate(gateways, round)) {
      const values = await measureStart(gateway, upstream);
      // The first fills the caches of the disk and that of compiled code, which holds for one set of options of the engine.
      if (round > 0) results.record(gateway.name, values);
    }
  }
  return formatTable(START_FIGURES, gateways.map(({ name }) => name), results);
}

async function memory(upstream: string): Promise<string> {
  const results = new Results();
  for (let round = 0; round < FRESH_ROUNDS; round++) {
    progress(`memory ${round + 1} of ${FRESH_ROUNDS}`);
    await Promise.all(MEMORY_SUBJECTS.map(async ({ name, gateway }) => {
      results.record(name, await measureIdle(gateway, upstream));
    }));
    for (const { name, gateway, wire } of rotate(MEMORY_SUBJECTS, round)) {
      results.record(name, await measureMemory(gateway, wire, upstream, true));
    }
  }
  return formatTable({ ...IDLE_FIGURES, ...MEMORY_FIGURES }, MEMORY_SUBJECTS.map(({ name }) => name), results);
}

async function processes(upstream: string): Promise<string> {
  const results = new Results();
  for (let round = 0; round < FRESH_ROUNDS; round++) {
    progress(`processes ${round + 1} of ${FRESH_ROUNDS}`);
    for (const gateway of [BARE, LANEWAY]) {
      results.record(gateway.name, await measureProcesses(gateway, upstream, 2 * size.lastsMs));
    }
  }
  return formatTable(PROCESS_FIGURES, [BARE.name, LANEWAY.name], results);
}

async function stored(upstream: string): Promise<string> {
  const results = new Results();
  const server = await startGateway(LANEWAY, upstream);
  const conversation = await holdConversation({ name: "stored", gateway: LANEWAY, wire: "responses", server });
  for (let round = 0; round < size.rounds; round++) {
    progress(`stored turns ${round + 1} of ${size.rounds}`);
    for (const way of rotate(WAYS, round)) results.record(way, await measureTurns(way, conversation, 20));
  }
  await server.stop();
  return formatTable(CONVERSATION_FIGURES, WAYS, results);
}

async function vectors(upstream: string): Promise<string> {
  const results = new Results();
  const json = "JSON.parse + JSON.stringify";
  const [bare, gateway] = [await startGateway(BARE, upstream), await startGateway(LANEWAY, upstream)];
  const origins = { direct: upstream, bare: bare.origin, Laneway: gateway.origin };
  const answers = await askForVectors(origins);
  for (let round = 0; round < FRESH_ROUNDS; round++) {
    progress(`vectors and speech ${round + 1} of ${FRESH_ROUNDS}`);
    results.record(json, measureJson(answers));
    for (const subject of rotate(TASK_SUBJECTS, round)) {
      results.record(subject, await measureTasks(subject, origins[subject]));
    }
  }
  await Promise.all([bare, gateway].map((server) => server.stop()));
  return formatTable(TASK_FIGURES, [...TASK_SUBJECTS, json], results);
}

async function uploads(upstream: string): Promise<string> {
  const results = new Results();
  for (const way of UPLOAD_WAYS) {
    progress(`uploads: ${way.name}`);
    results.record(way.name, await measureUploads(way, upstream));
  }
  return formatTable(UPLOAD_FIGURES, UPLOAD_WAYS.map(({ name }) => name), results);
}

async function observing(): Promise<string> {
  const results = new Results();
  for (let round = 0; round < FRESH_ROUNDS; round++) {
    progress(`observing ${round + 1} of ${FRESH_ROUNDS}`);
    const found = await measureObserving(options.quick ? 50 : 300);
    for (const each of OBSERVING) results.record(each, found[each]);
  }
  return formatTable(OBSERVING_FIGURES, OBSERVING, results);
}

async function safeguards(upstream: string): Promise<string> {
  const results = new Results();
  for (let round = 0; round < FRESH_ROUNDS; round++) {
    progress(`safeguards ${round + 1} of ${FRESH_ROUNDS}`);
    const found = await measureSafeguards(upstream, options.quick ? 30 : 60);
    for (const each of SAFEGUARDS) results.record(each, found[each]);
  }
  return formatTable(SAFEGUARD_FIGURES, SAFEGUARDS, results);
}

async function stopAll(): Promise<void> {
  await stopPrograms();
  await stopServers();
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

function progress(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}
