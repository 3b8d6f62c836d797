import type { RedisAddress } from "../../config/redis_url.ts";
import type { Store } from "../store.ts";
import { createLink, OPEN_MS } from "./link.ts";
import { createRedisStore } from "./store.ts";
import { openWire } from "./wire.ts";

export interface RedisServerOptions {
  address: RedisAddress;
  /** The certificates of who may sign the server's, in PEM; the system's where it is absent. */
  ca?: string;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** The store on a server, to which a connection is opened at the first need. */
export function openRedisStore({ address, ca, now }: RedisServerOptions): Store {
  const link = createLink(() => openWire({ address, ca, connectMs: OPEN_MS }));
  return createRedisStore({ link, now });
}
