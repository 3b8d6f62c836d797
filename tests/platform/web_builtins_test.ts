/** The parts of Node's modules on the web's standards give what Node's own give. */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { gcm } from "@noble/ciphers/aes.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import * as buffer from "node:buffer";
import * as crypto from "node:crypto";
import { webBuiltins } from "../../src/platform/web_builtins.ts";

const web = webBuiltins({ sha256, gcm, hkdf: (...rest) => hkdf(sha256, ...rest) });
const theirs = web["node:crypto"]!;
const { Buffer } = web["node:buffer"]!;

const CIPHER = "aes-256-gcm";
const text = fc.string({ unit: "binary", maxLength: 300 }).filter((text) => text.isWellFormed());
const bytes = (count: number) => fc.uint8Array({ minLength: count, maxLength: count });

Deno.test("web builtins: hashes and derived keys are those of Node", () => {
  fc.assert(fc.property(text, text, (one, other) => {
    for (const encoding of ["hex", "base64", "base64url"] as const) {
      assertEquals(theirs.hash("sha256", one, encoding), crypto.hash("sha256", one, encoding));
    }
    assertEquals(theirs.hash("sha256", one), crypto.hash("sha256", one));
    const derived = crypto.hkdfSync("sha256", one || "key", "", other, 32);
    assertEquals(new Uint8Array(theirs.hkdfSync("sha256", one || "key", "", other, 32)), new Uint8Array(derived));
  }));
});

Deno.test("web builtins: what one side seals, the other opens", () => {
  fc.assert(fc.property(bytes(32), bytes(12), text, text, (key, iv, plain, bound) => {
    for (const [sealing, opening] of [[theirs, crypto], [crypto, theirs]] as const) {
      const cipher = sealing.createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(bound));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
      const decipher = opening.createDecipheriv(CIPHER, key, iv).setAAD(Buffer.from(bound)).setAuthTag(
        cipher.getAuthTag(),
      );
      const pieces = [decipher.update(sealed.subarray(0, 7)), decipher.update(sealed.subarray(7)), decipher.final()];
      assertEquals(Buffer.concat(pieces).toString(), plain);
    }
  }));
});

Deno.test("web builtins: what was changed, or belongs to somebody else, does not open", () => {
  const [key, iv] = [theirs.randomBytes(32), theirs.randomBytes(12)];
  const cipher = theirs.createCipheriv(CIPHER, key, iv).setAAD(Buffer.from("owner"));
  const sealed = Buffer.concat([cipher.update("Hello"), cipher.final()]);
  const open = (bytes: Uint8Array, owner: string, tag = cipher.getAuthTag()) => {
    const decipher = theirs.createDecipheriv(CIPHER, key, iv).setAAD(Buffer.from(owner)).setAuthTag(tag);
    return Buffer.concat([decipher.update(bytes), decipher.final()]).toString();
  };
  assertEquals(open(sealed, "owner"), "Hello");
  assertThrows(() => open(sealed, "other"));
  assertThrows(() => open(sealed.map((byte) => byte ^ 1), "owner"));
  assertThrows(() => open(sealed, "owner", Buffer.from(cipher.getAuthTag().map((byte) => byte ^ 1))));
  assertThrows(() => open(sealed, "owner", Buffer.from("")));
});

Deno.test("web builtins: buffers read and write texts as those of Node do", () => {
  fc.assert(fc.property(text, (text) => {
    assertEquals(Buffer.byteLength(text), buffer.Buffer.byteLength(text));
    for (const encoding of ["utf8", "hex", "base64", "base64url"] as const) {
      const written = Buffer.from(text).toString(encoding);
      assertEquals(written, buffer.Buffer.from(text).toString(encoding));
      assertEquals(Buffer.from(written, encoding).toString(), text);
    }
  }));
  assertEquals(Buffer.from("not base64!", "base64").length, 0);
});
