/** The places that a store of each kind is in, and their content as files that the repository keeps. */
import { Buffer } from "node:buffer";
import { parseRedisUrl } from "../../../src/config/redis_url.ts";
import { openWire, type Wire } from "../../../src/state/redis/wire.ts";
import type { ConfigInput } from "../../support/app.ts";
import { startRedis } from "../../support/redis_server.ts";

export const KINDS = ["kv", "sqlite", "redis"] as const;
export type Kind = typeof KINDS[number];

/** The entry file of the program with that store, below its folder. */
export const ENTRY: Record<Kind, string> = {
  kv: "src/main.ts",
  sqlite: "tests/state/formats/on_sqlite.ts",
  redis: "src/main.ts",
};

/** The file with a store's content. */
export const FILE: Record<Kind, string> = { kv: "kv.sqlite3", sqlite: "node.sqlite3", redis: "redis.json" };

/** An empty store. */
export interface Place {
  store: ConfigInput["store"];
  env: Record<string, string>;
  /** Fills it from a file, or writes its content to one. No gateway may run. */
  load(file: string): Promise<void>;
  save(file: string): Promise<void>;
}

export async function withPlace(kind: Kind, folder: string, use: (place: Place) => Promise<void>): Promise<void> {
  if (kind !== "redis") {
    const path = `${folder}/${FILE[kind]}`;
    const [load, save] = [(file: string) => Deno.copyFile(file, path), (file: string) => Deno.copyFile(path, file)];
    return await use({ store: { kind: "kv", path }, env: {}, load, save });
  }
  const server = await startRedis();
  const wire = await openWire({ address: parseRedisUrl(server.url)!, connectMs: 60_000 });
  try {
    await use({
      store: { kind: "redis", url: { env: "REDIS_URL" } },
      env: { REDIS_URL: server.url },
      load: (file) => loadRedis(wire, file),
      save: (file) => saveRedis(wire, file),
    });
  } finally {
    wire.destroy();
    await server.stop();
  }
}

/** An entry of the server: its value in base64, and when it expires, in milliseconds since the epoch. */
type Entry = [key: string, value: string, expiresAt: number];

async function saveRedis(wire: Wire, file: string): Promise<void> {
  const keys = await wire.send(["KEYS", "*"]) as Uint8Array[];
  const entries = keys.map(async (key): Promise<Entry> => {
    const value = await wire.send(["GET", key]) as Uint8Array;
    return [new TextDecoder().decode(key), value.toBase64(), Number(await wire.send(["PEXPIRETIME", key]))];
  });
  const sorted = (await Promise.all(entries)).toSorted(([one], [other]) => one < other ? -1 : 1);
  await Deno.writeTextFile(file, `[\n${sorted.map((entry) => JSON.stringify(entry)).join(",\n")}\n]\n`);
}

async function loadRedis(wire: Wire, file: string): Promise<void> {
  for (const [key, value, expiresAt] of JSON.parse(await Deno.readTextFile(file)) as Entry[]) {
    const expiry = expiresAt > 0 ? ["PXAT", String(expiresAt)] : [];
    await wire.send(["SET", key, Buffer.from(value, "base64"), ...expiry]);
  }
}
