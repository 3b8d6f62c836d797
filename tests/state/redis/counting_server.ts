/** Gateways that count together on a real server, whose clock is the test's. */
import { parseRedisUrl } from "../../../src/config/redis_url.ts";
import { createSharedAdmission } from "../../../src/http/shared_quota.ts";
import { type CommonCounts, createCounts } from "../../../src/state/counts.ts";
import { createRedisCounter } from "../../../src/state/redis/counter.ts";
import { type Link, OPEN_MS } from "../../../src/state/redis/link.ts";
import { openWire, type Wire } from "../../../src/state/redis/wire.ts";
import type { Admission } from "../../../src/http/admission.ts";
import { type RedisServer, startRedis } from "../../support/redis_server.ts";

/** Runs scripts by the test's clock. */
export interface TimedLink extends Link {
  isDown: boolean;
  /** How many scripts go out whose replies are lost: they run all the same. */
  losesReplies: number;
  /** Decides of each script what becomes of it, where it is not done and answered. */
  fate?(): "command lost" | "reply lost" | undefined;
  /** How many went out. */
  scripts: number;
  /** Resolves once everything that was sent is answered. */
  settled(): Promise<void>;
}

export function timedLink(wire: Wire, clock: { ms: number }): TimedLink {
  const running = new Set<Promise<unknown>>();
  const link: TimedLink = {
    isDown: false,
    losesReplies: 0,
    scripts: 0,
    isReady: () => !link.isDown,
    async send(command) {
      if (link.isDown) throw new Error("The store is down");
      return await wire.send(command);
    },
    async run({ text }, keys, args) {
      if (link.isDown) throw new Error("The store is down");
      const fate = link.fate?.();
      if (fate === "command lost") throw new Error("The command was lost");
      const time = `{'${Math.floor(clock.ms / 1_000)}', '${Math.round((clock.ms % 1_000) * 1_000)}'}`;
      const timed = text.replace("redis.call('TIME')", time);
      const reply = wire.send(["EVAL", timed, String(keys.length), ...keys, "1e18", ...args]);
      link.scripts++;
      running.add(reply);
      try {
        const result = await reply;
        if (fate === "reply lost") throw new Error("The reply was lost");
        if (link.losesReplies > 0) {
          link.losesReplies--;
          throw new Error("The reply was lost");
        }
        return result;
      } finally {
        running.delete(reply);
      }
    },
    async settled() {
      while (running.size > 0) await Promise.allSettled(running);
      await Promise.resolve();
    },
    close: () => wire.destroy(),
  };
  return link;
}

export interface CountingGateway<
  Link = Pick<TimedLink, "isDown" | "losesReplies" | "fate" | "scripts" | "settled"> & {
    // deno-lint-ignore no-explicit-any -- each kind of server is called in its own way
    run(...call: any[]): Promise<any>;
  },
> {
  admission: Admission;
  counts: CommonCounts;
  link: Link;
  rested: [target: string, ms: number][];
  /** As if the gateway were killed; only at a keeper. */
  disconnect?(): void;
}

/** Gateways that count together, wherever that is. */
export interface Counting<Gateway = CountingGateway> {
  clock: { ms: number };
  /** `expected`: how many gateways the configuration says there are. */
  gateway(expected?: number): Promise<Gateway>;
  /** What is used of the limits, as it was counted last: requests, tokens, tokens of the day. */
  used(): Promise<number[]>;
  /** When the latest lease ends; 0 where there is none. */
  lastLease(): Promise<number>;
  close(): Promise<void>;
}

export interface CountingServer extends Counting<CountingGateway<TimedLink>> {
  server: RedisServer;
}

const USED = `
local key = redis.call('KEYS', 'laneway:*:used')[1]
local counts = redis.call('HMGET', key or 'none', 'requests', 'tokens', 'dayTokens')
return cjson.encode({tonumber(counts[1]) or 0, tonumber(counts[2]) or 0, tonumber(counts[3]) or 0})
`;

const HELD = `
local latest = 0
for _, key in ipairs(redis.call('KEYS', 'laneway:*:leases')) do
  latest = math.max(latest, tonumber(redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2] or 0))
end
return string.format('%.0f', latest)
`;

/** `beatMs`: by the real clock; gateways that are to act only when they are asked to have a long one. */
export async function startCounting(start: number, beatMs = 3_600_000): Promise<CountingServer> {
  const server = await startRedis();
  const clock = { ms: start };
  const all: CountingGateway<TimedLink>[] = [];
  const evaluate = async (script: string) => (await server.ask("EVAL", script, "0")).split("\r\n")[1]!;
  return {
    server,
    clock,
    used: async () => JSON.parse(await evaluate(USED)),
    lastLease: async () => Number(await evaluate(HELD)),
    async gateway(expected) {
      const wire = await openWire({ address: parseRedisUrl(server.url)!, connectMs: OPEN_MS });
      const link = timedLink(wire, clock);
      const rested: [string, number][] = [];
      const counts = createCounts({
        counter: createRedisCounter(link),
        monotonic: () => clock.ms,
        onRest: (target, ms) => rested.push([target, ms]),
        pace: { beatMs },
        expected,
      });
      const clocks = { now: () => clock.ms, monotonic: () => clock.ms };
      const one = { admission: createSharedAdmission(clocks, counts), counts, link, rested };
      all.push(one);
      return one;
    },
    async close() {
      for (const { counts } of all) await counts.close();
      await server.stop();
    },
  };
}
