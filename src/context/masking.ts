/** Masks credentials in the headers and URLs of requests and answers. */
import { isSecretHeader, isSecretParameter } from "../upstream/explain.ts";

/** Names and values in their order. */
export type HeaderList = (readonly [name: string, value: string])[];

/** Keeps the scheme of a credential and hides the credential itself. */
const CREDENTIAL = /^(?:(Bearer|Basic|Token|Digest)\s+)?.*$/is;

export function maskedHeaders(headers: Headers | Readonly<Record<string, string>>): HeaderList {
  const list: HeaderList = [];
  const add = (value: string, name: string) => void list.push([name, masked(name, value)]);
  // Iterating over `Headers` takes nine times as long in Deno (2.9).
  if (headers instanceof Headers) headers.forEach(add);
  else for (const name in headers) add(headers[name]!, name);
  return list;
}

function masked(name: string, value: string): string {
  if (!isSecretHeader(name)) return value;
  return value.replace(CREDENTIAL, (_, scheme?: string) => scheme ? `${scheme} ***` : "***");
}

/** Signed URLs carry credentials in their query. */
export function maskedUrl(url: string): string {
  if (!url.includes("?")) return url;
  const shown = new URL(url);
  const parameters = [...shown.searchParams];
  const secrets = new Set(parameters.map(([name]) => name).filter(isSecretParameter));
  if (secrets.size === 0) return shown.href;
  const masked = parameters.flatMap(([name, value]) => {
    if (!isSecretParameter(name)) return [[name, value]];
    // Each is shown once.
    return secrets.delete(name) ? [[name, "***"]] : [];
  });
  // Written at once: each change of `searchParams` writes the whole URL again.
  shown.search = new URLSearchParams(masked).toString();
  return shown.href;
}
