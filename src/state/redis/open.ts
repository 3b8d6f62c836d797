import type { RedisAddress } from "../../config/redis_url.ts";
import { type CommonCounts, type CountsOptions, createCounts } from "../counts.ts";
import type { Store } from "../store.ts";
import { createClusterLink } from "./cluster.ts";
import { createRedisCounter } from "./counter.ts";
import { createLink, type Link, OPEN_MS } from "./link.ts";
import { openPrimary } from "./sentinel.ts";
import { createRedisStore } from "./store.ts";
import { openWire } from "./wire.ts";

export { loadClient } from "./wire.ts";

export interface RedisPlace {
  /** Of the server; of the sentinels, or of nodes of the cluster. */
  address: RedisAddress;
  /** The certificates of who may sign the server's, in PEM; the system's where it is absent. */
  ca?: string;
  /** What sentinels call the primary, where the address is theirs, and their own password. */
  sentinel?: { name: string; password?: string };
  isCluster?: boolean;
}

export interface RedisServerOptions extends RedisPlace {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** The way to a server, to which a connection is opened at the first need. */
export function openLink({ address, ca, sentinel, isCluster }: RedisPlace): Link {
  const connectMs = OPEN_MS;
  if (sentinel) {
    const { name, password: sentinelPassword } = sentinel;
    return createLink(() => openPrimary({ address, name, sentinelPassword, ca, connectMs }));
  }
  if (!isCluster) return createLink(() => openWire({ address, ca, connectMs }));
  return createClusterLink({
    seeds: address.hosts,
    open: (node) => createLink(() => openWire({ address: { ...address, hosts: [node] }, ca, connectMs })),
  });
}

/** The store on a server. */
export function openRedisStore({ now, ...place }: RedisServerOptions): Store {
  return createRedisStore({ link: openLink(place), now });
}

/** The counts on a server, by a connection of their own: a large value on the store's would hold them up. */
export function openRedisCounts(place: RedisPlace, options: Omit<CountsOptions, "counter">): CommonCounts {
  return createCounts({ ...options, counter: createRedisCounter(openLink(place)) });
}
