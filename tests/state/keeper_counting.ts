/** Gateways that count together at a keeper, in this process and over its real socket. Its clock is the test's. */
import { existsSync } from "node:fs";
import { createSharedAdmission } from "../../src/http/shared_quota.ts";
import { connectLocal, listenLocal } from "../../src/platform/local_socket.ts";
import type { Counter } from "../../src/state/counter.ts";
import { createCounts } from "../../src/state/counts.ts";
import { createLedger } from "../../src/state/ledger.ts";
import { createLocalCounter } from "../../src/state/local/counter.ts";
import { type Keeper, serveKeeper } from "../../src/state/local/keeper.ts";
import { Tally } from "../../src/state/local/tally.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { until } from "../support/wait.ts";
import type { Counting, CountingGateway } from "./redis/counting_server.ts";

const DAY_MS = 86_400_000;

type Link = CountingGateway["link"];

/** What becomes of the calls of one gateway. */
function createControl() {
  const running = new Set<Promise<unknown>>();
  const link: Link = {
    isDown: false,
    losesReplies: 0,
    scripts: 0,
    async run(call: () => Promise<unknown>) {
      if (link.isDown) throw new Error("The store is down");
      const fate = link.fate?.();
      if (fate === "command lost") throw new Error("The command was lost");
      const reply = call();
      link.scripts++;
      running.add(reply);
      try {
        const result = await reply;
        if (fate === "reply lost" || link.losesReplies-- > 0) throw new Error("The reply was lost");
        link.losesReplies = Math.max(0, link.losesReplies);
        return result;
      } finally {
        running.delete(reply);
      }
    },
    async settled() {
      while (running.size > 0) await Promise.allSettled(running);
      await Promise.resolve();
    },
  };
  return link;
}

/** The same counter; `held` has the leases that it gave, each with when it ends. */
function controlled(counter: Counter, link: Link, clock: { ms: number }, held: Map<string, number>): Counter {
  return {
    take: (account, quota, request, limitMs) =>
      link.run(async () => {
        const taken = await counter.take(account, quota, request, limitMs);
        if (!taken.reached && request.id !== "") held.set(request.id, clock.ms + request.leaseMs);
        return taken;
      }),
    settle: (account, quota, settlement) =>
      link.run(async () => {
        await counter.settle(account, quota, settlement);
        held.delete(settlement.id);
      }),
    renew: (account, ids, leaseMs) =>
      link.run(async () => {
        await counter.renew(account, ids, leaseMs);
        for (const id of ids) if (held.has(id)) held.set(id, clock.ms + leaseMs);
      }),
    beat: (...args) => link.run(() => counter.beat(...args)),
    leave: (gateway) => counter.leave(gateway),
    isReady: () => !link.isDown,
    close: () => counter.close(),
  };
}

export interface KeeperCounting extends Counting {
  /** The keeper is killed, and another one takes its place. */
  replaceKeeper(remembering: number): Promise<void>;
}

export function startKeeperCounting(start: number, beatMs = 3_600_000): KeeperCounting {
  const folder = Deno.makeTempDirSync();
  const clock = { ms: start };
  const clocks = { now: () => clock.ms, monotonic: () => clock.ms };
  const days = createLedger({ store: createMemoryStore({ now: clocks.now, limitBytes: 1e8 }), patienceMs: 1_000 });
  const held = new Map<string, number>();
  const all: CountingGateway[] = [];
  let tally: Tally;
  let keeper: Keeper | undefined;
  const startKeeper = (remembering: number) => {
    tally = new Tally({ ...clocks, days });
    const store = createMemoryStore({ now: clocks.now, limitBytes: 0 });
    keeper = serveKeeper({ listener: listenLocal(`${folder}/keeper`), store, tally, remembering });
  };
  startKeeper(0);
  return {
    clock,
    async replaceKeeper(remembering) {
      keeper?.close();
      // One that ends in an orderly way takes its socket with it.
      await until(() => !existsSync(`${folder}/keeper`));
      startKeeper(remembering);
    },
    gateway(expected) {
      const link = createControl();
      const rested: [string, number][] = [];
      const counter = createLocalCounter({
        connect: () => connectLocal(`${folder}/keeper`),
        monotonic: clocks.monotonic,
      });
      const counts = createCounts({
        counter: controlled(counter, link, clock, held),
        monotonic: clocks.monotonic,
        onRest: (target, ms) => rested.push([target, ms]),
        pace: { beatMs, answerMs: 10_000 },
        expected,
      });
      const disconnect = () => {
        link.isDown = true;
        counter.close();
      };
      const one = { admission: createSharedAdmission(clocks, counts), counts, link, rested, disconnect };
      all.push(one);
      return Promise.resolve(one);
    },
    used() {
      const nothing = { id: "nobody's", counted: 0, tokens: 0, agoMs: 0 };
      const { requests, tokens } = tally.settle("key team", {}, nothing);
      const spent = days.spent("team", Math.floor(clock.ms / DAY_MS));
      return Promise.resolve([requests?.amount ?? 0, tokens?.amount ?? 0, spent]);
    },
    lastLease: () => Promise.resolve(Math.max(0, ...held.values())),
    async close() {
      for (const { counts } of all) await counts.close();
      keeper?.close();
      await days.close();
      Deno.removeSync(folder, { recursive: true });
    },
  };
}
