/** Seals data that a client keeps for the gateway. Nobody else can read it, change it, or use it in another owner's name. */
import { builtin } from "../util/builtin.ts";
import { parseExactly } from "../canonical/raw_number.ts";
import { SEALED_PREFIX, type Thought } from "../transforms/sealing.ts";
import type { SlicedWork } from "../util/sliced_work.ts";
import type { Store } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

export interface Sealer {
  /** One line of ASCII, which opens only for the same owner on the same wire. */
  seal(thought: Thought, wire: string, owner: string): string;
  /** Absent if the text was not sealed by this gateway, or with another key, wire or owner, or is incomplete. */
  open(sealed: string, wire: string, owner: string): SlicedWork<Thought | undefined>;
}

/** The sealer, or the reason why the store did not give its key. */
export type LoadedSealer = { sealer: Sealer; failure?: undefined } | { sealer?: undefined; failure: unknown };

/** `waitedMs`: how long the request has waited for the store already. */
export type LoadSealer = (waitedMs?: number) => Promise<LoadedSealer>;

export interface SealingOptions {
  /** The secret of the configuration. */
  secret?: string;
  /** Keeps a generated key if the configuration has none. With a shared store, all gateways have one key. */
  store: Store;
  /** How long the store may take, in milliseconds: a client waits for it. */
  patienceMs: number;
  /** Milliseconds by a monotonic clock. */
  now(): number;
}

/** How long a store that failed is not asked again for the key, in milliseconds. */
const REST_MS = 500;
/** How long a request waits for a store that has failed before, in milliseconds. */
const RETRY_MS = 250;

/**
 * Makes the sealer at its first use. A store that fails is asked again. Until it answers there is no sealer, because data that
 * is sealed with a key of this process alone would open nowhere else.
 */
export function createSealing({ secret, store, patienceMs, now }: SealingOptions): LoadSealer {
  let loaded: LoadedSealer | undefined;
  let failed: { failure: unknown; at: number } | undefined;
  let asking: Promise<LoadedSealer> | undefined;

  async function ask(waitedMs: number): Promise<LoadedSealer> {
    const key = keptKey(store);
    // A key that comes too late for this request is there for the next one.
    key.then((bytes) => loaded ??= { sealer: createSealer(bytes) }, () => {});
    try {
      const leftMs = Math.max(0, patienceMs - waitedMs);
      await withStoreTimeout(failed ? Math.min(leftMs, RETRY_MS) : leftMs, key);
      return loaded!;
    } catch (failure) {
      failed = { failure, at: now() };
      return { failure };
    } finally {
      asking = undefined;
    }
  }

  return async (waitedMs = 0) => {
    if (secret !== undefined) loaded ??= { sealer: createSealer(keyFrom(secret)) };
    if (loaded) return loaded;
    if (failed && now() - failed.at < REST_MS) return { failure: failed.failure };
    return await (asking ??= ask(waitedMs));
  };
}

const ciphers = () => builtin("node:crypto");
const buffers = () => builtin("node:buffer").Buffer;

const KEY_BYTES = 32;
/** The form of the record. A reader leaves aside what it does not know of a later one. */
const VERSION = 1;

/** The key with which everything is sealed: from the secret of the configuration, or else from the store. */
export async function sealingKey({ secret, store }: Pick<SealingOptions, "secret" | "store">): Promise<Uint8Array> {
  return secret === undefined ? await keptKey(store) : keyFrom(secret);
}

function keyFrom(secret: string): Uint8Array {
  return buffers().from(ciphers().hkdfSync("sha256", secret, "", "laneway sealing", KEY_BYTES));
}

/** The key that all gateways on the store share. */
async function keptKey(store: Store): Promise<Uint8Array> {
  const made = ciphers().randomBytes(KEY_BYTES).toString("base64");
  const kept = await store.ensure(["sealing", "key"], { version: VERSION, key: made });
  // An earlier version stored the key as a plain text.
  const text = typeof kept === "string" ? kept : String((kept as { key?: unknown } | null)?.key);
  const key = buffers().from(text, "base64");
  if (key.length !== KEY_BYTES) throw new Error("The store holds something else under the name of the sealing key");
  return key;
}

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** How many bytes are decrypted before other work runs. Only the end of a text shows whether it was sealed here. */
const PIECE_BYTES = 1_000_000;

/** `key`: 32 bytes. */
export function createSealer(key: Uint8Array): Sealer {
  /** The format, the wire and the owner. They are authenticated together with the sealed data, but are not in it. */
  const bound = (wire: string, owner: string) => buffers().from(JSON.stringify([SEALED_PREFIX, wire, owner]));
  return {
    seal(thought, wire, owner) {
      const iv = ciphers().randomBytes(IV_BYTES);
      const cipher = ciphers().createCipheriv(CIPHER, key, iv).setAAD(bound(wire, owner));
      const said = buffers().concat([iv, cipher.update(JSON.stringify(thought)), cipher.final(), cipher.getAuthTag()]);
      return SEALED_PREFIX + said.toString("base64url");
    },

    *open(sealed, wire, owner) {
      if (!sealed.startsWith(SEALED_PREFIX)) return undefined;
      const bytes = buffers().from(sealed.slice(SEALED_PREFIX.length), "base64url");
      if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
      yield;
      try {
        const decipher = ciphers().createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
          .setAAD(bound(wire, owner))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        const pieces: Uint8Array[] = [];
        const end = bytes.length - TAG_BYTES;
        for (let at = IV_BYTES; at < end; at += PIECE_BYTES) {
          pieces.push(decipher.update(bytes.subarray(at, Math.min(at + PIECE_BYTES, end))));
          yield;
        }
        pieces.push(decipher.final());
        return parseExactly(buffers().concat(pieces).toString()) as Thought;
      } catch {
        return undefined;
      }
    },
  };
}
