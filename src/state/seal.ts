/** Seals what a client keeps for the gateway: nobody else can read it, change it, or bring it in another's name. */
import { builtin } from "../util/builtin.ts";
import { parseExactly } from "../canonical/raw_number.ts";
import { SEALED_PREFIX, type Thought } from "../transforms/sealing.ts";
import type { SlicedWork } from "../util/sliced_work.ts";
import type { Store } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

export interface Sealer {
  /** One line of ASCII, which opens for the same owner on the same wire. */
  seal(thought: Thought, wire: string, owner: string): string;
  /** Nothing where it is not ours, or of another key, wire or owner, or not whole. */
  open(sealed: string, wire: string, owner: string): SlicedWork<Thought | undefined>;
}

/** The sealer; why there is none while the store does not give its key. */
export type LoadedSealer = { sealer: Sealer; failure?: undefined } | { sealer?: undefined; failure: unknown };

/** `waitedMs`: how long the store has kept the request waiting already. */
export type LoadSealer = (waitedMs?: number) => Promise<LoadedSealer>;

export interface SealingOptions {
  /** From the configuration. */
  secret?: string;
  /** Where the key is kept that is made where the configuration has none: with a shared store, all gateways have one key. */
  store: Store;
  /** How long the store may take, in milliseconds: a client waits for it. */
  patienceMs: number;
  /** Milliseconds by a clock that never steps. */
  now(): number;
}

/** How long a store that failed is not asked for the key again, in milliseconds. */
const REST_MS = 500;
/** How long a request waits for one that has failed before, in milliseconds. */
const RETRY_MS = 250;

/**
 * The sealer, made at the first need. A store that fails is asked again, and until it answers there is none: what a key of this
 * process alone had sealed would open nowhere else.
 */
export function createSealing({ secret, store, patienceMs, now }: SealingOptions): LoadSealer {
  let loaded: LoadedSealer | undefined;
  let failed: { failure: unknown; at: number } | undefined;
  let asking: Promise<LoadedSealer> | undefined;

  async function ask(waitedMs: number): Promise<LoadedSealer> {
    const key = keptKey(store);
    // What comes too late for this request is there for the next.
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

function keyFrom(secret: string): Uint8Array {
  return buffers().from(ciphers().hkdfSync("sha256", secret, "", "laneway sealing", KEY_BYTES));
}

/** The key that all who use the store have. */
async function keptKey(store: Store): Promise<Uint8Array> {
  const made = ciphers().randomBytes(KEY_BYTES).toString("base64");
  const kept = await store.ensure(["sealing", "key"], { version: VERSION, key: made });
  // It was a plain text before it said its form.
  const text = typeof kept === "string" ? kept : String((kept as { key?: unknown } | null)?.key);
  const key = buffers().from(text, "base64");
  if (key.length !== KEY_BYTES) throw new Error("The store holds something else under the name of the sealing key");
  return key;
}

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** How much is opened at once: whether it was sealed here is known only at its end. */
const PIECE_BYTES = 1_000_000;

/** `key`: 32 bytes. */
export function createSealer(key: Uint8Array): Sealer {
  /** The form, the wire and the owner: bound to what is sealed, and not in it. */
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
