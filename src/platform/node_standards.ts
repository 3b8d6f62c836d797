/** Adds the web standards that the program uses and Node lacks. */
import { NodeWorker } from "./node_thread.ts";

// deno-lint-ignore no-explicit-any -- each implements only what the gateway uses
const standards: any = globalThis;
standards.Worker ??= NodeWorker;
standards.Uint8Array.fromBase64 ??= fromBase64;
standards.Uint8Array.prototype.toBase64 ??= function (this: Uint8Array): string {
  return Buffer.from(this.buffer, this.byteOffset, this.byteLength).toString("base64");
};

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

/** As strict as the standard. `Buffer` would skip invalid characters. */
function fromBase64(text: string): Uint8Array {
  const dense = text.replace(/[\t\n\f\r ]+/g, "");
  if (!BASE64.test(dense)) throw new SyntaxError("Cannot read the text: it is not base64");
  return new Uint8Array(Buffer.from(dense, "base64"));
}
