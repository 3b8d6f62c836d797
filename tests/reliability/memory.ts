/** What a gateway of its own process holds in memory, without what its engine has yet to collect. */
import { assert } from "@std/assert";
import { residentKb } from "../bench/server.ts";
import { within } from "../support/wait.ts";
import type { GatewayProcess } from "../continuity/gateway_process.ts";
import { IS_SHORT } from "./scale.ts";

/** Options of Deno for a gateway whose memory is looked at. */
export const WATCHED = ["--inspect=127.0.0.1:0"];

/**
 * How much more the system may count at the end of a long run than when it was warm, in kB. On a busy machine the engine
 * collects late, and what it keeps ready goes up and down by half of this.
 */
const RESIDENT_SLACK_KB = 128 * 1024;

export interface MemoryWatch {
  /** Objects and buffers that something still holds, in kB. The gateway stands still while they are counted. */
  live(): Promise<number>;
  /** What the system counts, which has the engine's reserves in it, in kB. */
  resident(): number;
  close(): void;
}

/** By the protocol of V8's inspector. */
export async function watchMemory({ message, pid }: GatewayProcess): Promise<MemoryWatch> {
  const socket = new WebSocket(message.match(/ws:\S+/)![0]);
  await within(10_000, new Promise((resolve) => socket.onopen = resolve));
  const answers = new Map<number, (result: { usedSize: number; backingStorageSize: number }) => void>();
  socket.onmessage = ({ data }) => {
    const { id, result } = JSON.parse(data);
    answers.get(id)?.(result);
    answers.delete(id);
  };
  let asked = 0;
  const ask = (method: string) => {
    const id = ++asked;
    const answer = Promise.withResolvers<{ usedSize: number; backingStorageSize: number }>();
    answers.set(id, answer.resolve);
    socket.send(JSON.stringify({ id, method }));
    return within(30_000, answer.promise);
  };
  return {
    async live() {
      // What the first collection finalizes lets go of more.
      for (let time = 0; time < 2; time++) await ask("HeapProfiler.collectGarbage");
      const { usedSize, backingStorageSize } = await ask("Runtime.getHeapUsage");
      return Math.round((usedSize + backingStorageSize) / 1024);
    },
    resident: () => residentKb(pid) ?? 0,
    close: () => socket.close(),
  };
}

/**
 * Fails where a run held more at its end than in its middle, when it was warm. What the system counts goes up and down with
 * the engine's collections: its lowest points tell. In a short run it is not warm yet.
 */
export function assertFlat(
  live: { middle: number; end: number; slackKb: number },
  resident: readonly number[],
): void {
  const { middle, end, slackKb } = live;
  assert(end - middle < slackKb, `${middle} kB held in the middle, ${end} kB at the end`);
  const [third, last] = [
    resident.slice(-resident.length / 2, -resident.length / 4),
    resident.slice(-resident.length / 4),
  ];
  const grown = Math.min(...last) - Math.min(...third);
  assert(IS_SHORT || grown < RESIDENT_SLACK_KB, `Resident memory, in kB: ${resident.join(" ")}`);
}
