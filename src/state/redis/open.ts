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

export interface RedisServerOptions extends RedisPlace {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** A link to a server. It connects at the first use. */
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

/** The counts on a server. They have a connection of their own: a large value on the store's would hold them up. */
export function openRedisCounts(place: RedisPlace, options: Omit<CountsOptions, "counter">): CommonCounts {
  return createCounts({ ...options, counter: createRedisCounter(openLink(place)) });
}

/** Servers that sentinels watch. The sentinels know which one is the primary. */
interface WatchedServers {
  /** The hosts are the sentinels. Everything else is for the servers. */
  address: RedisAddress;
  /** The sentinels' name for the primary. */
  name: string;
  /** The password of the sentinels, if they have one. */
  sentinelPassword?: string;
  ca?: string;
  connectMs: number;
}

/** A connection to the server that is the primary now. */
async function openPrimary(servers: WatchedServers): Promise<Wire> {
  const { address, ca, connectMs } = servers;
  const wire = await openWire({ address: { ...address, hosts: [await primaryOf(servers)] }, ca, connectMs });
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
async function primaryOf({ address, name, sentinelPassword: password, ca, connectMs }: WatchedServers) {
  const { hasTls, hosts } = address;
  const ask = async (host: RedisAddress["hosts"][number]) => {
    const wire = await openWire({ address: { hasTls, hosts: [host], ...(password && { password }) }, ca, connectMs });
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
