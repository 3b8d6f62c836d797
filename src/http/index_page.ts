/** The page for people who open the gateway's address in a browser: what the gateway is, and which addresses programs need. */
import { escape, htmlResponse } from "./html.ts";
import { preferredType } from "./negotiation.ts";

interface IndexFacts {
  name: string;
  version: string;
  lanes: readonly string[];
  /** The address that the browser used: `http://127.0.0.1:8000`. */
  origin: string;
}

const STYLE = "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}" +
  "code{font-family:ui-monospace,monospace}td,th{text-align:left;padding:.2rem 1.5rem .2rem 0}";

/** A page where the client would rather have HTML, as browsers do. Programs are content with JSON. */
export function answerIndex(headers: Headers, facts: IndexFacts): Response {
  const { name, version, lanes } = facts;
  const isPage = preferredType(headers, "application/json", "text/html") === "text/html";
  const response = isPage ? indexPage(facts) : Response.json({ name, version, lanes });
  response.headers.set("vary", "accept");
  return response;
}

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
  return htmlResponse({ title: name, style: STYLE, body });
}
