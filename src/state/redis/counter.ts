/** A counter on a server, by means of scripts. */
import type { Quota } from "../../contract/allowance.ts";
import type { Taken } from "../../contract/shared_counts.ts";
import { builtin } from "../../util/builtin.ts";
import type { Counter } from "../counter.ts";
import { BEAT, RENEW, SETTLE, TAKE } from "./count_scripts.ts";
import type { Link } from "./link.ts";

/** In the order of the scripts' arguments. */
const LIMITS = ["requestsPerMinute", "tokensPerMinute", "tokensPerDay", "concurrentRequests"] as const;
const REACHED = [undefined, "concurrentRequests", "tokensPerDay", "requestsPerMinute", "tokensPerMinute"] as const;
const GATEWAYS = "laneway:{gateways}:living";
const RESTING = "laneway:{gateways}:resting";

export function createRedisCounter(link: Link): Counter {
  return {
    async take(account, quota, { tokens, id, leaseMs }, limitMs) {
      const args = [...limitsOf(quota), String(tokens), id, String(leaseMs)];
      return takenFrom(await link.run(TAKE, keysOf(account, id), args, limitMs) as unknown[]);
    },

    async settle(account, quota, { id, counted, tokens, agoMs, unsure }) {
      const used = [id, counted, tokens, agoMs, unsure?.requests ?? ""].map(String);
      try {
        await link.run(SETTLE, keysOf(account, id), [...limitsOf(quota).slice(0, 3), ...used]);
      } catch (error) {
        // Under a key of another type nothing can ever be counted, so a retry would not help.
        if (!/^WRONGTYPE\b/.test((error as Error).message)) throw error;
      }
    },

    renew: (account, ids, leaseMs) => link.run(RENEW, [keysOf(account)[1]], [String(leaseMs), ...ids]),

    async beat(gateway, lifeMs, resting) {
      const args = [String(lifeMs), gateway, ...resting.flatMap(([target, ms]) => [target, String(ms)])];
      const [gateways, ...rest] = (await link.run(BEAT, [GATEWAYS, RESTING], args) as unknown[]).map(String);
      const targets = Array.from({ length: rest.length / 3 }, (_, index) => {
        const [target, ends, ms] = rest.slice(3 * index) as [string, string, string];
        return { target, ends, ms: Number(ms) };
      });
      return { gateways: Number(gateways), resting: targets };
    },

    leave: (gateway) => link.send(["ZREM", GATEWAYS, gateway]),
    isReady: (limitMs) => link.isReady(limitMs),
    close: () => link.close(),
  };
}

function limitsOf(quota: Quota): string[] {
  return LIMITS.map((name) => String(quota[name] ?? ""));
}

function takenFrom([reached, ...rest]: readonly unknown[]): Taken {
  const [waitMs, requests, tokens, dayTokens] = rest.map((one) => Number(String(one))) as [
    number,
    number,
    number,
    number,
  ];
  return { reached: REACHED[Number(reached)], waitMs, used: { requests, tokens, dayTokens } };
}

/** The keys of the usage, the leases and the mark of a settlement. Those of one account are on one node of a cluster. */
function keysOf(account: string, id = ""): [string, string, string] {
  const hash = builtin("node:crypto").hash("sha256", JSON.stringify(["limits", account]), "base64url");
  return [`laneway:{${hash}}:used`, `laneway:{${hash}}:leases`, `laneway:{${hash}}:settled:${id}`];
}
