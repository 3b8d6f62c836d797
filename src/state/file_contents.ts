/** The contents of files at rest: sealed pieces in the store, or in a folder that all gateways of the store share. */
import { GatewayError } from "../errors.ts";
import { builtin } from "../util/builtin.ts";
import { yieldToEventLoop } from "../util/sliced_work.ts";
import type { Store, StoreKey } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

export interface FileContents {
  write(place: PartPlace, content: Uint8Array, expiresAt: number): Promise<void>;
  /** The pieces of a part of `bytes` bytes. Throws `unavailable` if one is missing or does not open. */
  read(place: PartPlace, bytes: number): AsyncIterable<Uint8Array<ArrayBuffer>>;
  remove(place: PartPlace, bytes: number): Promise<void>;
  /** Seals a short text that belongs to the file. */
  seal(text: string, owner: string, id: string): Promise<string>;
  /** `undefined` if it was sealed with another key. */
  open(sealed: string, owner: string, id: string): Promise<string | undefined>;
}

/** One part of a file's content: what one request brought. */
export interface PartPlace {
  owner: string;
  id: string;
  part: number;
}

/** Keeps sealed pieces. */
export interface PieceStore {
  write(place: PartPlace, pieces: AsyncIterable<Uint8Array>, expiresAt: number): Promise<void>;
  /** `undefined` for a piece that is missing. `pieces`: how many there are. */
  read(place: PartPlace, pieces: number): AsyncIterable<Uint8Array | undefined>;
  remove(place: PartPlace, pieces: number): Promise<void>;
}

/** The bytes of a piece. As text, it stays below what one transaction of each store takes. */
export const PIECE_BYTES = 192 * 1024;
const CIPHER = "aes-256-gcm";
const [IV_BYTES, TAG_BYTES] = [12, 16];
/** The bytes of a piece as it is kept. */
export const SEALED_BYTES = IV_BYTES + PIECE_BYTES + TAG_BYTES;

/** `key`: 32 bytes that all gateways on the store have. */
export function createFileContents(pieces: PieceStore, key: () => Promise<Uint8Array>): FileContents {
  const piecesIn = (bytes: number) => Math.ceil(bytes / PIECE_BYTES);
  return {
    async write(place, content, expiresAt) {
      const secret = await key();
      async function* sealed() {
        for (let at = 0, piece = 0; at < content.length; at += PIECE_BYTES, piece++) {
          yield seal(secret, content.subarray(at, at + PIECE_BYTES), [place.owner, place.id, place.part, piece]);
          await yieldToEventLoop();
        }
      }
      await pieces.write(place, sealed(), expiresAt);
    },
    async *read(place, bytes) {
      const secret = await key();
      let piece = 0;
      for await (const sealed of pieces.read(place, piecesIn(bytes))) {
        const opened = sealed && open(secret, sealed, [place.owner, place.id, place.part, piece++]);
        if (!opened) throw unreadable();
        yield opened;
      }
      if (piece < piecesIn(bytes)) throw unreadable();
    },
    remove: (place, bytes) => pieces.remove(place, piecesIn(bytes)),
    async seal(text, owner, id) {
      const sealed = seal(await key(), new TextEncoder().encode(text), [owner, id, "name"]);
      return builtin("node:buffer").Buffer.from(sealed).toString("base64");
    },
    async open(sealed, owner, id) {
      const bytes = open(await key(), builtin("node:buffer").Buffer.from(sealed, "base64"), [owner, id, "name"]);
      return bytes && new TextDecoder().decode(bytes);
    },
  };
}

function unreadable(): GatewayError {
  const message = "The content of the file cannot be read: it is incomplete, or the gateway's key has changed";
  return new GatewayError("unavailable", message, { retryable: false });
}

/** The place of a piece is authenticated with it, so that nobody who can write to the folder can exchange pieces. */
type PieceName = readonly (string | number)[];

function seal(key: Uint8Array, bytes: Uint8Array, place: PieceName): Uint8Array {
  const { createCipheriv, randomBytes } = builtin("node:crypto");
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(new TextEncoder().encode(JSON.stringify(place)));
  return builtin("node:buffer").Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

function open(key: Uint8Array, sealed: Uint8Array, place: PieceName): Uint8Array<ArrayBuffer> | undefined {
  if (sealed.length < IV_BYTES + TAG_BYTES) return undefined;
  try {
    const decipher = builtin("node:crypto").createDecipheriv(CIPHER, key, sealed.subarray(0, IV_BYTES))
      .setAAD(new TextEncoder().encode(JSON.stringify(place)))
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    const bytes = [decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()];
    return new Uint8Array(builtin("node:buffer").Buffer.concat(bytes));
  } catch {
    return undefined;
  }
}

/** Pieces in the store. */
export function inStore(store: Store, patienceMs: number): PieceStore {
  const listOf = ({ owner, id, part }: PartPlace): StoreKey => ["file content", owner, `${id}.${part}`];
  const ask = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await withStoreTimeout(patienceMs, work);
    } catch (cause) {
      throw new GatewayError("unavailable", "The gateway cannot reach its files: try again later", { cause });
    }
  };
  return {
    async write(place, pieces, expiresAt) {
      let piece = 0;
      for await (const bytes of pieces) {
        const data = builtin("node:buffer").Buffer.from(bytes).toString("base64");
        await ask(store.add([[[...listOf(place), piece++], { version: 1, data }]], expiresAt));
      }
    },
    async *read(place, pieces) {
      for (let piece = 0; piece < pieces; piece++) {
        const found = await ask(store.get([...listOf(place), piece])) as { data: string } | undefined;
        yield found && builtin("node:buffer").Buffer.from(found.data, "base64");
      }
    },
    async remove(place, pieces) {
      // The last first: if this is interrupted, those that are left are still found by their numbers.
      for (let piece = pieces - 1; piece >= 0; piece--) await ask(store.delete([...listOf(place), piece]));
    },
  };
}

/** The end of the name of a file that is being written, and how long that takes at most, in milliseconds. */
const [DRAFT, DRAFT_MS] = [".new", 3_600_000];

/**
 * Removes drafts that a process left when it ended, once in a while. `now`: by the clock of the folder, which may be another
 * machine's.
 */
function createDraftSweep(folder: string): (now: number) => Promise<void> {
  const { readdir, rm, stat } = builtin("node:fs/promises");
  let sweptAt = -Infinity;
  return async (now) => {
    if (now - sweptAt < DRAFT_MS) return;
    sweptAt = now;
    for (const name of await readdir(folder)) {
      if (!name.endsWith(DRAFT)) continue;
      const path = builtin("node:path").join(folder, name);
      // Another process may have finished it meanwhile.
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
      if (now - mtimeMs >= DRAFT_MS) await rm(path, { force: true });
    }
  };
}

/** Pieces in a folder, one file for each part. Its names say nothing about owners. */
export function inFolder(folder: string): PieceStore {
  const fs = () => builtin("node:fs/promises");
  const pathOf = ({ owner, id, part }: PartPlace) => {
    const name = builtin("node:crypto").hash("sha256", JSON.stringify([owner, id, part]), "hex");
    return builtin("node:path").join(folder, `${name}.sealed`);
  };
  const ask = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof GatewayError) throw cause;
      throw new GatewayError("unavailable", "The gateway cannot use the folder of its files: try again later", {
        cause,
      });
    }
  };
  const sweep = createDraftSweep(folder);
  return {
    write: (place, pieces) =>
      ask(async () => {
        await fs().mkdir(folder, { recursive: true, mode: 0o700 });
        const path = pathOf(place);
        // Complete, or not there.
        const draft = `${path}.${crypto.randomUUID()}${DRAFT}`;
        const file = await fs().open(draft, "wx", 0o600);
        try {
          for await (const bytes of pieces) await file.write(bytes);
          await file.sync();
          const { mtimeMs } = await file.stat();
          await file.close();
          await fs().rename(draft, path);
          await sweep(mtimeMs).catch(() => {}); // the next one tries again
        } catch (failure) {
          await file.close().catch(() => {});
          await fs().rm(draft, { force: true }).catch(() => {});
          throw failure;
        }
      }),
    async *read(place, pieces) {
      const file = await ask(() =>
        fs().open(pathOf(place), "r").catch((failure) => {
          // Later, too, it will not be there.
          if (failure.code !== "ENOENT") throw failure;
        })
      );
      if (!file) return;
      try {
        for (let piece = 0; piece < pieces; piece++) {
          const bytes = new Uint8Array(SEALED_BYTES);
          const { bytesRead } = await ask(() => file.read(bytes, 0, SEALED_BYTES, piece * SEALED_BYTES));
          yield bytesRead > 0 ? bytes.subarray(0, bytesRead) : undefined;
        }
      } finally {
        await file.close();
      }
    },
    remove: (place) => ask(() => fs().rm(pathOf(place), { force: true })),
  };
}
