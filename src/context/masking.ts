/** Heads of requests and answers without what opens something. */
import { isSecretHeader } from "../upstream/explain.ts";

/** By name, in their order. */
export type HeaderList = (readonly [name: string, value: string])[];

/** The way in which a credential is shown stays, and the credential does not. */
const CREDENTIAL = /^(?:(Bearer|Basic|Token|Digest)\s+)?.*$/is;

export function maskedHeaders(headers: Iterable<[string, string]>): HeaderList {
  return Array.from(headers, ([name, value]) => [
    name,
    isSecretHeader(name) ? value.replace(CREDENTIAL, (_, scheme?: string) => scheme ? `${scheme} ***` : "***") : value,
  ]);
}

/** Signed URLs carry what opens them in their query. */
export function maskedUrl(url: URL): string {
  if (url.search === "") return url.href;
  const shown = new URL(url);
  for (const name of new Set(url.searchParams.keys())) {
    if (/auth|key|token|secret|sig|cred|password|code/i.test(name)) shown.searchParams.set(name, "***");
  }
  return shown.href;
}
