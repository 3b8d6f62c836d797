/**
 * `deno task scale --requests=100 --streams=1000`: how many replicas, cores and memory a traffic takes, and what it asks of the
 * store. `--help` lists what else of the traffic and of the machines can be given.
 */
import { parseArgs } from "node:util";
import measured from "./costs.json" with { type: "json" };
import { type Machine, type Plan, planFor, type Traffic } from "./model.ts";

interface Option {
  preset: number;
  meaning: string;
}

const TRAFFIC: Record<keyof Traffic, Option> = {
  requests: { preset: 100, meaning: "whole answers a second" },
  answerSeconds: { preset: 5, meaning: "how long a whole answer takes" },
  streams: { preset: 1_000, meaning: "streams that are open at once" },
  streamSeconds: { preset: 30, meaning: "how long a stream lasts" },
  events: { preset: 20, meaning: "events a second of each stream" },
  kilobytes: { preset: 20, meaning: "how long a request is" },
  stored: { preset: 0, meaning: "which share of the turns is stored, from 0 to 1" },
  turnKilobytes: { preset: 5, meaning: "what a stored turn takes in the store" },
  retentionDays: { preset: 30, meaning: "how long it is kept" },
  limited: { preset: 1, meaning: "which share of the requests has limits that gateways share, from 0 to 1" },
  keys: { preset: 100, meaning: "keys that are used within a second" },
};

const MACHINE: Record<keyof Machine, Option> = {
  busy: { preset: 0.6, meaning: "how busy a replica may be, from 0 to 1" },
  memoryMb: { preset: 2_048, meaning: "memory of a replica" },
  spare: { preset: 1, meaning: "replicas beyond those that are needed" },
  descriptors: { preset: 65_536, meaning: "files and connections that a replica may open" },
  ports: { preset: 28_000, meaning: "connections from one replica to one address" },
  upstreams: { preset: 4, meaning: "addresses of upstreams" },
};

const ALL: Record<string, Option> = { ...TRAFFIC, ...MACHINE };
const dashed = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function read(): Record<string, number> | undefined {
  const options = Object.fromEntries(Object.keys(ALL).map((name) => [dashed(name), { type: "string" as const }]));
  const { values } = parseArgs({ options: { ...options, help: { type: "boolean" } } });
  if (values.help) return undefined;
  return Object.fromEntries(
    Object.entries(ALL).map(([name, { preset }]) => {
      const text = (values as Record<string, unknown>)[dashed(name)];
      const number = text === undefined ? preset : Number(text);
      if (!Number.isFinite(number) || number < 0) throw new TypeError(`--${dashed(name)} must be a number`);
      return [name, number];
    }),
  );
}

function help(): string {
  const lines = Object.entries(ALL).map(([name, { preset, meaning }]) =>
    `  --${`${dashed(name)}=${preset}`.padEnd(26)}${meaning}`
  );
  return ["deno task scale [options]; what is left out is as here:", "", ...lines].join("\n");
}

const whole = (number: number) => Math.round(number).toLocaleString("en");
const short = (number: number) => number >= 10 ? whole(number) : String(Number(number.toPrecision(2)));

function report({ begun, open, events, cores, needs, replicas, each, store, network }: Plan): string {
  return [
    `Started    ${whole(begun)}/s, open ${whole(open)}, events ${whole(events)}/s`,
    `Cores      ${short(cores.all)}: events ${short(cores.events)}, requests ${short(cores.requests)}, long bodies ${
      short(cores.bodies)
    }, the processes themselves ${short(cores.processes)}`,
    `Replicas   ${replicas}, each with ${short(each.cores)} cores, ${whole(each.memoryMb)} MB, ${
      whole(each.open)
    } open, ${whole(each.descriptors)} descriptors`,
    `Because    ${needs.map(([what, count]) => `${what}: ${short(count)}`).join("; ")}`,
    `Settings   limits.concurrentRequests above ${whole(each.open / 0.8)}`,
    `Store      ${whole(store.operations)} operations/s, ${short(store.megabytes)} MB/s, ${short(store.kept)} GB kept`,
    `Network    ${whole(network.inMbit)} Mbit/s in, ${whole(network.outMbit)} Mbit/s out`,
  ].join("\n");
}

const given = read();
// deno-lint-ignore no-console -- this is a command line
console.log(given ? report(planFor(given as never, given as never, measured.costs)) : help());
