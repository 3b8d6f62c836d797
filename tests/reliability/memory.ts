/** What a gateway of its own process holds in memory, once its engine has collected what nobody holds. */
import { assert } from "@std/assert";
import { residentKb } from "../bench/server.ts";
import { within } from "../support/wait.ts";
import type { GatewayProcess } from "../support/gateway_process.ts";

/** Options of Deno for a gateway whose memory is looked at. */
export const WATCHED = ["--inspect=127.0.0.1:0"];

export interface Held {
  /** Objects and buffers, in kB. */
  live: number;
  /** All that the system counts, which has the engine's reserves in it, in kB. */
  resident: number;
}

/** How much more the system may count at the end than in the middle, in kB: what the engine keeps ready for later. */
const RESIDENT_SLACK_KB = 48 * 1024;

/** By the protocol of V8's inspector. The gateway stands still for it. */
export async function heldBy({ message, pid }: GatewayProcess): Promise<Held> {
  const socket = new WebSocket(message.match(/ws:\S+/)![0]);
  await within(new Promise((resolve) => socket.onopen = resolve));
  const ask = async (id: number, method: string) => {
    const answer = Promise.withResolvers<{ usedSize: number; backingStorageSize: number }>();
    socket.onmessage = ({ data }) => {
      const { id: answered, result } = JSON.parse(data);
      if (answered === id) answer.resolve(result);
    };
    socket.send(JSON.stringify({ id, method }));
    return await within(answer.promise);
  };
  // What the first collection finalizes lets go of more.
  for (const id of [1, 2]) await ask(id, "HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize } = await ask(3, "Runtime.getHeapUsage");
  const closed = new Promise((resolve) => socket.onclose = resolve);
  socket.close();
  await within(closed);
  return { live: Math.round((usedSize + backingStorageSize) / 1024), resident: residentKb(pid) ?? 0 };
}

/** Fails where a run held more at its end than in its middle, when it was warm; `slackKb` of what is live. */
export function assertFlat(middle: Held, end: Held, slackKb: number): void {
  const figures = JSON.stringify({ middle, end });
  assert(end.live - middle.live < slackKb, figures);
  assert(end.resident - middle.resident < RESIDENT_SLACK_KB, figures);
}

/** For a report. */
export function sizeOf({ live, resident }: Held): string {
  return `${(live / 1024).toFixed(0)} MB held and ${(resident / 1024).toFixed(0)} MB resident at the end`;
}
