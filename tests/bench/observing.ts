/**
 * What it costs to see and to pay: metrics, prices, usage and a budget on, beside the same gateway with all of them off. In
 * process, in turn, in small batches, in processor time, of which the least of many counts: that is what both cost where nothing
 * else runs. The store is memory: a round trip to another one is in no figure.
 */
import { createApp, parseConfig } from "../../src/app.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { bodyFor, type Load } from "./bodies.ts";
import { cpuUs, exchange, newBody, PATHS, PEER, streamOf } from "./own.ts";
import { streamedAnswer, wholeAnswer } from "./own_answers.ts";
import type { Figure, Values } from "./table.ts";

export const OBSERVING = ["off", "on", "added"] as const;
export type Observing = typeof OBSERVING[number];

export const OBSERVING_FIGURES: Record<string, Figure> = {
  whole: { label: "whole answer, 1 kB", unit: "ms", digits: 4 },
  event: { label: "event of a stream", unit: "µs", digits: 3 },
};

const WIRE = "chat";
const KEY = "bench-key-of-nobody";
const EVENTS = 1_000;
/** Requests of one batch. */
const BATCH = 20;
/** Not counted, because the code is not compiled yet. */
const WARM_BATCHES = 20;

type App = ReturnType<typeof createApp>;

/** Of two gateways that are made for it. */
export async function measureObserving(batches: number): Promise<Record<Observing, Values>> {
  const whole = await wholeAnswer(WIRE);
  const reads = streamedAnswer(WIRE, "text", EVENTS, 20);
  const answers: Record<keyof typeof OBSERVING_FIGURES, () => Response> = {
    whole: () => new Response(whole, { headers: { "content-type": "application/json" } }),
    event: () => streamOf(reads),
  };
  const loads: Record<string, [load: Load, times: number, count: number, unit: number]> = {
    whole: [{ bytes: 1_000 }, BATCH, BATCH, 1_000],
    event: [{ bytes: 1_000, stream: "" }, 1, EVENTS, 1],
  };
  const found: Record<Observing, Values> = { off: {}, on: {}, added: {} };
  for (const [name, [load, times, count, unit]] of Object.entries(loads)) {
    const apps = [newGateway(false, answers[name]!), newGateway(true, answers[name]!)] as const;
    const body = newBody(bodyFor(WIRE, load), KEY);
    const batch = (app: App) =>
      cpuUs(async () => {
        for (let time = 0; time < times; time++) {
          await exchange((request) => app.fetch(request, { remoteAddr: PEER }), PATHS[WIRE], body);
        }
      });
    const least = [Infinity, Infinity];
    for (let round = 0; round < WARM_BATCHES + batches; round++) {
      // Who comes second is not always the same.
      for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const us = await batch(apps[which]!);
        if (round >= WARM_BATCHES) least[which] = Math.min(least[which]!, us);
      }
    }
    for (const app of apps) await app.close();
    const [off, on] = least.map((us) => us / count / unit) as [number, number];
    found.off[name] = off;
    found.on[name] = on;
    found.added[name] = on - off;
  }
  return found;
}

function newGateway(isObserved: boolean, answer: () => Response): App {
  const env = (name: string) => name === "KEY" ? KEY : undefined;
  const price = { input: 2, output: 6 };
  const budget = { dollars: 100_000, period: "day" };
  const config = parseConfig({
    keys: [{ name: "bench", secret: { env: "KEY" }, ...(isObserved && { budget }) }],
    upstreams: { chat: { driver: "chat", baseUrl: "http://upstream.test/v1" } },
    lanes: {
      oss: {
        models: {
          bench: { task: "chat", targets: [{ upstream: "chat", model: "org/model" }], ...(isObserved && { price }) },
        },
      },
    },
    observe: { metrics: isObserved },
    ...(isObserved && { usage: {} }),
  }, { env });
  const store = createMemoryStore({ now: Date.now, limitBytes: 1e8 });
  return createApp({ config, env, store, fetch: () => Promise.resolve(answer()), log: () => {} });
}
