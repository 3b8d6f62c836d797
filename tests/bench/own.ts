/**
 * The gateway's own processor time, in process: all that it does for an exchange but sockets. The same exchange with the bare
 * platform, which only passes bytes on, is taken off. Every figure is the least of many short runs. It is also given as a multiple
 * of fixed work on the same bytes at the same time (`fixed_work.ts`), so that neither a slow machine nor a busy one matters.
 */
import process from "node:process";
import { createApp, parseConfig } from "../../src/app.ts";
import { compileSchemas } from "../../src/contract/compiled.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { bodyFor, type Load, type Wire, WIRES } from "./bodies.ts";
import { passJson, passWide } from "./fixed_work.ts";
import { type Streamed, streamedAnswer, wholeAnswer } from "./own_answers.ts";

/** What a request costs, and what a chunk of a stream does with one chunk a read or twenty. */
export const WORKS = ["whole 1 kB", "whole 400 kB", "chunk", "chunk, 20 a read", "tool input, 20 a read"] as const;
export type Work = typeof WORKS[number];

/** A wire of clients and one of upstreams: `messages → chat`. */
export type Pair = `${Wire} → ${Wire}`;

/** What one of a work costs in each pair of wires: microseconds, and how much that is of the fixed work. */
export interface OwnCost {
  work: Work;
  pair: Pair;
  us: number;
  ofFixed: number;
}

type Handler = (request: Request) => Promise<Response>;

/** One piece of work, which can be done by the gateway and by the bare platform. */
interface Case {
  work: Work;
  pair: Pair;
  /** What one run is divided by. */
  count: number;
  run(handler: Handler): Promise<void>;
}

const CHUNKS = 250;
const SMALL = { bytes: 1_000 };
const LARGE = { bytes: 400_000 };
const SMALL_RUNS = 6;
/** A request runs through much more code than a chunk, which is compiled once it has run often. */
const WARM_RUNS = 50;
/** What others on the machine left in the caches is gone after the first run, and the next begins before they have their turn. */
const RUNS_IN_A_ROW: Record<Work, number> = {
  "whole 1 kB": 3,
  "whole 400 kB": 2,
  "chunk": 4,
  "chunk, 20 a read": 6,
  "tool input, 20 a read": 6,
};

const json: Handler = (request) => passJson(request, answerNow());
const wide: Handler = (request) => passWide(request, answerNow());

/** A small request runs through much code once; what is large, or comes often, is most of all its JSON. */
const FIXED: Record<Work, Handler> = {
  "whole 1 kB": wide,
  "whole 400 kB": json,
  "chunk": json,
  "chunk, 20 a read": json,
  "tool input, 20 a read": json,
};

/** Each case is run so often; the least counts. */
export async function measureOwn(rounds: number, isWanted = (_: Work, __: Pair) => true): Promise<OwnCost[]> {
  const cases = (await Promise.all(WIRES.flatMap((client) => WIRES.map((upstream) => casesOf(client, upstream)))))
    .flat().filter(({ work, pair }) => isWanted(work, pair));
  const gateway = newGateway();
  // As the program does while nobody asks.
  const compiler = compileSchemas(() => Promise.resolve());
  const least = cases.map(() => ({ gateway: Infinity, bare: Infinity, fixed: Infinity }));
  for (const { work, run } of cases) {
    for (let time = 0; work === "whole 1 kB" && time < WARM_RUNS; time++) {
      await run(gateway);
      await run(wide);
    }
  }
  await compiler.done;
  for (let round = 0; round < rounds; round++) {
    for (const [at, { work, run }] of cases.entries()) {
      const handlers = { bare: passThrough, gateway, fixed: FIXED[work] };
      const best = least[at]!;
      for (const [name, handler] of Object.entries(handlers) as [keyof typeof best, Handler][]) {
        for (let time = 0; time < RUNS_IN_A_ROW[work]; time++) {
          best[name] = Math.min(best[name], await cpuUs(() => run(handler)));
        }
      }
    }
  }
  return cases.map(({ work, pair, count }, at) => {
    const { gateway, bare, fixed } = least[at]!;
    return { work, pair, us: (gateway - bare) / count, ofFixed: (gateway - bare) / fixed };
  });
}

/** What the JSON of a large request costs by itself, parsed and written again: microseconds of processor time. */
export async function largeJsonUs(wire: Wire): Promise<number> {
  const text = JSON.stringify(bodyFor(wire, LARGE));
  let least = Infinity;
  for (let run = 0; run < 100; run++) {
    least = Math.min(least, await cpuUs(() => void JSON.stringify(JSON.parse(text))));
  }
  return least;
}

/** The processor time that it takes, in microseconds. */
export async function cpuUs(run: () => void | Promise<void>): Promise<number> {
  const start = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

async function casesOf(client: Wire, upstream: Wire): Promise<Case[]> {
  const pair: Pair = `${client} → ${upstream}`;
  const whole = await wholeAnswer(upstream);
  const length = String(new TextEncoder().encode(whole).length);
  const headers = { "content-type": "application/json", "content-length": length };
  const answerWhole = () => new Response(whole, { headers });
  const make = (load: Load, answer: () => Response, times: number, count: number): Omit<Case, "work"> => {
    const body = newBody(bodyFor(client, load, upstream));
    const run = async (handler: Handler) => {
      answerNow = answer;
      for (let time = 0; time < times; time++) await exchange(handler, PATHS[client], body);
    };
    return { pair, count, run };
  };
  const stream = (what: Streamed, perRead: number) => {
    const reads = streamedAnswer(upstream, what, CHUNKS, perRead);
    return make({ ...SMALL, stream: "" }, () => streamOf(reads), 1, CHUNKS);
  };
  return [
    { work: "whole 1 kB", ...make(SMALL, answerWhole, SMALL_RUNS, SMALL_RUNS) },
    { work: "whole 400 kB", ...make(LARGE, answerWhole, 1, 1) },
    { work: "chunk", ...stream("text", 1) },
    { work: "chunk, 20 a read", ...stream("text", 20) },
    { work: "tool input, 20 a read", ...stream("input", 20) },
  ];
}

/** What the upstreams answer to the exchange that runs. */
let answerNow: () => Response;

function newGateway(): Handler {
  const model = (upstream: Wire) => ({ task: "chat", targets: [{ upstream, model: "org/model" }] });
  const app = createApp({
    config: parseConfig({
      upstreams: Object.fromEntries(WIRES.map((wire) => [wire, { driver: wire, baseUrl: "http://upstream.test/v1" }])),
      lanes: { oss: { models: Object.fromEntries(WIRES.map((wire) => [wire, model(wire)])) } },
    }),
    env: () => undefined,
    fetch: () => Promise.resolve(answerNow()),
    store: createMemoryStore({ now: Date.now, limitBytes: 1e8 }),
    log: () => {},
  });
  return (request) => app.fetch(request, { remoteAddr: PEER });
}

/** The caller, as a server tells of it: what comes over a connection takes another way than a call within the process. */
export const PEER = { transport: "tcp", hostname: "127.0.0.1", port: 50_000 };

async function passThrough(request: Request): Promise<Response> {
  await request.bytes();
  const { body, headers } = answerNow();
  return new Response(body, { headers });
}

export const PATHS: Record<Wire, string> = {
  chat: "http://localhost/oss/v1/chat/completions",
  messages: "http://localhost/oss/v1/messages",
  responses: "http://localhost/oss/v1/responses",
};

/** What a client sends, with the headers that it has over a connection. */
export interface Body {
  text: string;
  headers: Record<string, string>;
}

export function newBody(value: unknown, key?: string): Body {
  const text = JSON.stringify(value);
  const length = String(new TextEncoder().encode(text).length);
  const headers: Body["headers"] = {
    host: "localhost",
    "content-type": "application/json",
    "content-length": length,
  };
  if (key !== undefined) headers.authorization = `Bearer ${key}`;
  return { text, headers };
}

/** One request, whose answer is read to its end. */
export async function exchange(handler: Handler, url: string, { text, headers }: Body): Promise<void> {
  const response = await handler(new Request(url, { method: "POST", headers, body: text }));
  if (response.status !== 200) throw new Error(`Gateway answers ${response.status}: ${await response.text()}`);
  const reader = response.body!.getReader();
  while (!(await reader.read()).done);
}

/** Each read gets one piece, as from a socket. */
export function streamOf(pieces: readonly Uint8Array[]): Response {
  let next = 0;
  const body = new ReadableStream({
    type: "bytes",
    pull(controller) {
      // What is enqueued is gone, so it is a copy.
      if (next < pieces.length) controller.enqueue(pieces[next++]!.slice());
      else {
        controller.close();
        controller.byobRequest?.respond(0);
      }
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
