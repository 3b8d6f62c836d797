import { builtin } from "./builtin.ts";

/** SHA-256 of a text, in hexadecimal digits. */
export function digestOf(text: string): string {
  return builtin("node:crypto").hash("sha256", text, "hex");
}

/** A random UUID without its hyphens. */
export function randomId(): string {
  const id = crypto.randomUUID();
  return id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24);
}
