/** How much a given traffic takes: a model of a few lines, on costs that were measured. */

/** What one thing takes of a gateway. `cpu` is the time of all its threads, `thread` that of the one that runs its code. */
export interface Cost {
  cpuUs: number;
  threadUs: number;
}

export interface Costs {
  /** A request of 1 kB and its answer, or the beginning and the end of a stream. */
  request: Cost;
  /** Each further kilobyte of a request. */
  kilobyte: Cost;
  /** An event of a stream that comes by itself. */
  event: Cost;
  /** What each process takes whatever it does, as long as it does something: it wakes up, and collects garbage. In cores. */
  processCores: number;
  /** A process that has warmed up, in MB. */
  idleMb: number;
  /** An open request or stream, in kB. */
  openKb: number;
}

export interface Traffic {
  /** Whole answers a second. */
  requests: number;
  /** How long such an answer takes, in seconds. */
  answerSeconds: number;
  /** Streams that are open at once. */
  streams: number;
  /** How long a stream lasts, in seconds. */
  streamSeconds: number;
  /** Events a second of each stream. */
  events: number;
  /** Of a request's body. */
  kilobytes: number;
  /** Which share of all turns is stored, from 0 to 1. */
  stored: number;
  /** What a stored turn takes in the store. */
  turnKilobytes: number;
  retentionDays: number;
  /** Which share of all requests has a key with limits that gateways share. */
  limited: number;
  /** Keys that are used within a second. */
  keys: number;
}

export interface Machine {
  /** How busy a process may be, from 0 to 1: what is left is for bursts, and for collecting garbage. */
  busy: number;
  /** How much memory a replica may have, in MB. */
  memoryMb: number;
  /** How many replicas there are beyond those that are needed. */
  spare: number;
  /** Files and connections that a process may open. */
  descriptors: number;
  /** How many connections there may be from one replica to one address of an upstream. */
  ports: number;
  /** Addresses of upstreams, among which requests are spread. */
  upstreams: number;
}

export interface Plan {
  /** Requests and streams that begin, a second; and those that are open at once. */
  begun: number;
  open: number;
  events: number;
  cores: { requests: number; bodies: number; events: number; processes: number; all: number };
  /** How many replicas each need would take, the greatest first. */
  needs: [what: string, replicas: number][];
  replicas: number;
  /** What one of them has. */
  each: { cores: number; memoryMb: number; open: number; descriptors: number };
  store: { operations: number; megabytes: number; kept: number };
  network: { inMbit: number; outMbit: number };
}

/**
 * What a stored turn asks of the store, where another gateway kept the one before it: the place of that, their thread, and its own.
 * For every eighth turn of a caller, a gateway also asks for its account.
 */
export const TURN_OPERATIONS = 3 + 1 / 8;
/** What a request asks whose limits are shared: to be let in, and to be settled. */
export const LIMIT_OPERATIONS = 2;
/** What each replica writes each second for a key that is used: its day, and what it used. */
export const KEY_OPERATIONS = 2;
/** The least that an event takes on its way: the JSON around some words, on the client's side and on the upstream's. */
const EVENT_BYTES = 250;
const ANSWER_BYTES = 2_000;

export function planFor(traffic: Traffic, machine: Machine, costs: Costs): Plan {
  const { requests, streams, kilobytes } = traffic;
  const begun = requests + streams / traffic.streamSeconds;
  const open = requests * traffic.answerSeconds + streams;
  const events = streams * traffic.events;
  const further = begun * Math.max(0, kilobytes - 1);
  const busy = (kind: keyof Cost) =>
    [begun * costs.request[kind], further * costs.kilobyte[kind], events * costs.event[kind]].map((us) => us / 1e6);
  const [ofRequests, ofBodies, ofEvents] = busy("cpuUs") as [number, number, number];
  const roomMb = machine.memoryMb * machine.busy - costs.idleMb;
  if (roomMb <= 0) throw new RangeError(`A replica needs more than ${Math.ceil(costs.idleMb / machine.busy)} MB`);
  const needs: Plan["needs"] = [
    ["main thread", sum(busy("threadUs")) / (machine.busy - costs.processCores)],
    ["memory", open * costs.openKb / 1_000 / roomMb],
    ["descriptors", 2 * open / (machine.descriptors * machine.busy)],
    ["ports to upstreams", open / (machine.ports * machine.upstreams * machine.busy)],
  ];
  needs.sort(([, one], [, other]) => other - one);
  const replicas = Math.max(1, Math.ceil(needs[0]![1])) + machine.spare;
  const processes = replicas * costs.processCores;
  const all = ofRequests + ofBodies + ofEvents + processes;
  const turns = begun * traffic.stored;
  return {
    begun,
    open,
    events,
    cores: { requests: ofRequests, bodies: ofBodies, events: ofEvents, processes, all },
    needs,
    replicas,
    each: {
      cores: all / replicas,
      memoryMb: costs.idleMb + open * costs.openKb / 1_000 / replicas,
      open: open / replicas,
      descriptors: 2 * open / replicas,
    },
    store: {
      operations: turns * TURN_OPERATIONS + begun * traffic.limited * LIMIT_OPERATIONS +
        Math.min(traffic.keys * replicas, begun) * KEY_OPERATIONS,
      megabytes: turns * traffic.turnKilobytes / 1_000,
      kept: turns * traffic.turnKilobytes * traffic.retentionDays * 86_400 / 1e6,
    },
    network: {
      inMbit: (begun * kilobytes * 1_000 + requests * ANSWER_BYTES + events * EVENT_BYTES) * 8 / 1e6,
      outMbit: (begun * kilobytes * 1_000 + requests * ANSWER_BYTES + events * EVENT_BYTES) * 8 / 1e6,
    },
  };
}

/** The time that a traffic of short requests takes of so many processes together, in cores. */
export function coresFor(
  processes: number,
  begun: number,
  events: number,
  { request, event, processCores }: Omit<Costs, "idleMb" | "openKb">,
): number {
  return (begun * request.cpuUs + events * event.cpuUs) / 1e6 + processes * processCores;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}
