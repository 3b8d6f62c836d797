/** The description of the API as a page for people. */
import { escape } from "../../http/html.ts";
import { sliced, yieldToEventLoop } from "../../util/sliced_work.ts";
import type { Document, MediaType, Operation, Parameter, ResponseObject } from "./json.ts";
import { schemaHtml } from "./schema_html.ts";

export const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code,pre{font-family:ui-monospace,monospace;font-size:.9em;overflow-wrap:anywhere}
h2{margin-top:3rem}h3{margin-top:2.5rem;border-top:1px solid;padding-top:1rem}h4{margin-bottom:.3rem}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem 1rem .3rem 0;border-bottom:1px solid GrayText}
nav ul,.fields{list-style:none;padding-left:1rem}
.fields{border-left:2px solid GrayText}
details{margin:.4rem 0}summary{cursor:pointer}`;

/**
 * Writes the page in sections: each endpoint with its request and answers, then the errors and the schemas. Others run
 * in between.
 */
export async function documentHtml(document: Document): Promise<string> {
  const { info, tags, components } = document;
  const operations = operationsIn(document);
  const pieces = [
    `<header><h1>${escape(info.title)} ${escape(info.version)}</h1>
${textHtml(info.description)}
<p>Programs read it as <a href="/openapi.json">OpenAPI</a>.</p></header>
<nav aria-label="Endpoints"><h2>Endpoints</h2>${listHtml(operations, tags.map(({ name }) => name))}</nav>
<main>${securityHtml(components.securitySchemes)}`,
  ];
  for (const { name, description } of tags) {
    const own = operations.filter(({ operation }) => operation.tags[0] === name);
    if (own.length === 0) continue;
    pieces.push(`<section><h2 id="${anchor("tag", name)}">${escape(name)}</h2>\n<p>${escape(description)}</p>`);
    for (const one of own) pieces.push(operationHtml(one, document));
    await yieldToEventLoop();
    pieces.push("</section>");
  }
  pieces.push('<section><h2 id="errors">Errors</h2>');
  for (const [name, response] of Object.entries(components.responses)) {
    pieces.push(`<h3 id="${anchor("response", name)}">${escape(name)}</h3>\n${responseHtml(response, document)}`);
  }
  await yieldToEventLoop();
  pieces.push('</section><section><h2 id="schemas">Schemas</h2>', SCHEMAS);
  for await (const [name, schema] of sliced(Object.entries(components.schemas))) {
    pieces.push(`<h3 id="${anchor("schema", name)}">${escape(name)}</h3>\n${schemaHtml(schema)}`);
  }
  return [...pieces, "</section></main>"].join("\n");
}

const SCHEMAS = "<p>Fields beside those that are listed are allowed. What is not marked as required may be absent.</p>";

interface Placed {
  method: string;
  path: string;
  operation: Operation;
}

function operationsIn({ paths }: Document): Placed[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation }))
  );
}

function listHtml(operations: readonly Placed[], tags: readonly string[]): string {
  const rows = tags.flatMap((tag) => operations.filter(({ operation }) => operation.tags[0] === tag));
  return `<ul>${
    rows.map(({ method, path, operation: { operationId, summary } }) =>
      `<li><a href="#${anchor("operation", operationId)}"><code>${method} ${escape(path)}</code></a> ${
        escape(summary)
      }</li>`
    ).join("\n")
  }</ul>`;
}

function securityHtml(schemes: Document["components"]["securitySchemes"]): string {
  const rows = Object.values(schemes).map(({ type, name, scheme, description }) =>
    `<li><code>${type === "http" ? `authorization: ${scheme} …` : `${escape(name ?? "")}: …`}</code> ${
      escape(description ?? "")
    }</li>`
  );
  return `<section><h2 id="keys">Keys</h2><ul>${rows.join("\n")}</ul></section>`;
}

function operationHtml({ method, path, operation }: Placed, document: Document): string {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const given = parameters.map((one) => resolve<Parameter>(one, document));
  const requests = Object.entries(requestBody?.content ?? {}).map(([type, media]) => mediaHtml(type, media)).join("\n");
  const rows = Object.entries(responses).map(([status, one]) =>
    "$ref" in one
      ? referenceHtml(status, one.$ref, resolve<ResponseObject>(one, document))
      : rowHtml(status, responseHtml(one, document))
  );
  return `<article><h3 id="${anchor("operation", operationId)}"><code>${method} ${escape(path)}</code></h3>
<p><strong>${escape(summary)}</strong></p>
${description === undefined ? "" : textHtml(description)}
${given.length === 0 ? "" : `<h4>Parameters</h4>\n${parametersHtml(given)}`}
${requests === "" ? "" : `<h4>Request</h4>\n${requests}`}
<h4>Answers</h4>
<table><thead><tr><th scope="col">Status</th><th scope="col">Answer</th></tr></thead>
<tbody>${rows.join("\n")}</tbody></table></article>`;
}

function parametersHtml(parameters: readonly Parameter[]): string {
  const rows = parameters.map(({ name, in: place, required, description = "", schema }) =>
    `<tr><th scope="row"><code>${escape(name)}</code></th><td>${place}${required ? ", required" : ""}</td><td>${
      textHtml(description)
    }${schemaHtml(schema)}</td></tr>`
  );
  return `<table><thead><tr><th scope="col">Name</th><th scope="col">In</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows.join("\n")}</tbody></table>`;
}

function rowHtml(status: string, answer: string): string {
  return `<tr><th scope="row">${escape(status)}</th><td>${answer}</td></tr>`;
}

/** An answer that many endpoints share is on the page once. This is a link to it, with its codes. */
function referenceHtml(status: string, $ref: string, { description }: ResponseObject): string {
  const codes = [...description.matchAll(/`([^`]+)`:/g)].map(([, code]) => `<code>${escape(code!)}</code>`);
  const name = $ref.split("/").at(-1)!;
  return rowHtml(status, `<a href="#${anchor("response", name)}">${escape(name)}</a> ${codes.join(", ")}`);
}

function responseHtml({ description, headers = {}, content = {} }: ResponseObject, document: Document): string {
  const media = Object.entries(content).map(([type, one]) => mediaHtml(type, one)).join("\n");
  const names = Object.entries(headers).map(([name, one]) => {
    const { description = "" } = resolve<{ description?: string }>(one, document);
    return `<li><code>${escape(name)}</code> ${inlineHtml(description)}</li>`;
  });
  const list = names.length === 0 ? "" : `<details><summary>Headers</summary><ul>${names.join("\n")}</ul></details>`;
  return `${textHtml(description)}${media}${list}`;
}

function mediaHtml(type: string, { schema, examples = {} }: MediaType): string {
  const shown = Object.values(examples).slice(0, 1).map(({ value }) =>
    `<details><summary>Example</summary><pre><code>${escape(JSON.stringify(value, null, 2))}</code></pre></details>`
  );
  return `<p><code>${escape(type)}</code></p>${schema ? schemaHtml(schema) : ""}${shown.join("")}`;
}

function resolve<T extends object>(value: T | { $ref: string }, { components }: Document): T {
  if (!("$ref" in value)) return value;
  const [, , kind, name] = value.$ref.split("/") as [string, string, keyof Document["components"], string];
  return (components[kind] as Record<string, unknown>)[name] as T;
}

/** Supports the Markdown that the description uses: paragraphs, code and strong text. */
function textHtml(text: string): string {
  return text.split(/\n{2,}/).map((paragraph) => `<p>${inlineHtml(paragraph)}</p>`).join("\n");
}

function inlineHtml(text: string): string {
  return escape(text).replace(/`([^`]+)`/g, "<code>$1</code>").replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>");
}

/** The id of a place on the page. */
export function anchor(kind: "tag" | "operation" | "response" | "schema", name: string): string {
  return `${kind}-${name.replaceAll(/[^\w-]/g, "-")}`;
}
