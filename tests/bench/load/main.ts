/**
 * Four gateways on one Redis server behind HAProxy, under load, while one after the other is restarted as at an update or killed:
 * what was promised, and what became of it. `--minutes=10`.
 */
import { missingOf } from "../../support/programs.ts";
import { isRedisMissing } from "../../support/redis_server.ts";
import { alignTable } from "../table.ts";
import { askUntil, countStored, type KeyName, usageOf } from "./clients.ts";
import { type Rig, withRig } from "./rig.ts";
import { type Facts, judge, type Kill } from "./verdict.ts";

const CALM_MS = 3_000;

export interface Disturbed {
  kills: Kill[];
  exits: number[];
}

/** Restarts and kills by turns, each replica after the other, until the time is over. */
async function disturb(rig: Rig, untilMs: number, say: (text: string) => void): Promise<Disturbed> {
  const done: Disturbed = { kills: [], exits: [] };
  for (let round = 0; performance.now() < untilMs; round++) {
    const name = rig.replicas[round % rig.replicas.length]!;
    // Each replica has its turn with both.
    const isKill = (round + Math.floor(round / rig.replicas.length)) % 2 === 1;
    say(`${isKill ? "kill" : "restart"} ${name}`);
    if (isKill) {
      done.kills.push({ replica: name, ...await rig.kill(name) });
      await delay(CALM_MS);
      await rig.revive(name);
    } else done.exits.push(await rig.restart(name));
    await delay(CALM_MS);
  }
  return done;
}

/** Asks while `disturbed` goes on, then looks at what is left of it all. */
export async function measure(rig: Rig, disturbed: (rig: Rig) => Promise<Disturbed>): Promise<Facts> {
  const from = performance.now();
  const stop = new AbortController();
  const asking = askUntil(rig.url, stop.signal);
  const { kills, exits } = await disturbed(rig).finally(() => stop.abort());
  const { asked, turns } = await asking;
  const tookMs = performance.now() - from;
  await delay(2_500); // sums are written within a second, and late streams of gone clients are over
  const keys: KeyName[] = ["app", "limited", "few"];
  const used = Object.fromEntries(await Promise.all(keys.map(async (key) => [key, await usageOf(rig.url, key)])));
  const stored = await countStored(rig.url, turns);
  return { asked, turns, kills, exits, stored, used, mostAtOnce: rig.mostAtOnce(), alone: rig.alone(), tookMs };
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function main(): Promise<number> {
  const minutes = Number(/^--minutes=([\d.]+)$/.exec(Deno.args[0] ?? "--minutes=10")?.[1]);
  const missing = [...missingOf("haproxy"), ...(isRedisMissing ? ["redis-server"] : [])];
  if (!(minutes > 0) || missing.length > 0) {
    print(missing.length > 0 ? `It needs ${missing.join(" and ")}` : "Usage: deno task bench:load [--minutes=10]");
    return 2;
  }
  let verdicts: ReturnType<typeof judge> = [];
  await withRig({ replicas: 4, checkMs: 2_000, noticeMs: 5_000 }, async (rig) => {
    const begun = performance.now();
    const say = (text: string) => print(`${((performance.now() - begun) / 1000).toFixed(0).padStart(4)} s  ${text}`);
    const facts = await measure(rig, (rig) => disturb(rig, begun + minutes * 60_000, say));
    verdicts = judge(facts);
  });
  const rows = verdicts.map(({ promise, found, holds }) => [promise, found, holds ? "holds" : "BROKEN"]);
  print(alignTable([["promise", "found", ""], ...rows]));
  return verdicts.every(({ holds }) => holds) ? 0 : 1;
}

function print(text: string): void {
  // deno-lint-ignore no-console -- what a run found out
  console.log(text);
}

if (import.meta.main) Deno.exit(await main());
