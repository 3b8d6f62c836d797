/** Servers that sentinels watch: those know which one is the primary now. */
import type { RedisAddress } from "../../config/redis_url.ts";
import { openWire, type Wire } from "./wire.ts";

export interface WatchedServers {
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
export async function openPrimary(servers: WatchedServers): Promise<Wire> {
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
