import { hash, timingSafeEqual } from "node:crypto";
import { GatewayError } from "../errors.ts";

/** Who calls: a configured key, or the machine itself where no keys are configured. */
export interface Caller {
  name: string;
  /** Whose what it stores is: the key's name, which stays as its secret changes. */
  owner: string;
  /** The lanes that it may use; all where absent. */
  lanes?: readonly string[];
}

/** A caller that the configuration knows, with what it sends to be known. */
export interface Key extends Omit<Caller, "owner"> {
  secret: string;
}

/** Admits a request before its body is read, or throws `authentication`. `peer` is absent for a call within the process. */
export type Authenticate = (request: Request, peer: Deno.Addr | undefined) => Caller;

/** With keys, a request must carry one of them; without, only this machine is admitted. */
export function createAuth(keys: readonly Key[]): Authenticate {
  if (keys.length === 0) return admitLocal;
  const known = keys.map(({ secret, ...key }) => ({
    caller: { ...key, owner: `key:${key.name}` },
    digest: sha256(secret),
  }));
  return ({ headers }) => {
    const secret = headers.get("x-api-key") || BEARER.exec(headers.get("authorization") ?? "")?.[1];
    if (!secret) refuse('No API key: send it as "Authorization: Bearer <key>" or "x-api-key: <key>"');
    const digest = sha256(secret);
    // Every key is compared, so that the time taken does not tell which one came close.
    const [match] = known.filter((key) => timingSafeEqual(key.digest, digest));
    return match?.caller ?? refuse("Invalid API key");
  };
}

/** Anchored, and what follows the blanks cannot be one: linear on any input. */
const BEARER = /^bearer\s+(\S.*)$/i;

function sha256(text: string): Uint8Array {
  return hash("sha256", text, "buffer");
}

const ADD_KEY = 'add one under "keys" in gateway.json to let others call';

/** A web page can make a browser call this machine, under its own name or by its origin: both are refused. */
function admitLocal({ headers, url }: Request, peer: Deno.Addr | undefined): Caller {
  if (peer !== undefined) {
    if (!isLocalPeer(peer)) refuse(`No keys are configured, so only this machine may call: ${ADD_KEY}`);
    if (!isLocalUrl(headers.has("host") ? `http://${headers.get("host")}` : url)) {
      refuse(`No keys are configured, so the host must be "localhost" or "127.0.0.1": call that, or ${ADD_KEY}`);
    }
    const origin = headers.get("origin");
    if (origin !== null && !isLocalUrl(origin)) {
      refuse(`No keys are configured, so no web page of another host may call: ${ADD_KEY}`);
    }
  }
  return { name: "local", owner: "local" };
}

function isLocalPeer(peer: Deno.Addr): boolean {
  if (peer.transport === "unix" || peer.transport === "unixpacket") return true;
  return "hostname" in peer && isLoopback(peer.hostname.replace(/^::ffff:/i, ""));
}

function isLocalUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return false;
  const { hostname } = url;
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || isLoopback(hostname);
}

function isLoopback(address: string): boolean {
  return address === "::1" || /^127(\.\d{1,3}){3}$/.test(address);
}

function refuse(message: string): never {
  throw new GatewayError("authentication", message);
}
