/** The sessions of operators. The browser keeps a random token, never the key. */
import type { OwnRequest, RequestContext } from "../../context/request_context.ts";
import { GatewayError } from "../../errors.ts";
import type { Caller } from "../../http/auth.ts";
import type { SessionHolder } from "../../state/console_sessions.ts";
import { digestOf } from "../../util/digest.ts";
import { cookiesOf, textToSet } from "./cookies.ts";

const COOKIE = "laneway_console";
/** A cookie whose name begins like this can be set only by this host, over HTTPS, and for all of its paths. */
const AT_ROOT = "__Host-";
const LIFE_S = 12 * 3600;

/** The operator that a request to the console comes from. Throws `authentication` or `permission`. */
export async function operatorOf(context: RequestContext): Promise<Caller> {
  const { request, peer, gateway } = context;
  const holder = await holderOf(context);
  return holder ? await operatorHeld(holder, context) : asOperator(await gateway.guards.authenticate(request, peer));
}

/**
 * The operator who holds a session. It is looked up again with every request, so that a revoked key opens nothing any
 * more.
 */
export async function operatorHeld(holder: SessionHolder, { gateway }: RequestContext): Promise<Caller> {
  return asOperator(await (await gateway.console!.parts()).callerOf(holder));
}

function asOperator(caller: Caller): Caller {
  if (caller.operator) return caller;
  throw new GatewayError(
    "permission",
    'The console is for operators: it needs a key, or a group, with "operator": true',
  );
}

/** The operator's own request to another path of the gateway, without the browser's cookies and referrer. */
export async function asCaller(context: RequestContext, path: string): Promise<OwnRequest> {
  const { request, url } = context;
  const caller = await operatorOf(context);
  const headers = new Headers(request.headers);
  for (const name of ["cookie", "referer"]) headers.delete(name);
  const { method, body, signal } = request;
  // Node has to be told that the body is a stream.
  const init = { method, headers, body, signal, duplex: "half" } as RequestInit;
  return { request: new Request(new URL(path + url!.search, url), init), caller };
}

/**
 * Begins a session. Returns its cookie, or `undefined` if the operator needs none. Throws if the key is not an
 * operator's.
 */
export async function logIn(context: RequestContext, key: string): Promise<string | undefined> {
  const { request, peer, gateway } = context;
  const { operator, owner } = await gateway.guards.authenticate(withKey(request, key), peer);
  if (!operator) throw new GatewayError("permission", 'This is not an operator\'s key: it has no "operator": true');
  if (owner === "local") return undefined;
  if (!owner.startsWith("key:")) {
    throw new GatewayError("permission", "A token cannot log in to the console: use an operator's key");
  }
  return await beginSession({ key: digestOf(key) }, context);
}

/** Begins a session, and returns its cookie. */
export async function beginSession(holder: SessionHolder, context: RequestContext, page?: URL): Promise<string> {
  const { sessions } = await context.gateway.console!.parts();
  return cookieWith(await sessions.begin(holder, LIFE_S * 1000), LIFE_S, context, page);
}

/**
 * Ends the session. `cookie` clears the browser's cookie. `next`: the page where an operator who logged in at a
 * provider ends the session there. Throws `unavailable` if the session cannot be ended.
 */
export async function logOut(context: RequestContext): Promise<{ cookie: string; next?: string }> {
  const { sessions, login } = await context.gateway.console!.parts();
  const tokens = tokensIn(context.request);
  const cookie = cookieWith("", 0, context);
  if (tokens.length === 0) return { cookie };
  const holder = await holderOf(context);
  try {
    for (const token of tokens) await sessions.end(token);
  } catch (cause) {
    throw new GatewayError("unavailable", "The session could not be ended: try again", { cause, retryAfter: "1" });
  }
  return { cookie, next: holder && await login?.end(holder) };
}

/**
 * Refuses requests that another site makes a browser send. Behind a proxy, possibly only the browser knows the
 * gateway's host name.
 */
export function checkOrigin({ request: { headers }, url }: RequestContext): void {
  const origin = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  const isOwn = site === null ? origin === null || URL.parse(origin)?.host === url?.host : site === "same-origin";
  if (!isOwn) throw new GatewayError("permission", "The console accepts actions from its own pages only");
}

/** The holder of this browser's session. */
export async function holderOf({ request, gateway }: RequestContext): Promise<SessionHolder | undefined> {
  for (const token of tokensIn(request)) {
    const holder = await (await gateway.console!.parts()).sessions.find(token);
    if (holder) return holder;
  }
}

/**
 * The session cookies of a request. A gateway below a path also receives the cookie for the root of its host, besides
 * its own.
 */
function tokensIn(request: Request): string[] {
  const cookies = cookiesOf(request);
  return [AT_ROOT, ""].map((prefix) => cookies.get(prefix + COOKIE) ?? "").filter((token) =>
    /^[0-9a-f]{64}$/.test(token)
  );
}

function cookieWith(value: string, seconds: number, context: RequestContext, page?: URL): string {
  return cookieText(COOKIE, value, seconds, "Strict", context, page);
}

/** `page`: a page of the console, as the browser knows it. */
export function cookieText(
  name: string,
  value: string,
  seconds: number,
  sameSite: "Strict" | "Lax",
  context: RequestContext,
  page = pageOf(context.request),
): string {
  const isSecure = isSecureAt(page, context);
  const full = nameAt(page, name, context);
  return textToSet({ name: full, value, maxAge: seconds, httpOnly: true, sameSite, secure: isSecure });
}

/** The value of a cookie that a request for this page has set. A cookie that another host of the site has set does not count. */
export function valueOf(name: string, context: RequestContext, page: URL): string {
  return cookiesOf(context.request).get(nameAt(page, name, context)) ?? "";
}

function nameAt(page: URL | undefined, name: string, context: RequestContext): string {
  // A cookie without a path is for the directory of the page, even if a proxy serves the gateway below a path.
  const isAtRoot = isSecureAt(page, context) && /^\/console(\/|$)/.test(page?.pathname ?? "");
  return (isAtRoot ? AT_ROOT : "") + name;
}

function isSecureAt(page: URL | undefined, context: RequestContext): boolean {
  return page?.protocol === "https:" || isOverHttps(context);
}

/** The page that the request comes from, if it is on the same site. A proxy may have other paths and speak HTTPS. */
function pageOf({ headers }: Request): URL | undefined {
  const page = URL.parse(headers.get("referer") ?? "");
  const isOwn = headers.get("sec-fetch-site") === "same-origin" || page?.origin === headers.get("origin");
  return page && isOwn ? page : undefined;
}

function isOverHttps({ request: { headers }, url }: RequestContext): boolean {
  return url?.protocol === "https:" || headers.get("origin")?.startsWith("https:") === true ||
    /^https\b/i.test(headers.get("x-forwarded-proto") ?? "");
}

/** A request with the same headers and this key, to authenticate the key's caller. */
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
