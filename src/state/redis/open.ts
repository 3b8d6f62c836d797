/** Opens the store and the counts on a server, on the primary that sentinels know, or on a cluster. */
import type { RedisAddress } from "../../config/redis_url.ts";
import { type CommonCounts, type CountsOptions, createCounts } from "../counts.ts";
import type { Store } from "../store.ts";
import { createClusterLink } from "./cluster.ts";
import { createRedisCounter } from "./counter.ts";
import { createLink, type Link, OPEN_MS } from "./link.ts";
import { createRedisStore } from "./store.ts";
import { type LoadClient, openWire, type Wire } from "./wire.ts";

export interface RedisPlace {
  /** The address of the server, of the sentinels, or of nodes of the cluster. */
  address: RedisAddress;
  /** The certificate authorities for the server's certificate, in PEM. If absent, the system's. */
  ca?: string;
  /** The sentinels' name for the primary and their own password, if the address is that of sentinels. */
  sentinel?: { name: string; password?: string };
  isCluster?: boolean;
  /** In place of the client's package. */
  loadClient?: LoadClient;
}

/** A link to a server. It connects at the first use. */
export function openLink(place: RedisPlace): Link {
  const { address, sentinel } = place;
  const open: Open = (at) => openWire({ address: at, ca: place.ca, connectMs: OPEN_MS, loadClient: place.loadClient });
  if (sentinel) return createLink(() => openPrimary(open, address, sentinel));
  if (!place.isCluster) return createLink(() => open(address));
  return createClusterLink({
    seeds: address.hosts,
    open: (node) => createLink(() => open({ ...address, hosts: [node] })),
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
type Open = (address: RedisAddress) => Promise<Wire>;

/**
 * A connection to the server that is the primary now. The hosts of the address are the sentinels. Everything else in it is for
 * the servers.
 */
async function openPrimary(open: Open, address: RedisAddress, sentinel: Sentinel): Promise<Wire> {
  const primary = await primaryOf(open, address, sentinel);
  const wire = await open({ ...address, hosts: [primary] });
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
async function primaryOf(open: Open, { hasTls, hosts }: RedisAddress, { name, password }: Sentinel) {
  const ask = async (host: RedisAddress["hosts"][number]) => {
    const wire = await open({ hasTls, hosts: [host], ...(password && { password }) });
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
