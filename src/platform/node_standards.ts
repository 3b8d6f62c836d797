/** Adds the web standards that the program uses and Node lacks. */
import { NodeWorker } from "./node_thread.ts";

// deno-lint-ignore no-explicit-any -- each implements only what the gateway uses
const standards: any = globalThis;
standards.Worker ??= NodeWorker;
standards.Uint8Array.fromBase64 ??= fromBase64;
standards.Uint8Array.prototype.toBase64 ??= function (this: Uint8Array, { alphabet, omitPadding }: Form = {}): string {
  const text = bufferOf(this).toString("base64");
  const shown = alphabet === "base64url" ? text.replaceAll("+", "-").replaceAll("/", "_") : text;
  return omitPadding ? shown.replace(/=+$/, "") : shown;
};
standards.Uint8Array.prototype.toHex ??= function (this: Uint8Array): string {
  return bufferOf(this).toString("hex");
};

interface Form {
  alphabet?: "base64" | "base64url";
  omitPadding?: boolean;
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

/** As strict as the standard. `Buffer` would skip invalid characters. */
function fromBase64(text: string, { alphabet }: Form = {}): Uint8Array {
  const given = text.replace(/[\t\n\f\r ]+/g, "");
  const isUrlSafe = alphabet === "base64url";
  if (isUrlSafe && /[+/]/.test(given)) throw new SyntaxError("Cannot read the text: it is not base64url");
  const dense = isUrlSafe ? given.replaceAll("-", "+").replaceAll("_", "/") : given;
  if (!BASE64.test(dense)) throw new SyntaxError("Cannot read the text: it is not base64");
  return new Uint8Array(Buffer.from(dense, "base64"));
}
