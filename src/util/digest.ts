import { builtin } from "./builtin.ts";

/** SHA-256 of a text, in hexadecimal digits. */
export function digestOf(text: string): string {
  return builtin("node:crypto").hash("sha256", text, "hex");
}
