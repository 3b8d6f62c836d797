import { GatewayError } from "../errors.ts";
import { withoutBody } from "./respond.ts";
import { escape, htmlResponse } from "./html.ts";

export interface OperatorEndpointsOptions {
  name: string;
  version: string;
  lanes: readonly string[];
  /** Whether load balancers may send requests. */
  isReady(): boolean;
  /** What it lost though it is ready, for operators. */
  warning?(): string | undefined;
}

/** Answers the requests of operators and load balancers. `undefined` for any other path. */
export type OperatorEndpoints = (request: Request, url: URL) => Response | undefined;

/** These endpoints need no key, and reveal nothing else. */
export function createOperatorEndpoints(
  { name, version, lanes, isReady, warning }: OperatorEndpointsOptions,
): OperatorEndpoints {
  const answers: Record<string, (request: Request, url: URL) => Response> = {
    "/": ({ headers }, { origin }) =>
      wantsPage(headers)
        ? indexPage({ name, version, lanes, origin })
        : Response.json({ name, version, lanes }, { headers: { vary: "accept" } }),
    "/healthz": () => Response.json({ status: "ok" }),
    "/readyz": () =>
      isReady()
        ? Response.json({ status: "ready", warning: warning?.() })
        : Response.json({ status: "draining" }, { status: 503 }),
  };
  return (request, url) => {
    const { method } = request;
    const { pathname } = url;
    const answer = Object.hasOwn(answers, pathname) ? answers[pathname] : undefined;
    if (!answer) return undefined;
    if (method === "HEAD") return withoutBody(answer(request, url));
    if (method !== "GET") throw methodNotAllowed(method, ["GET", "HEAD"]);
    return answer(request, url);
  };
}

/** Browsers request HTML explicitly. Other programs accept any type or request another. */
function wantsPage(headers: Headers): boolean {
  return /\btext\/html\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(headers.get("accept") ?? "");
}

export function methodNotAllowed(method: string, allow: readonly string[]): GatewayError {
  const message = `This path does not serve ${method}: use ${allow.join(" or ")}`;
  return new GatewayError("method_not_allowed", message, { allow });
}

/** The page for people who open the gateway's address in a browser: what the gateway is, and which addresses programs need. */
interface IndexFacts {
  name: string;
  version: string;
  lanes: readonly string[];
  /** The address that the browser used: `http://127.0.0.1:8000`. */
  origin: string;
}

const STYLE = "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}" +
  "code{font-family:ui-monospace,monospace}td,th{text-align:left;padding:.2rem 1.5rem .2rem 0}";

function indexPage({ name, version, lanes, origin }: IndexFacts): Response {
  const rows = lanes.map((lane) => {
    const base = `${origin}/${encodeURIComponent(lane)}`;
    return `<tr><th>${escape(lane)}</th><td><code>${escape(base)}/v1</code></td><td><code>${
      escape(base)
    }</code></td></tr>`;
  });
  const body = `<h1>${escape(name)} ${escape(version)}</h1>
<p>This is a gateway to open models. Give your client one of these base addresses.</p>
<table>
<tr><th>Lane</th><th>Base address</th><th>For clients that add /v1 themselves</th></tr>
${rows.join("\n")}
</table>
<p><code>/&lt;lane&gt;/v1/models</code> lists the models of a lane. <a href="/docs">All endpoints</a> are described, also as
<a href="/openapi.json">OpenAPI</a>. For operators: <code>/console</code>, <code>/healthz</code> and <code>/readyz</code>.</p>`;
  const response = htmlResponse({ title: name, style: STYLE, body });
  response.headers.set("vary", "accept");
  return response;
}
