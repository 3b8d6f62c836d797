import type { KeyFacts } from "../config/schema.ts";
import { digestOf } from "../util/digest.ts";
import { GatewayError } from "../errors.ts";
import type { KeyPlaces } from "../contract/protocol.ts";
import type { Peer } from "../platform/platform.ts";
import { addressOf } from "./host.ts";

/**
 * Who calls: a key, the machine itself where there are no keys, or somebody with a token of an upstream. What is
 * absent of lanes, models and quota is not limited.
 */
export interface Caller extends Omit<KeyFacts, "expires"> {
  /** Whose what it stores is: the key's name, which stays as its secret changes. */
  owner: string;
  /** The caller's own credential, for upstreams that take the caller's in place of the gateway's. */
  token?: string;
  /** Whether nothing but that token lets it in: then nothing of the gateway's own is for it. */
  isStranger?: true;
}

/** What a key is known by, and what it opens. */
export interface Key extends KeyFacts {
  /** SHA-256 of its secret, in hexadecimal digits. */
  digest: string;
}

export interface AuthOptions {
  keys: readonly Key[];
  /** The key of a digest that was made apart from the configuration, where such are admitted. */
  storedKey?(digest: string): Promise<Key | undefined>;
  /** The issuer whose tokens are admitted, too. */
  tokens?: Tokens;
  /** Whether there are upstreams to which callers bring a token of their own. */
  takesTokens: boolean;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Tells whose a token (JWT) is. */
export interface TokenReader {
  /**
   * `digest`: the token's. Throws `authentication`, `permission` for a caller without a group that is admitted, and
   * `unavailable` where the token cannot be checked. No error holds anything of the token.
   */
  identify(token: string, digest: string): Promise<Caller>;
}

/** Callers with tokens of an issuer in place of keys. */
export interface Tokens extends TokenReader {
  issuer: string;
}

/**
 * Admits a request before its body is read, or throws: `authentication`, for the most part. `peer` is absent for a call within the
 * process. `places`: where the key may stand besides.
 */
export type Authenticate = (request: Request, peer: Peer | undefined, places?: KeyPlaces) => Promise<Caller>;

/** With keys, a request must carry one of them; without, only this machine is admitted, and who brings a token. */
export function createAuth({ keys, storedKey, tokens, takesTokens, now }: AuthOptions): Authenticate {
  if (keys.length === 0 && !storedKey && !tokens) {
    return takesTokens ? admitToken : (request, peer) => Promise.try(admitLocal, request, peer);
  }
  const index = indexOf(keys);
  return async (request, _peer, places) => {
    const own = keyOf(request, places);
    const bearer = bearerOf(request.headers);
    const secret = own || bearer;
    if (!secret) {
      refuse(`No API key: send it as "Authorization: Bearer <key>" or "${places?.header ?? "x-api-key"}: <key>"`);
    }
    const digest = digestOf(secret);
    const token = tokenBeside(own, bearer, tokens);
    const configured = index.get(digest);
    if (!configured && tokens && TOKEN.test(secret)) return { ...await tokens.identify(secret, digest), ...token };
    const key = configured ?? await storedKey?.(digest) ?? refuse("Invalid API key");
    return { ...callerWith(key, now()), ...token };
  };
}

/**
 * By digest: the time that a look-up takes tells of a hash, from which no key is guessed back. Of two with one secret the first
 * counts.
 */
function indexOf(keys: readonly Key[]): ReadonlyMap<string, Key> {
  return new Map(keys.map((key): [string, Key] => [key.digest, key]).reverse());
}

/** Finds the caller whose key has a digest. Throws `authentication` where there is none, or it has expired. */
export function createKeyLookup({ keys, storedKey, now }: Pick<AuthOptions, "keys" | "storedKey" | "now">) {
  const index = indexOf(keys);
  return async (digest: string): Promise<Caller> =>
    callerWith(index.get(digest) ?? await storedKey?.(digest) ?? refuse("Invalid API key"), now());
}

/** Beside what admits the caller, the other header may carry a token for upstreams that take it: no token for the gateway itself. */
function tokenBeside(own: string | null, bearer: string | undefined, tokens: Tokens | undefined) {
  if (!own || !bearer || bearer === own) return undefined;
  return tokens && issuerIn(bearer) === tokens.issuer ? undefined : { token: bearer };
}

function callerWith({ digest: _, expires, ...facts }: Key, now: number): Caller {
  if (expires !== undefined && Date.parse(expires) <= now) refuse("This API key has expired");
  return { ...facts, owner: `key:${facts.name}` };
}

/** A JWT, signed or encrypted: its first part is a JSON object. */
const TOKEN = /^e[wy][\w-]*(\.[\w-]*){2,4}$/;

/** Whose token it claims to be; nothing where it is no token. */
export function issuerIn(token: string): unknown {
  if (!TOKEN.test(token)) return undefined;
  try {
    const { iss } = JSON.parse(atob(token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/")));
    return iss;
  } catch {
    return undefined;
  }
}

/** The key that is no bearer token. Of several the first counts that says anything. */
function keyOf({ headers, url }: Request, places: KeyPlaces | undefined): string | null {
  const key = headers.get("x-api-key");
  if (key || !places) return key;
  return headers.get(places.header) || (URL.parse(url)?.searchParams.get(places.parameter) ?? null);
}

function bearerOf(headers: Headers): string | undefined {
  return BEARER.exec(headers.get("authorization") ?? "")?.[1];
}

/** Whoever brings a token may use the upstreams that take it; this machine may use everything. */
// deno-lint-ignore require-await -- as all that admit
async function admitToken(request: Request, peer: Peer | undefined, places?: KeyPlaces): Promise<Caller> {
  const token = bearerOf(request.headers) ?? keyOf(request, places);
  if (!token) return admitLocal(request, peer);
  const owner = `token:${digestOf(token)}`;
  return isLocalCall(request, peer)
    ? { name: "local", owner, token, operator: true }
    : { name: "token", owner, token, isStranger: true };
}

/** Whether it comes from this machine, and from no web page of another. */
export function isLocalCall(request: Request, peer: Peer | undefined): boolean {
  try {
    admitLocal(request, peer);
    return true;
  } catch {
    return false;
  }
}

/** Anchored, and what follows the blanks cannot be one: linear on any input. */
const BEARER = /^bearer\s+(\S.*)$/i;

const ADD_KEY = 'add one under "keys" in gateway.json to let others call';

/** A web page can make a browser call this machine, under its own name or by its origin: both are refused. */
function admitLocal({ headers, url }: Request, peer: Peer | undefined): Caller {
  if (peer !== undefined) {
    if (!isLocalPeer(peer)) refuse(`No keys are configured, so only this machine may call: ${ADD_KEY}`);
    const host = headers.get("host");
    if (!isLocalAddress(host === null ? URL.parse(url) : addressOf(host))) {
      refuse(`No keys are configured, so the host must be "localhost" or "127.0.0.1": call that, or ${ADD_KEY}`);
    }
    const origin = headers.get("origin");
    if (origin !== null && !isLocalAddress(URL.parse(origin))) {
      refuse(`No keys are configured, so web pages of other hosts may not call: ${ADD_KEY}`);
    }
  }
  return { name: "local", owner: "local", operator: true };
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
