import type { RedisAddress } from "../../config/redis_url.ts";
import { type CommonCounts, type CountsOptions, createCounts } from "../counts.ts";
import type { Store } from "../store.ts";
import { createClusterLink } from "./cluster.ts";
import { createRedisCounter } from "./counter.ts";
import { createLink, type Link, OPEN_MS } from "./link.ts";
import { createRedisStore } from "./store.ts";
import { openWire, type Wire } from "./wire.ts";

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

/** Servers that sentinels watch: those know which one is the primary now. */
interface WatchedServers {
  /** Its hosts are the sentinels; the rest is of the servers. */
  address: RedisAddress;
  /** What the sentinels call the primary. */
  name: string;
  /** The sentinels' own, where they have one. */
  sentinelPassword?: string;
  ca?: string;
  connectMs: number;
}

/** A connection to the server that is the primary now. */
async function openPrimary(servers: WatchedServers): Promise<Wire> {
  const { address, ca, connectMs } = servers;
  const wire = await openWire({ address: { ...address, hosts: [await primaryOf(servers)] }, ca, connectMs });
  try {
    // A sentinel that has lost the others may name one that is the primary no more.
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

/** The address that the first sentinel gives which knows one. */
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
