/**
 * Measures the path of every request in `requests.ts` and prints it as JSON. It runs in a process of its own, so that nothing else
 * runs beside it. How long something takes, and where, decides nothing: the clock stands until the next request, no timer ends,
 * chance is constant and the process takes no memory.
 */
import timers from "node:timers";
import { Coverage, type FunctionRun } from "./coverage.ts";
import type { Platform } from "../../src/platform/platform.ts";
import type { Path, Paths } from "./paths.ts";
import { answer, type Asked, KEY, MODEL, type Name, NAMES, relay, requestFor, REQUESTS } from "./requests.ts";

let now = 1_800_000_000_000;
/** What is done once in a while, such as a look at the memory, is done for every request that comes so much later, in milliseconds. */
const BETWEEN_REQUESTS = 1_000;
Date.now = performance.now = () => now;
Math.random = () => 0.5;

const wait = setTimeout;
/** Longer than any run, in milliseconds; timers know no longer time. */
const NEVER = 2 ** 31 - 1;

interface Timers {
  setTimeout(run: () => void, ms?: number): unknown;
  setInterval(run: () => void, ms?: number): unknown;
}

for (const each of [globalThis, timers] as Timers[]) {
  const { setTimeout, setInterval } = each;
  each.setTimeout = (run, ms) => setTimeout(run, ms ? NEVER : 0);
  each.setInterval = (run) => setInterval(run, NEVER);
}

const coverage = await Coverage.begin();
const { createApp, parseConfig } = await import("../../src/app.ts");
const { deno } = await import("../../src/platform/deno.ts");
const platform: Platform = { ...deno, memory: () => 0 };

/** The first requests load what is loaded once, and fill caches. */
const WARM = 6;
/** What runs now and then is on nobody's path, such as what is done for every twelfth request. */
const MEASURED = 4;

type Handler = (request: Request) => Promise<Response>;

const model = (more: object) => ({ task: "chat", targets: [{ upstream: "up", model: MODEL }], ...more });
const gateways: Record<Asked["gateway"], Handler> = {
  plain: newGateway({ upstream: {}, model: {}, rest: {} }),
  metered: newGateway({
    upstream: { secret: { env: "SECRET" } },
    model: { price: { input: 2, output: 6 } },
    rest: { keys: [{ name: "client", secret: { env: "KEY" }, budget: { dollars: 1_000, period: "day" } }] },
  }),
};

function newGateway({ upstream, model: more, rest }: Record<"upstream" | "model" | "rest", object>): Handler {
  const env = (name: string) => ({ KEY, SECRET: "secret-of-the-upstream" })[name];
  const config = parseConfig({
    upstreams: { up: { driver: "chat", baseUrl: "http://upstream.test/v1", ...upstream } },
    lanes: { oss: { models: { [MODEL]: model(more) } } },
    store: { kind: "memory" },
    ...rest,
  }, { env });
  return createApp({ config, env, platform, fetch: answer, log: () => {}, warn: () => {} }).fetch;
}

let promises = 0;
// No public interface of Deno counts promises: `node:async_hooks` reports none of them.
const { core } = (Deno as unknown as Record<symbol, { core: { setPromiseHooks(...hooks: (() => void)[]): void } }>)[
  (Deno as unknown as { internal: symbol }).internal
]!;
core.setPromiseHooks(() => void promises++, () => {}, () => {}, () => {});

async function ask(handler: Handler, asked: Asked): Promise<void> {
  now += BETWEEN_REQUESTS;
  const response = await handler(requestFor(asked));
  const text = await response.text();
  if (response.status !== 200) throw new Error(`The gateway answers ${response.status}: ${text}`);
}

/** The promises of one request. What follows its answer ends before the next one. */
async function promisesOf(handler: Handler, asked: Asked): Promise<number> {
  // The promise with which the caller waits for this function is not one of them.
  await undefined;
  const before = promises;
  await ask(handler, asked);
  const made = promises - before;
  await new Promise((resolve) => wait(resolve, 1));
  return made;
}

const keyOf = ({ file, start }: FunctionRun) => `${file} ${start}`;

async function pathOf(name: Name): Promise<Path> {
  const asked: Asked = REQUESTS[name];
  const handler = gateways[asked.gateway];
  for (let time = 0; time < WARM; time++) await promisesOf(handler, asked);
  let least: Map<string, FunctionRun> | undefined;
  let made = Infinity;
  for (let time = 0; time < MEASURED; time++) {
    await coverage.take();
    made = Math.min(made, await promisesOf(handler, asked));
    const now = new Map((await coverage.take()).map((run) => [keyOf(run), run]));
    least = least === undefined ? now : lesser(least, now);
  }
  const runs = [...least!.values()];
  const calls = runs.reduce((sum, run) => sum + run.calls, 0);
  const functions = runs.map(({ file, name }) => ({ file, name })).sort((a, b) =>
    a.file < b.file ? -1 : a.file > b.file ? 1 : a.name < b.name ? -1 : 1
  );
  await ask(relay, asked);
  return { functions, calls, promises: made, barePromises: await promisesOf(relay, asked) };
}

/** What both have, as often as the one that has it less often. */
function lesser(a: Map<string, FunctionRun>, b: Map<string, FunctionRun>): Map<string, FunctionRun> {
  return new Map(
    [...a].flatMap(([key, run]) => {
      const other = b.get(key);
      return other ? [[key, { ...run, calls: Math.min(run.calls, other.calls) }]] : [];
    }),
  );
}

const paths: Partial<Paths> = {};
for (const name of NAMES) paths[name] = await pathOf(name);
// deno-lint-ignore no-console -- this is what it is run for
console.log(JSON.stringify(paths));
Deno.exit();
