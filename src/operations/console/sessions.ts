/** Operators who have shown their key to the console. What their browser keeps is a random word, never the key. */
import type { RequestContext } from "../../context/request_context.ts";
import { GatewayError } from "../../errors.ts";
import type { Caller } from "../../http/auth.ts";
import { BoundedMap } from "../../util/bounded_map.ts";

const COOKIE = "laneway_console";
const LIFE_S = 12 * 3600;

interface Session {
  /** Asked for again with every request, so that a key that is revoked opens nothing any more. */
  key: string;
  endsAt: number;
}

/** Of this process; the oldest gives way. */
const sessions = new BoundedMap<string, Session>(100);

/** Who looks at the console. Throws `authentication` and `permission`. */
export async function operatorOf({ request, peer, gateway }: RequestContext): Promise<Caller> {
  const session = sessionOf(request, gateway.now());
  const shown = session ? withKey(request, session.key) : request;
  const caller = await gateway.authenticate(shown, peer);
  if (caller.operator) return caller;
  throw new GatewayError("permission", 'The console is for operators: use a key that has "operator": true');
}

/** The same request to another path of the gateway, with what the session's key opens and without what is the browser's. */
export function asCaller({ request, url, gateway }: RequestContext, path: string): Request {
  const headers = new Headers(request.headers);
  for (const name of ["cookie", "referer"]) headers.delete(name);
  const session = sessionOf(request, gateway.now());
  if (session) {
    headers.delete("x-api-key");
    headers.set("authorization", `Bearer ${session.key}`);
  }
  const { method, body, signal } = request;
  return new Request(new URL(path + url!.search, url), { method, headers, body, signal });
}

/** Lets the browser in. Returns the cookie. Throws where the key is none of an operator. */
export async function logIn(context: RequestContext, key: string): Promise<string> {
  const { request, peer, gateway } = context;
  const caller = await gateway.authenticate(withKey(request, key), peer);
  if (!caller.operator) throw new GatewayError("permission", 'This key is for no operator: it has no "operator": true');
  const id = crypto.getRandomValues(new Uint8Array(32)).toHex();
  sessions.set(id, { key, endsAt: gateway.now() + LIFE_S * 1000 });
  return cookieWith(id, LIFE_S, context);
}

/** Returns the cookie that clears the browser's. */
export function logOut(context: RequestContext): string {
  const id = cookieIn(context.request);
  if (id !== undefined) sessions.delete(id);
  return cookieWith("", 0, context);
}

/** Refuses what another site makes a browser send. Behind a proxy only the browser may know the gateway's name. */
export function checkOrigin({ request: { headers }, url }: RequestContext): void {
  const origin = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  const isOwn = site === null ? origin === null || URL.parse(origin)?.host === url?.host : site === "same-origin";
  if (!isOwn) throw new GatewayError("permission", "The console takes orders from its own pages only");
}

function sessionOf(request: Request, now: number): Session | undefined {
  const id = cookieIn(request);
  const session = id === undefined ? undefined : sessions.get(id);
  return session && session.endsAt > now ? session : undefined;
}

function cookieIn({ headers }: Request): string | undefined {
  return new RegExp(`(?:^|; )${COOKIE}=([0-9a-f]{64})(?:;|$)`).exec(headers.get("cookie") ?? "")?.[1];
}

function cookieWith(value: string, seconds: number, { request, url }: RequestContext): string {
  const isSecure = url?.protocol === "https:" || request.headers.get("x-forwarded-proto") === "https";
  // Without a path it is one for what is beside the page, also where a proxy serves the gateway below a path.
  return `${COOKIE}=${value}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
}

/** A request with the same head, by which the key's caller is found. */
function withKey({ url, headers }: Request, key: string): Request {
  const shown = new Headers(headers);
  shown.delete("authorization");
  try {
    shown.set("x-api-key", key);
  } catch {
    throw new GatewayError("authentication", "Invalid API key");
  }
  return new Request(url, { headers: shown });
}
