/**
 * The parts of Node's modules that the gateway's core calls, by the standards of the web. Cryptography comes from a library, because
 * the web's own makes its callers wait.
 */
import type { Builtins } from "../util/builtin.ts";

/** Cryptography that returns its results at once, such as that of `@noble/hashes` and `@noble/ciphers`. */
export interface Cryptography {
  sha256(bytes: Uint8Array): Uint8Array;
  /** Derives a key by HKDF with SHA-256. */
  hkdf(key: Uint8Array, salt: Uint8Array, info: Uint8Array, bytes: number): Uint8Array;
  /** AES-256 in Galois/Counter Mode. What is sealed ends with its tag. `bound` is authenticated together with it. */
  gcm(key: Uint8Array, iv: Uint8Array, bound: Uint8Array): {
    encrypt(plain: Uint8Array): Uint8Array;
    decrypt(sealed: Uint8Array): Uint8Array;
  };
}

/** The modules in the form of `builtin`. What the core does not call is missing. */
export function webBuiltins(cryptography: Cryptography): Partial<Builtins> {
  const modules = {
    "node:buffer": { Buffer },
    "node:crypto": webCrypto(cryptography),
    "node:timers": { setTimeout: setEndingTimeout, clearTimeout: ({ id }: EndingTimer) => clearTimeout(id) },
  };
  return modules as unknown as Partial<Builtins>;
}

interface EndingTimer {
  id: ReturnType<typeof setTimeout>;
  unref(): void;
}

/** A runtime of the web does not wait for timers before it ends. */
function setEndingTimeout(run: () => void, ms: number): EndingTimer {
  return { id: setTimeout(run, ms), unref() {} };
}

type Encoding = "utf8" | "hex" | "base64" | "base64url";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Bytes that can be written as a text, like a `Buffer` of Node. */
class Bytes extends Uint8Array {
  override toString(encoding: Encoding = "utf8"): string {
    if (encoding === "utf8") return decoder.decode(this);
    if (encoding === "hex") return this.toHex();
    return this.toBase64({ alphabet: encoding, omitPadding: encoding === "base64url" });
  }
}

const Buffer = {
  from: (data: string | Uint8Array, encoding: Encoding = "utf8") =>
    concat([typeof data === "string" ? decode(data, encoding) : data]),
  concat,
  byteLength: (text: string) => encoder.encode(text).length,
};

function concat(pieces: readonly Uint8Array[]): Bytes {
  const whole = new Bytes(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Node skips what does not belong to the encoding. Here nothing is read then, which fails every later check. */
function decode(text: string, encoding: Encoding): Uint8Array<ArrayBuffer> {
  if (encoding === "utf8") return encoder.encode(text);
  try {
    return encoding === "hex" ? Uint8Array.fromHex(text) : Uint8Array.fromBase64(text, { alphabet: encoding });
  } catch {
    return new Uint8Array();
  }
}

const TAG_BYTES = 16;

function webCrypto({ sha256, hkdf, gcm }: Cryptography) {
  return {
    randomUUID: () => crypto.randomUUID(),
    randomBytes: (count: number) => crypto.getRandomValues(new Bytes(count)),
    hash(_algorithm: "sha256", text: string, encoding: Encoding = "hex") {
      return Buffer.from(sha256(encoder.encode(text))).toString(encoding);
    },
    hkdfSync(_algorithm: "sha256", key: string | Uint8Array, salt: string, info: string, count: number) {
      const secret = typeof key === "string" ? encoder.encode(key) : key;
      return hkdf(secret, encoder.encode(salt), encoder.encode(info), count);
    },
    createCipheriv: (_algorithm: "aes-256-gcm", key: Uint8Array, iv: Uint8Array) =>
      new Cipher((bytes, bound) => gcm(key, iv, bound).encrypt(bytes)),
    createDecipheriv: (_algorithm: "aes-256-gcm", key: Uint8Array, iv: Uint8Array) =>
      new Decipher((bytes, bound) => gcm(key, iv, bound).decrypt(bytes)),
  };
}

/** Collects the bytes, because the library takes all of them at once. */
abstract class Collecting {
  protected readonly run: (bytes: Uint8Array, bound: Uint8Array) => Uint8Array;
  protected readonly pieces: Uint8Array[] = [];
  protected bound: Uint8Array = new Uint8Array();

  constructor(run: Collecting["run"]) {
    this.run = run;
  }

  setAAD(bound: Uint8Array): this {
    this.bound = bound;
    return this;
  }

  update(bytes: string | Uint8Array): Uint8Array {
    this.pieces.push(typeof bytes === "string" ? encoder.encode(bytes) : bytes);
    return new Uint8Array();
  }

  abstract final(): Uint8Array;
}

class Cipher extends Collecting {
  #tag: Uint8Array = new Uint8Array();

  final(): Uint8Array {
    const sealed = this.run(concat(this.pieces), this.bound);
    this.#tag = sealed.subarray(-TAG_BYTES);
    return sealed.subarray(0, -TAG_BYTES);
  }

  getAuthTag(): Uint8Array {
    return this.#tag;
  }
}

class Decipher extends Collecting {
  #tag: Uint8Array = new Uint8Array();

  setAuthTag(tag: Uint8Array): this {
    this.#tag = tag;
    return this;
  }

  final(): Uint8Array {
    return this.run(concat([...this.pieces, this.#tag]), this.bound);
  }
}
