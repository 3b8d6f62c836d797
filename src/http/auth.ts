import type { KeyFacts } from "../config/schema.ts";
import { digestOf } from "../util/digest.ts";
import { GatewayError } from "../errors.ts";
import type { KeyPlaces } from "../contract/protocol.ts";
import type { Peer } from "../platform/platform.ts";
import { addressOf } from "./host.ts";

/**
 * The caller: a key, this machine if no keys are configured, or a caller with a token for an upstream. Absent lanes, models or
 * quota mean no restriction.
 */
export interface Caller extends Omit<KeyFacts, "expires"> {
  /** The owner of what the caller stores: the key's name, which stays the same when its secret changes. */
  owner: string;
  /** The caller's own credential, for upstreams that use it instead of the gateway's. */
  token?: string;
  /** Whether only that token admits the caller, who then has no access to the gateway's own resources. */
  isStranger?: true;
}

/** How a key is recognized, and what it permits. */
export interface Key extends KeyFacts {
  /** SHA-256 of its secret, in hexadecimal digits. */
  digest: string;
}

export interface AuthOptions {
  keys: readonly Key[];
  /** Looks up a key in the store by its digest, if stored keys are enabled. */
  storedKey?(digest: string): Promise<Key | undefined>;
  /** The issuer whose tokens are accepted as well. */
  tokens?: Tokens;
  /** Whether there are upstreams for which callers send their own token. */
  takesTokens: boolean;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Identifies the caller of a token (JWT). */
export interface TokenReader {
  /**
   * `digest`: the token's digest. Throws `authentication`, `permission` if none of the caller's groups is admitted, and
   * `unavailable` if the token cannot be checked. No error contains anything from the token.
   */
  identify(token: string, digest: string): Promise<Caller>;
}

/** Accepts an issuer's tokens instead of keys. */
export interface Tokens extends TokenReader {
  issuer: string;
}

/**
 * Admits a request before its body is read, or throws, usually `authentication`. `peer` is absent for calls within the process.
 * `places`: further places where the key may be. Only a key or token that must be looked up is waited for.
 */
export type Authenticate = (request: Request, peer: Peer | undefined, places?: KeyPlaces) => Caller | Promise<Caller>;

/** If keys exist, a request must have one. Without keys, only this machine and callers with a token are admitted. */
export function createAuth({ keys, storedKey, tokens, takesTokens, now }: AuthOptions): Authenticate {
  if (keys.length === 0 && !storedKey && !tokens) {
    return takesTokens ? admitToken : admitLocal;
  }
  const index = indexOf(keys);
  const lookUp = async (secret: string, digest: string): Promise<Caller> => {
    if (tokens && TOKEN.test(secret)) return await tokens.identify(secret, digest);
    return callerWith(await storedKey?.(digest) ?? refuse(UNKNOWN_KEY), now());
  };
  /** Throws at once for a configured key that has expired. */
  const callerOf = (secret: string): Caller | Promise<Caller> => {
    const digest = digestOf(secret);
    const configured = index.get(digest);
    return configured ? callerWith(configured, now()) : lookUp(secret, digest);
  };
  /** The caller's token for upstreams, beside the credential that admits. A key of the gateway is for no upstream. */
  const tokenBeside = async (admitting: string, bearer: string | undefined) => {
    if (!bearer || bearer === admitting || tokens && issuerIn(bearer) === tokens.issuer) return undefined;
    const digest = digestOf(bearer);
    // While the store cannot tell, it may be one.
    const isKey = index.has(digest) || takesTokens && await storedKey?.(digest).catch(() => true) !== undefined;
    return isKey ? undefined : { token: bearer };
  };
  return (request, _peer, places) => {
    const bearer = bearerOf(request.headers);
    const secrets = new Set([...keysIn(request, places), bearer ?? ""]);
    secrets.delete("");
    const [first] = secrets;
    if (first === undefined) {
      refuse(`No API key: send it as "Authorization: Bearer <key>" or "${places?.header ?? "x-api-key"}: <key>"`);
    }
    return secrets.size === 1 ? callerOf(first) : admitOneOf(secrets, callerOf, (one) => tokenBeside(one, bearer));
  };
}

/** Clients send what is left of an earlier configuration beside the key, so the first credential that admits counts. */
async function admitOneOf(
  secrets: ReadonlySet<string>,
  callerOf: (secret: string) => Caller | Promise<Caller>,
  tokenBeside: (admitting: string) => Promise<Pick<Caller, "token"> | undefined>,
): Promise<Caller> {
  let failure: unknown;
  for (const secret of secrets) {
    try {
      return { ...await callerOf(secret), ...await tokenBeside(secret) };
    } catch (thrown) {
      failure = weightOf(thrown) > weightOf(failure) ? thrown : failure;
    }
  }
  throw failure;
}

/** An unknown credential says least, and one that cannot be checked now may be right later. */
function weightOf(failure: unknown): number {
  if (failure === undefined) return 0;
  if (!(failure instanceof GatewayError) || failure.code !== "authentication") return 3;
  return failure.message === UNKNOWN_KEY ? 1 : 2;
}

const UNKNOWN_KEY = "Invalid API key";

/**
 * Keys by digest. The time of a lookup reveals something only about a hash, which does not lead back to the key. If two keys
 * have the same secret, the first one counts.
 */
function indexOf(keys: readonly Key[]): ReadonlyMap<string, Key> {
  return new Map(keys.map((key): [string, Key] => [key.digest, key]).reverse());
}

/** Finds the caller whose key has a given digest. Throws `authentication` if there is none or it has expired. */
export function createKeyLookup({ keys, storedKey, now }: Pick<AuthOptions, "keys" | "storedKey" | "now">) {
  const index = indexOf(keys);
  return async (digest: string): Promise<Caller> =>
    callerWith(index.get(digest) ?? await storedKey?.(digest) ?? refuse(UNKNOWN_KEY), now());
}

function callerWith({ digest: _, expires, ...facts }: Key, now: number): Caller {
  if (expires !== undefined && Date.parse(expires) <= now) refuse("This API key has expired");
  return { ...facts, owner: `key:${facts.name}` };
}

/** A JWT, signed or encrypted. Its first part is a JSON object. */
const TOKEN = /^e[wy][\w-]*(\.[\w-]*){2,4}$/;

/** The issuer that a token claims. `undefined` if the text is not a token. */
export function issuerIn(token: string): unknown {
  if (!TOKEN.test(token)) return undefined;
  try {
    const { iss } = JSON.parse(atob(token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/")));
    return iss;
  } catch {
    return undefined;
  }
}

/** The keys outside the authorization header. */
function keysIn({ headers, url }: Request, places: KeyPlaces | undefined): string[] {
  const key = headers.get("x-api-key") ?? "";
  if (!places) return [key];
  return [key, headers.get(places.header) ?? "", URL.parse(url)?.searchParams.get(places.parameter) ?? ""];
}

function bearerOf(headers: Headers): string | undefined {
  return BEARER.exec(headers.get("authorization") ?? "")?.[1];
}

/** Any caller with a token may use the upstreams that accept it. This machine may use everything. */
function admitToken(request: Request, peer: Peer | undefined, places?: KeyPlaces): Caller {
  const token = bearerOf(request.headers) ?? keysIn(request, places).find((key) => key !== "");
  if (!token) return admitLocal(request, peer);
  const owner = `token:${digestOf(token)}`;
  return isLocalCall(request, peer)
    ? { name: "local", owner, token, operator: true }
    : { name: "token", owner, token, isStranger: true };
}

/** Whether a request comes from this machine and not from another host's web page. */
export function isLocalCall(request: Request, peer: Peer | undefined): boolean {
  try {
    admitLocal(request, peer);
    return true;
  } catch {
    return false;
  }
}

/** Anchored, and the rest cannot start with white space, so it takes linear time on any input. */
const BEARER = /^bearer\s+(\S.*)$/i;

/** Headers by which proxies and content networks name the client. A client on this machine sends none of them. */
const FORWARDED = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-port",
  "x-forwarded-server",
  "x-forwarded-scheme",
  "x-forwarded-ssl",
  "x-forwarded-by",
  "x-original-forwarded-for",
  "x-original-host",
  "x-real-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "x-envoy-external-address",
  "true-client-ip",
  "cdn-loop",
  "cf-connecting-ip",
  "fastly-client-ip",
];

const ADD_KEY = 'add one under "keys" in gateway.json to let others call';
const KEY_LINE = 'add "keys": [{ "name": "me", "secret": { "env": "LANEWAY_KEY" } }] to gateway.json';

/**
 * A web page can make a browser call this machine, under the page's own host name or with its origin. Both are refused. So are
 * requests that a proxy on this machine passes on, because anybody may be its client. Even if the proxy adds no header, the origin
 * of a page gives it away.
 */
function admitLocal({ headers, url }: Request, peer: Peer | undefined): Caller {
  if (peer !== undefined) {
    if (!isLocalPeer(peer)) {
      if (hasLeft(peer)) throw new GatewayError("client_closed", "The client disconnected");
      refuse(`No keys are configured, so only this machine may call: ${ADD_KEY}`);
    }
    const host = headers.get("host");
    if (!isLocalAddress(host === null ? URL.parse(url) : addressOf(host))) {
      refuse(`No keys are configured, so the host must be "localhost" or "127.0.0.1": call that, or ${ADD_KEY}`);
    }
    const origin = headers.get("origin");
    if (origin !== null && !isLocalAddress(URL.parse(origin))) {
      refuse(`No keys are configured, so web pages of other hosts may not call: ${ADD_KEY}`);
    }
    for (const name of FORWARDED) {
      if (!headers.has(name)) continue;
      refuse(`No keys are configured, and this request comes through a proxy (${name}), as anybody's may: ${KEY_LINE}`);
    }
    const page = headers.get("referer");
    // A link on another host's page may be followed.
    if (page !== null && headers.get("sec-fetch-mode") !== "navigate" && !isLocalAddress(URL.parse(page))) {
      refuse(`No keys are configured, so web pages of other hosts may not call (referer): ${KEY_LINE}`);
    }
  }
  return { name: "local", owner: "local", operator: true };
}

/** Deno (2.9.6) gives 0.0.0.0:0 as the address of a client that has reset its connection. No connection comes from port 0. */
function hasLeft({ port }: Peer): boolean {
  return port === 0;
}

function isLocalPeer(peer: Peer): boolean {
  if (peer.transport === "unix" || peer.transport === "unixpacket") return true;
  return peer.hostname !== undefined && isLoopback(peer.hostname.replace(/^::ffff:/i, ""));
}

function isLocalAddress(url: URL | null | undefined): boolean {
  if (!url || !["http:", "https:"].includes(url.protocol)) return false;
  const { hostname } = url;
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || isLoopback(hostname);
}

export function isLoopback(address: string): boolean {
  return address === "::1" || /^127(\.\d{1,3}){3}$/.test(address);
}

function refuse(message: string): never {
  throw new GatewayError("authentication", message);
}
