/** What another process of this machine keeps for several workers. Loaded at the first need. */
import { connectLocal } from "../platform/local_socket.ts";
import { type CommonCounts, type CountsOptions, createCounts } from "../state/counts.ts";
import { createLocalCounter } from "../state/local/counter.ts";
import { createLocalLink } from "../state/local/link.ts";
import { createLocalStore } from "../state/local/store.ts";
import type { Store } from "../state/store.ts";

/** How long a request waits, in milliseconds: longer than it takes to start that process anew. */
const ANSWER_MS = 4_000;

/** `socket`: the path of the other process's. `onLost`: what was in the store is lost. */
export function openKeptStore(socket: string, onLost: () => void): Store {
  return createLocalStore(createLocalLink({ connect: () => connectLocal(socket), onLost }));
}

/** By a connection of their own: a large value on the store's would hold them up. */
export function openKeptCounts(socket: string, options: Omit<CountsOptions, "counter">): CommonCounts {
  const counter = createLocalCounter({ connect: () => connectLocal(socket), monotonic: options.monotonic });
  return createCounts({ ...options, counter, pace: { answerMs: ANSWER_MS } });
}
