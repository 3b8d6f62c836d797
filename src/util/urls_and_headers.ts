/** Names and URLs of HTTP: which of them are secret, and base URLs with a query. */

export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export function isSecretHeader(name: string): boolean {
  return /auth|key|token|secret|cookie|password|jwt|assertion|oidc/i.test(name);
}

export function isSecretParameter(name: string): boolean {
  return /auth|key|token|secret|sig|cred|password|code/i.test(name);
}

/** Signed URLs carry credentials in their query. `secret`: a parameter that is always secret. */
export function maskedUrl(url: string, secret?: string): string {
  if (!url.includes("?")) return url;
  const shown = new URL(url);
  const parameters = [...shown.searchParams];
  const isSecret = (name: string) => name === secret || isSecretParameter(name);
  const secrets = new Set(parameters.map(([name]) => name).filter(isSecret));
  if (secrets.size === 0) return shown.href;
  const masked = parameters.flatMap(([name, value]) => {
    if (!isSecret(name)) return [[name, value]];
    // Each name is shown once.
    return secrets.delete(name) ? [[name, "***"]] : [];
  });
  // The query is set in one step, because each change of `searchParams` writes the whole URL again.
  shown.search = new URLSearchParams(masked).toString();
  return shown.href;
}

/** The secrets in a URL: its password, parameters with a secret's name, and values that look random. */
export function secretsInUrl(address: string): string[] {
  const url = URL.parse(address);
  if (!url) return [];
  const values = [...url.searchParams].filter(([name, value]) => isSecretParameter(name) || isRandom(value))
    .map(([, value]) => value);
  return [url.password, ...values, ...url.pathname.split("/").filter(isRandom)].filter((secret) => secret !== "");
}

const LEAST_RANDOM = 16;
/** The fewest changes between letters and digits in a random text. Words with a number or a date have fewer. */
const ALTERNATIONS = 3;

function isRandom(text: string): boolean {
  const alternations = text.match(/[a-z](?=\d)|\d(?=[a-z])/gi) ?? [];
  return text.length >= LEAST_RANDOM && alternations.length >= ALTERNATIONS;
}

/** The parts of a base URL: where paths are appended, and the query that follows every path. */
export interface BaseUrl {
  /** Without a trailing slash. */
  baseUrl: string;
  /** Without its question mark; absent if there is none. */
  query?: string;
}

export function splitBaseUrl(url: string): BaseUrl {
  const at = url.indexOf("?");
  const baseUrl = (at < 0 ? url : url.slice(0, at)).replace(/\/+$/, "");
  return at < 0 || at === url.length - 1 ? { baseUrl } : { baseUrl, query: url.slice(at + 1) };
}

/** The URL with the parameters of `query`, except those that it has already. */
export function withQuery(url: string, query: string): string {
  const at = url.indexOf("?");
  if (at < 0) return `${url}?${query}`;
  const own = new URLSearchParams(url.slice(at + 1));
  const more = query.split("&").filter((pair) => ![...new URLSearchParams(pair).keys()].some((name) => own.has(name)));
  return [url, ...more].join("&");
}

/** Whether only this machine can reach a server that listens there. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(hostname);
}
