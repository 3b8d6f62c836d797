/** A worker's connections to the keeper, the process that opens the store and counts the limits for all workers. */
import { connectLocal } from "../platform/local_socket.ts";
import { type CommonCounts, type CountsOptions, createCounts } from "../state/counts.ts";
import { createLocalCounter } from "../state/local/counter.ts";
import { createLocalLink } from "../state/local/link.ts";
import { createLocalStore } from "../state/local/store.ts";
import type { Store } from "../state/store.ts";

/** How long a request waits for the keeper, in milliseconds: longer than a restart of the keeper takes. */
const ANSWER_MS = 4_000;

/** `socket`: the path of the keeper's socket. `onLost`: called when the keeper has lost the file of the store. */
export function openKeeperStore(socket: string, onLost: () => void): Store {
  return createLocalStore(createLocalLink({ connect: () => connectLocal(socket), onLost }));
}

/**
 * Opens the counts. They have a connection of their own, because a large value on the store's connection would delay
 * them.
 */
export function openKeeperCounts(socket: string, options: Omit<CountsOptions, "counter">): CommonCounts {
  const counter = createLocalCounter({ connect: () => connectLocal(socket), monotonic: options.monotonic });
  return createCounts({ ...options, counter, pace: { answerMs: ANSWER_MS } });
}
