/** The two halves of a login at the provider. */
import type { RequestContext } from "../../context/request_context.ts";
import { GatewayError, toGatewayError } from "../../errors.ts";
import { escape, htmlResponse } from "../../http/html.ts";
import { beginSession, cookieText, holderOf, operatorHeld, valueOf } from "./sessions.ts";

const COOKIE = "laneway_login";
/** How long a login may take, in seconds. */
const LIFE_S = 600;

/** Whether there is a login at a provider, and whether the browser has a session. Everybody may know both. */
export async function loginWays(context: RequestContext): Promise<Response> {
  const { login } = await context.gateway.console!.parts();
  const session = await holderOf(context) !== undefined;
  return Response.json({ oidc: login !== undefined, session }, { headers: { "cache-control": "no-store" } });
}

/** Sends the browser to the provider. */
export async function beginLogin(context: RequestContext): Promise<Response> {
  return await orPage(context, async () => {
    const login = await loginOf(context);
    const { url, begun: { state, nonce, verifier } } = await login.begin();
    // The cookie is Lax, because the browser comes back from another site. It holds no credential of the gateway.
    const cookie = cookieText(COOKIE, [state, nonce, verifier].join("."), LIFE_S, "Lax", context, login.page);
    return new Response(null, {
      status: 302,
      headers: { location: url, "set-cookie": cookie, "cache-control": "no-store" },
    });
  });
}

/** The page that the provider sends the browser back to. It finishes the login. */
export async function finishLogin(context: RequestContext): Promise<Response> {
  return await orPage(context, async () => {
    const login = await loginOf(context);
    const [, state, nonce, verifier] = WORDS.exec(valueOf(COOKIE, context, login.page)) ?? [];
    if (!state || !nonce || !verifier) {
      throw new GatewayError("authentication", "The login was started in another window, or too long ago: try again");
    }
    const holder = await login.finish(context.url!.searchParams, { state, nonce, verifier });
    await operatorHeld(holder, context);
    const headers = new Headers({ location: "./", "cache-control": "no-store" });
    headers.append("set-cookie", await beginSession(holder, context, login.page));
    headers.append("set-cookie", cookieText(COOKIE, "", 0, "Lax", context, login.page));
    return new Response(null, { status: 302, headers });
  });
}

const WORDS = /^([\w-]{43})\.([\w-]{43})\.([\w-]{43})$/;

async function loginOf({ gateway }: RequestContext) {
  const { login } = await gateway.console!.parts();
  if (login) return login;
  throw new GatewayError(
    "not_found",
    'This console has no login with a provider: the configuration has no "oidc.console"',
  );
}

/** Shows an error as a page, because a person sees it. */
async function orPage({ requestLog }: RequestContext, work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (thrown) {
    const error = toGatewayError(thrown);
    const { message, status } = error;
    // The page does not say why the provider cannot be reached. Only the log does.
    requestLog.fail(error);
    requestLog.close(status);
    const body = `<h1>Not logged in</h1><p>${escape(message)}</p><p><a href="./">Back to the console</a></p>`;
    const page = htmlResponse({ title: "Laneway", style: "body{font:15px/1.45 system-ui;margin:2rem}", body });
    page.headers.set("cache-control", "no-store");
    return new Response(page.body, { status, headers: page.headers });
  }
}
