/** Operators who have shown the console who they are. What their browser keeps is a random word, never the key. */
import type { OwnRequest, RequestContext } from "../../context/request_context.ts";
import { GatewayError } from "../../errors.ts";
import type { Caller } from "../../http/auth.ts";
import type { SessionHolder } from "../../state/console_sessions.ts";
import { digestOf } from "../../util/digest.ts";
import { cookiesOf, textToSet } from "./cookies.ts";

const COOKIE = "laneway_console";
/** The name of a cookie that begins so is set by nobody but this host over HTTPS, and for all of its paths. */
const AT_ROOT = "__Host-";
const LIFE_S = 12 * 3600;

/** Who looks at the console. Throws `authentication` and `permission`. */
export async function operatorOf(context: RequestContext): Promise<Caller> {
  const { request, peer, gateway } = context;
  const holder = await holderOf(context);
  return holder ? await operatorHeld(holder, context) : asOperator(await gateway.authenticate(request, peer));
}

/** Looked up again with every request: a key that is revoked opens nothing any more. */
export async function operatorHeld(holder: SessionHolder, { gateway }: RequestContext): Promise<Caller> {
  return asOperator(await (await gateway.console!()).callerOf(holder));
}

function asOperator(caller: Caller): Caller {
  if (caller.operator) return caller;
  throw new GatewayError(
    "permission",
    'The console is for operators: it needs a key, or a group, with "operator": true',
  );
}

/** The operator's own request to another path of the gateway, without what is the browser's. */
export async function asCaller(context: RequestContext, path: string): Promise<OwnRequest> {
  const { request, url } = context;
  const caller = await operatorOf(context);
  const headers = new Headers(request.headers);
  for (const name of ["cookie", "referer"]) headers.delete(name);
  const { method, body, signal } = request;
  return { request: new Request(new URL(path + url!.search, url), { method, headers, body, signal }), caller };
}

/** Lets the browser in. Returns the cookie; none where it needs none. Throws where the key is none of an operator. */
export async function logIn(context: RequestContext, key: string): Promise<string | undefined> {
  const { request, peer, gateway } = context;
  const { operator, owner } = await gateway.authenticate(withKey(request, key), peer);
  if (!operator) throw new GatewayError("permission", 'This is not an operator\'s key: it has no "operator": true');
  if (owner === "local") return undefined;
  if (!owner.startsWith("key:")) {
    throw new GatewayError("permission", "A token cannot log in to the console: use an operator's key");
  }
  return await beginSession({ key: digestOf(key) }, context);
}

/** Returns the cookie. */
export async function beginSession(holder: SessionHolder, context: RequestContext, page?: URL): Promise<string> {
  const { sessions } = await context.gateway.console!();
  return cookieWith(await sessions.begin(holder, LIFE_S * 1000), LIFE_S, context, page);
}

/**
 * The cookie that clears the browser's; `next`: where who has logged in at a provider ends the session there. Throws
 * `unavailable` where the session cannot be ended.
 */
export async function logOut(context: RequestContext): Promise<{ cookie: string; next?: string }> {
  const { sessions, login } = await context.gateway.console!();
  const words = wordsIn(context.request);
  const cookie = cookieWith("", 0, context);
  if (words.length === 0) return { cookie };
  const holder = await holderOf(context);
  try {
    for (const word of words) await sessions.end(word);
  } catch (cause) {
    throw new GatewayError("unavailable", "The session could not be ended: try again", { cause, retryAfter: "1" });
  }
  return { cookie, next: holder && await login?.end(holder) };
}

/** Refuses what another site makes a browser send. Behind a proxy only the browser may know the gateway's name. */
export function checkOrigin({ request: { headers }, url }: RequestContext): void {
  const origin = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  const isOwn = site === null ? origin === null || URL.parse(origin)?.host === url?.host : site === "same-origin";
  if (!isOwn) throw new GatewayError("permission", "The console accepts actions from its own pages only");
}

/** Who has logged in with this browser. */
export async function holderOf({ request, gateway }: RequestContext): Promise<SessionHolder | undefined> {
  for (const word of wordsIn(request)) {
    const holder = await (await gateway.console!()).sessions.find(word);
    if (holder) return holder;
  }
}

/** The cookie of the root of a host comes to a gateway below a path of it, too, which has one of its own. */
function wordsIn(request: Request): string[] {
  const cookies = cookiesOf(request);
  return [AT_ROOT, ""].map((prefix) => cookies.get(prefix + COOKIE) ?? "").filter((word) =>
    /^[0-9a-f]{64}$/.test(word)
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
  const isSecure = page?.protocol === "https:" || isOverHttps(context);
  // Without a path it is one for what is beside the page, also where a proxy serves the gateway below a path.
  const isAtRoot = isSecure && /^\/console(\/|$)/.test(page?.pathname ?? "");
  const prefix = isAtRoot ? AT_ROOT : "";
  return textToSet({ name: prefix + name, value, maxAge: seconds, httpOnly: true, sameSite, secure: isSecure });
}

/** The value of a cookie. Below a path, the gateway's own comes before that of the root of the host. */
export function valueOf(name: string, request: Request): string {
  const cookies = cookiesOf(request);
  return cookies.get(name) ?? cookies.get(AT_ROOT + name) ?? "";
}

/** The page that asks, if it is one of the same site. A proxy may have other paths and speak HTTPS. */
function pageOf({ headers }: Request): URL | undefined {
  const page = URL.parse(headers.get("referer") ?? "");
  const isOwn = headers.get("sec-fetch-site") === "same-origin" || page?.origin === headers.get("origin");
  return page && isOwn ? page : undefined;
}

function isOverHttps({ request: { headers }, url }: RequestContext): boolean {
  return url?.protocol === "https:" || headers.get("origin")?.startsWith("https:") === true ||
    /^https\b/i.test(headers.get("x-forwarded-proto") ?? "");
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
