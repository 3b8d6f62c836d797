/** The files of clients, as the configuration wants them kept. */
import type { Config } from "../config/schema.ts";
import { createKeyDerivation } from "../state/derived_keys.ts";
import { createFileContents, inFolder, inStore } from "../state/file_contents.ts";
import { createFiles, type Files } from "../state/files.ts";
import { placeOfStore } from "./store.ts";
import type { World } from "./world.ts";

const MIB = 2 ** 20;

/** The most bytes of a key, and of all keys together, by where the contents are. */
const BOUNDS = {
  disk: { bytesPerKey: 1_024 * MIB, totalBytes: 10_240 * MIB },
  server: { bytesPerKey: 64 * MIB, totalBytes: 512 * MIB },
  memory: { bytesPerKey: 32 * MIB, totalBytes: 64 * MIB },
};

interface Parts extends Pick<World, "config" | "platform" | "env" | "store" | "clocks" | "pace"> {
  sealingSecret: string | undefined;
  /** How long the store may take to give the key, in milliseconds. */
  waitMs: number;
}

export function openFiles(
  { folder, ...limits }: Exclude<Config["files"], false>,
  { config, platform, env, store, clocks: { now }, pace: { storeMs: patienceMs }, sealingSecret, waitMs }: Parts,
): Files {
  const key = createKeyDerivation({ secret: sealingSecret, store, patienceMs: waitMs });
  const pieces = folder === undefined ? inStore(store, patienceMs) : inFolder(folder);
  const place = folder === undefined ? placeOfStore(config.store, platform, env) : "disk";
  const bounds = place === "memory"
    ? BOUNDS.memory
    : typeof place === "object" && "server" in place
    ? BOUNDS.server
    : BOUNDS.disk;
  return createFiles({
    store,
    contents: createFileContents(pieces, () => key("files")),
    bytesPerKey: limits.bytesPerKey ?? bounds.bytesPerKey,
    totalBytes: limits.totalBytes ?? bounds.totalBytes,
    filesPerKey: limits.filesPerKey,
    now,
    patienceMs,
  });
}
