/** The names that `init` gives to upstreams and models. */
import type { Providers } from "../../contract/provider.ts";
import { isLoopback } from "../../util/urls_and_headers.ts";
import type { ServerSource } from "./answers.ts";

/** The title of a server that does not identify itself. */
export const UNKNOWN_SERVER = "A server";

/** The provider whose servers call themselves so, on any machine. */
export function providerTitled(title: string | undefined, providers: Providers): string | undefined {
  const word = title?.split(" ")[0];
  if (!word) return undefined;
  return Object.keys(providers).find((name) => {
    const { title, drivers } = providers[name]!;
    return title.startsWith(word) && Object.values(drivers).some(({ baseUrl = "" }) => isLocal(baseUrl));
  });
}

function isLocal(baseUrl: string): boolean {
  const url = URL.parse(baseUrl);
  return url !== null && isLoopback(url.hostname);
}

/** The name of a server's upstream: its kind, and where it is if that is not the usual place. */
export function serverName({ baseUrl, title }: ServerSource, providers: Providers): string {
  const provider = providerTitled(title, providers);
  const own = title === UNKNOWN_SERVER ? "" : slug(title?.split(/ [\dv]/)[0] ?? "");
  const kind = provider ?? (own || "server");
  const usual = provider && Object.values(providers[provider]!.drivers)[0]!.baseUrl;
  const { hostname, port } = URL.parse(baseUrl) ?? { hostname: "", port: "" };
  if (usual && sameAddress(usual, baseUrl)) return kind;
  if (isLoopback(hostname)) return port === "" ? kind : `${kind}-${port}`;
  const host = /^[\d.]+$/.test(hostname) ? hostname : hostname.split(".")[0]!;
  return slug(`${kind}-${host}`);
}

export function sameAddress(one: string, other: string): boolean {
  const plain = (url: string) => url.replace(/\/+$/, "").replace("//localhost", "//127.0.0.1");
  return plain(one) === plain(other);
}

function slug(text: string): string {
  const word = text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return /^[a-z]/.test(word) || word === "" ? word : `server-${word}`;
}

/** A short name for a model, without its maker and the ending that many names have. */
export function modelName(model: string): string {
  const short = model.replace(/^.*\//, "").replace(/:latest$/, "").replace(/\.gguf$/i, "");
  return short.toLowerCase().replace(/[^a-z0-9._-]+/g, "-").replace(/^-+|-+$/g, "") || model;
}
