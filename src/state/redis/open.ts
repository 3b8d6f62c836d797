/** Opens the store and the counts on a server, on the primary that sentinels know, or on a cluster. */
import type { RedisAddress } from "../../config/redis_url.ts";
import { type CommonCounts, type CountsOptions, createCounts } from "../counts.ts";
import type { Store } from "../store.ts";
import { createClusterLink } from "./cluster.ts";
import { createRedisCounter } from "./counter.ts";
import { createLink, type Link, OPEN_MS } from "./link.ts";
import { createRedisStore } from "./store.ts";
import { openWire, type Wire } from "./wire.ts";

export interface RedisPlace {
  /** The address of the server, of the sentinels, or of nodes of the cluster. */
  address: RedisAddress;
  /** The certificate authorities for the server's certificate, in PEM. If absent, the system's. */
  ca?: string;
  /** The sentinels' name for the primary and their own password, if the address is that of sentinels. */
  sentinel?: { name: string; password?: string };
  isCluster?: boolean;
}

/** A link to a server. It connects at the first use. */
export function openLink({ address, ca, sentinel, isCluster }: RedisPlace): Link {
  if (sentinel) return createLink(() => openPrimary(address, ca, sentinel));
  if (!isCluster) return createLink(() => openWire({ address, ca, connectMs: OPEN_MS }));
  return createClusterLink({
    seeds: address.hosts,
    open: (node) => createLink(() => openWire({ address: { ...address, hosts: [node] }, ca, connectMs: OPEN_MS })),
  });
}

/** The store on a server. `now`: milliseconds since the epoch. */
export function openRedisStore({ now, ...place }: RedisPlace & { now(): number }): Store {
  return createRedisStore({ link: openLink(place), now });
}

/** The counts on a server. They have a connection of their own: a large value on the store's would hold them up. */
export function openRedisCounts(place: RedisPlace, options: Omit<CountsOptions, "counter">): CommonCounts {
  return createCounts({ ...options, counter: createRedisCounter(openLink(place)) });
}

type Sentinel = NonNullable<RedisPlace["sentinel"]>;

/**
 * A connection to the server that is the primary now. The hosts of the address are the sentinels. Everything else in it is for
 * the servers.
 */
async function openPrimary(address: RedisAddress, ca: string | undefined, sentinel: Sentinel): Promise<Wire> {
  const primary = await primaryOf(address, ca, sentinel);
  const wire = await openWire({ address: { ...address, hosts: [primary] }, ca, connectMs: OPEN_MS });
  try {
    // A sentinel that has lost the others may name a server that is no longer the primary.
    const [role] = await wire.send(["ROLE"]) as [unknown];
    if (String(role) === "master") return wire;
  } catch (error) {
    if (/^NOPERM/.test((error as Error).message)) return wire;
    wire.destroy();
    throw error;
  }
  wire.destroy();
  throw new Error("The server that the sentinels name is not the primary");
}

/** The primary's address, from the first sentinel that knows it. */
async function primaryOf({ hasTls, hosts }: RedisAddress, ca: string | undefined, { name, password }: Sentinel) {
  const ask = async (host: RedisAddress["hosts"][number]) => {
    const address = { hasTls, hosts: [host], ...(password && { password }) };
    const wire = await openWire({ address, ca, connectMs: OPEN_MS });
    try {
      const reply = await wire.send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]) as [unknown, unknown] | null;
      if (!reply) throw new Error(`No sentinel knows a primary called "${name}"`);
      return { host: String(reply[0]), port: Number(reply[1]) };
    } finally {
      wire.destroy();
    }
  };
  try {
    return await Promise.any(hosts.map(ask));
  } catch (error) {
    throw error instanceof AggregateError ? error.errors.at(-1) : error;
  }
}
