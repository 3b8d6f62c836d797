/** A Redis or Valkey server, sentinels or a cluster as a store. */
import { parseRedisUrl } from "../../config/redis_url.ts";
import { secretAt } from "../../config/secrets.ts";
import type { StoreServerKind } from "../store_server.ts";
import { openRedisCounts, openRedisStore, type RedisPlace } from "./open.ts";
import { readRisks } from "./risks.ts";
import { type LoadClient, loadClient } from "./wire.ts";

export const redisServerKind: StoreServerKind = {
  loadClient: ({ storeClient = loadClient }) => storeClient(),
  at({ url = {}, ca, sentinel, cluster }, { readText, storeClient }, env) {
    const source = { env, readText };
    const address = parseRedisUrl(secretAt(url, source) ?? "");
    if (!address) {
      const place = url.file === undefined ? `Environment variable "${url.env}"` : `File "${url.file}"`;
      throw new Error(`${place} does not hold the URL of a server`);
    }
    const password = sentinel?.password && secretAt(sentinel.password, source);
    const place: RedisPlace = {
      address,
      ca: ca === undefined ? undefined : readText(ca),
      isCluster: cluster,
      loadClient: storeClient as LoadClient | undefined,
      ...(sentinel && { sentinel: { name: sentinel.name, password } }),
    };
    return {
      openStore: (now) => openRedisStore({ ...place, now }),
      openCounts: (options) => openRedisCounts(place, options),
      readRisks: () => readRisks(place),
    };
  },
};
