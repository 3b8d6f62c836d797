/** What a gateway of its own process holds in memory, without what its engine has yet to collect. */
import { residentKb } from "../bench/server.ts";
import { within } from "../support/wait.ts";
import type { GatewayProcess } from "../continuity/gateway_process.ts";

/** Options of Deno for a gateway whose memory is looked at. */
export const WATCHED = ["--inspect=127.0.0.1:0"];

/** How much more a run may have at its end than when it was warm, in kB, for what the engine keeps ready for later. */
const RESIDENT_SLACK_KB = 48 * 1024;

export interface Held {
  /** Objects and buffers that something still holds. */
  liveKb: number;
  /** What the system counts, which has the engine's reserves in it. */
  residentKb: number;
}

export interface MemoryWatch {
  look(): Promise<Held>;
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
    async look() {
      await ask("HeapProfiler.collectGarbage");
      const { usedSize, backingStorageSize } = await ask("Runtime.getHeapUsage");
      return { liveKb: Math.round((usedSize + backingStorageSize) / 1024), residentKb: residentKb(pid) ?? 0 };
    },
    close: () => socket.close(),
  };
}

/** What was held at the times `x`. */
export type Point = Held & { x: number };

/** Why these points, of a gateway that was warm at the first, are not flat within `slackKb` of live memory. */
export function growthOf(points: readonly Point[], slackKb: number): string | undefined {
  const [first, last] = [points[0]!, points.at(-1)!];
  const isFlat = last.liveKb - first.liveKb < slackKb && last.residentKb - first.residentKb < RESIDENT_SLACK_KB;
  return isFlat ? undefined : JSON.stringify(points);
}

/** Kilobytes held more for each of `x`, by the least squares. */
export function slopeOf(points: readonly Point[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map((point) => point.x)), mean(points.map(({ liveKb }) => liveKb))];
  const spread = points.reduce((sum, point) => sum + (point.x - x) ** 2, 0);
  return points.reduce((sum, point) => sum + (point.x - x) * (point.liveKb - y), 0) / spread;
}
