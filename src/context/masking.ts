/** Heads of requests and answers without what opens something. */
import { isSecretHeader } from "../upstream/explain.ts";

/** By name, in their order. */
export type HeaderList = (readonly [name: string, value: string])[];

/** The way in which a credential is shown stays, and the credential does not. */
const CREDENTIAL = /^(?:(Bearer|Basic|Token|Digest)\s+)?.*$/is;

export function maskedHeaders(headers: Headers | Readonly<Record<string, string>>): HeaderList {
  const list: HeaderList = [];
  const add = (value: string, name: string) => void list.push([name, masked(name, value)]);
  // To iterate `Headers` takes Deno (2.9) nine times as long.
  if (headers instanceof Headers) headers.forEach(add);
  else for (const name in headers) add(headers[name]!, name);
  return list;
}

function masked(name: string, value: string): string {
  if (!isSecretHeader(name)) return value;
  return value.replace(CREDENTIAL, (_, scheme?: string) => scheme ? `${scheme} ***` : "***");
}

/** Signed URLs carry what opens them in their query. */
export function maskedUrl(url: string): string {
  if (!url.includes("?")) return url;
  const shown = new URL(url);
  for (const name of new Set(shown.searchParams.keys())) {
    if (isSecretParameter(name)) shown.searchParams.set(name, "***");
  }
  return shown.href;
}

export function isSecretParameter(name: string): boolean {
  return /auth|key|token|secret|sig|cred|password|code/i.test(name);
}
