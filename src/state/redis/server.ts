/** A Redis or Valkey server, sentinels or a cluster as a store. */
import { parseRedisUrl } from "../../config/redis_url.ts";
import type { StoreServerKind } from "../store_server.ts";
import { openRedisCounts, openRedisStore, type RedisPlace } from "./open.ts";
import { readRisks } from "./risks.ts";
import { loadClient } from "./wire.ts";

export const redisServerKind: StoreServerKind = {
  loadClient,
  at({ url, ca, sentinel, cluster }, platform, env) {
    const address = parseRedisUrl(env(url?.env ?? "") ?? "");
    if (!address) throw new Error(`Environment variable "${url?.env}" does not hold the URL of a server`);
    const password = sentinel?.password && env(sentinel.password.env);
    const place: RedisPlace = {
      address,
      ca: ca === undefined ? undefined : platform.readText(ca),
      isCluster: cluster,
      ...(sentinel && { sentinel: { name: sentinel.name, password } }),
    };
    return {
      openStore: (now) => openRedisStore({ ...place, now }),
      openCounts: (options) => openRedisCounts(place, options),
      readRisks: () => readRisks(place),
    };
  },
};
