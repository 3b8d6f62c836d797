import { hash } from "node:crypto";

/** SHA-256 of a text, in hexadecimal digits. */
export function digestOf(text: string): string {
  return hash("sha256", text, "hex");
}
