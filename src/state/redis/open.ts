import type { RedisAddress } from "../../config/redis_url.ts";
import type { Store } from "../store.ts";
import { createLink, OPEN_MS } from "./link.ts";
import { createRedisCounts, type RedisCounts, type RedisCountsOptions } from "./counts.ts";
import { createRedisStore } from "./store.ts";
import { openWire } from "./wire.ts";

export interface RedisPlace {
  address: RedisAddress;
  /** The certificates of who may sign the server's, in PEM; the system's where it is absent. */
  ca?: string;
}

export interface RedisServerOptions extends RedisPlace {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** The store on a server, to which a connection is opened at the first need. */
export function openRedisStore({ address, ca, now }: RedisServerOptions): Store {
  const link = createLink(() => openWire({ address, ca, connectMs: OPEN_MS }));
  return createRedisStore({ link, now });
}

/** The counts on a server, by a connection of their own: a large value on the store's would hold them up. */
export function openRedisCounts({ address, ca }: RedisPlace, options: Omit<RedisCountsOptions, "link">): RedisCounts {
  return createRedisCounts({ ...options, link: createLink(() => openWire({ address, ca, connectMs: OPEN_MS })) });
}
