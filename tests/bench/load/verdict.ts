/** What was promised, and what became of it. */
import { type Asked, type Found, type KeyName, sum, type Used } from "./clients.ts";
import { AT_ONCE, PER_MINUTE } from "./rig.ts";

export interface Kill {
  replica: string;
  /** From the signal to its end, by the clock of the requests. */
  from: number;
  until: number;
}

export interface Facts extends Found {
  kills: readonly Kill[];
  /** The exit codes of those that were stopped as at an update. */
  exits: readonly number[];
  stored: number;
  used: Readonly<Record<KeyName, Used>>;
  mostAtOnce: number;
  /** Requests that a gateway admitted by its own part of the limits, as it does where Redis is late. */
  alone: number;
  /** How long it was asked, in milliseconds. */
  tookMs: number;
}

export interface Verdict {
  promise: string;
  found: string;
  holds: boolean;
}

/** What a killed process had not written yet: the usage of its last second, and of what ended while it was written. */
const UNWRITTEN_MS = 2_000;

/** Whether a request was at a replica when that was killed. Where no answer had begun, nobody knows at which it was. */
export function isCut({ by, from, until }: Asked, kills: readonly Kill[]): boolean {
  return kills.some((kill) => (by ?? kill.replica) === kill.replica && from <= kill.until && kill.from <= until);
}

export function judge(facts: Facts): Verdict[] {
  const { asked, turns, kills, exits, stored, mostAtOnce, alone, tookMs } = facts;
  const failed = asked.filter(({ end }) => end === "failed");
  const lost = failed.filter((one) => !isCut(one, kills));
  const limited = asked.filter(({ kind, end }) => kind === "limited" && end === "served").length;
  const most = Math.floor(PER_MINUTE + PER_MINUTE * tookMs / 60_000);
  const wrong = turns.filter(({ messages, expected }) => messages !== expected).length;
  const row = (promise: string, found: string, holds: boolean): Verdict => ({ promise, found, holds });
  return [
    row(
      "no request is lost but by a kill",
      `${asked.length - failed.length} answered, ${failed.length - lost.length} cut by ${kills.length} kills, ` +
        `${lost.length} lost${lost.map((one) => `; ${describe(one, kills)}`).slice(0, 5).join("")}`,
      lost.length === 0,
    ),
    row(
      "whoever is stopped finishes",
      `${exits.length} restarts, exit codes ${codes(exits)}`,
      exits.every((code) => code === 0),
    ),
    row("stored turns are found", `${stored} of ${turns.length}`, stored === turns.length),
    row("a turn knows all before it", `${wrong} of ${turns.length} do not`, wrong === 0),
    row(`${PER_MINUTE} requests a minute, all together`, `${limited} of at most ${most}`, limited <= most),
    row(
      `${AT_ONCE} requests at once, all together`,
      `${mostAtOnce} at most${alone > 0 ? `; ${alone} were admitted by one alone, because Redis was late` : ""}`,
      // Beside what Redis has let in, each then lets its own part in.
      mostAtOnce <= (alone > 0 ? 3 * AT_ONCE : AT_ONCE),
    ),
    ...(["app", "limited", "few"] as const).map((key) => judgeUsage(key, facts)),
  ];
}

/** When it was lost, beside the kill before it: a balancer needs a moment to notice one. */
function describe({ by, from, until, why }: Asked, kills: readonly Kill[]): string {
  const kill = kills.findLast((one) => one.until < from);
  const after = kill ? `${(from - kill.until).toFixed(0)} ms after ${kill.replica} was killed` : "before any kill";
  return `${by ?? "by nobody known"}, ${after}, for ${(until - from).toFixed(0)} ms: ${why}`;
}

function codes(exits: readonly number[]): string {
  return [...new Set(exits)].join(", ") || "none";
}

/** What clients were given is in the sums, but for what a killed process had not written; what was cut may be in them. */
function judgeUsage(key: KeyName, { asked, kills, used }: Facts): Verdict {
  const own = asked.filter((one) => one.key === key);
  const served = own.filter(({ end }) => end === "served");
  const seen = sum(served.map((one) => ({ requests: 1, ...one })));
  const unwritten =
    served.filter(({ by, until }) =>
      kills.some((kill) => by === kill.replica && kill.from - UNWRITTEN_MS <= until && until <= kill.until)
    ).length;
  const cut = own.filter(({ end }) => end === "failed").length;
  const { requests, inputTokens, outputTokens } = used[key];
  const missing = seen.requests - requests;
  const perRequest = served[0] ? served[0].inputTokens : 0;
  return {
    promise: `usage of "${key}" is what clients saw`,
    found:
      `${requests} requests, ${inputTokens} and ${outputTokens} tokens; seen ${seen.requests}, ${seen.inputTokens} ` +
      `and ${seen.outputTokens} (up to ${unwritten} unwritten at kills, ${cut} cut)`,
    holds: missing <= unwritten && -missing <= cut && seen.inputTokens - inputTokens <= unwritten * perRequest,
  };
}
