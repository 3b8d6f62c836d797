/** Seals what a client keeps for the gateway: nobody else can read it, change it, or bring it in another's name. */
import { builtin } from "../util/builtin.ts";
import { parseExactly } from "../canonical/raw_number.ts";
import { SEALED_PREFIX, type Thought } from "../transforms/sealing.ts";
import type { Store } from "./store.ts";
import { within } from "./within.ts";

export interface Sealer {
  /** One line of ASCII, which opens for the same owner on the same wire. */
  seal(thought: Thought, wire: string, owner: string): string;
  /** Nothing where it is not ours, or of another key, wire or owner, or not whole. */
  open(sealed: string, wire: string, owner: string): Thought | undefined;
}

/** A sealer, and why it is one whose key ends with this process, where it is. */
export interface LoadedSealer {
  sealer: Sealer;
  failure?: unknown;
}

export interface SealingOptions {
  /** From the configuration. */
  secret?: string;
  /** Where the key is kept that is made where the configuration has none: with a shared store, all gateways have one key. */
  store: Store;
  /** How long the store may take, in milliseconds: a client waits for it. */
  patienceMs: number;
}

/** The sealer, made at the first need. */
export function createSealing(options: SealingOptions): () => Promise<LoadedSealer> {
  let loading: Promise<LoadedSealer> | undefined;
  return () => loading ??= load(options);
}

const ciphers = () => builtin("node:crypto");
const buffers = () => builtin("node:buffer").Buffer;

const KEY_BYTES = 32;

async function load({ secret, store, patienceMs }: SealingOptions): Promise<LoadedSealer> {
  if (secret !== undefined) {
    return {
      sealer: createSealer(buffers().from(ciphers().hkdfSync("sha256", secret, "", "laneway sealing", KEY_BYTES))),
    };
  }
  const made = ciphers().randomBytes(KEY_BYTES);
  try {
    const kept = await within(patienceMs, store.ensure(["sealing", "key"], made.toString("base64")));
    const key = buffers().from(String(kept), "base64");
    if (key.length !== KEY_BYTES) throw new Error("The store holds something else under the name of the sealing key");
    return { sealer: createSealer(key) };
  } catch (failure) {
    return { sealer: createSealer(made), failure };
  }
}

const CIPHER = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

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

    open(sealed, wire, owner) {
      if (!sealed.startsWith(SEALED_PREFIX)) return undefined;
      const bytes = buffers().from(sealed.slice(SEALED_PREFIX.length), "base64url");
      if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
      try {
        const decipher = ciphers().createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
          .setAAD(bound(wire, owner))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        const said = buffers().concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
        return parseExactly(said.toString()) as Thought;
      } catch {
        return undefined;
      }
    },
  };
}
