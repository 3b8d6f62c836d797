/** The gateway's description of its API. It is made when it is first requested, and kept. */
import manifest from "../../deno.json" with { type: "json" };
import type { RequestContext } from "../context/request_context.ts";
import type { Registry } from "../contract/registry.ts";
import { keepPage, type KeptPage } from "../http/kept_page.ts";
import { describeApi } from "./openapi/document.ts";
import type { Document } from "./openapi/json.ts";

const made = new WeakMap<Registry, Promise<Document>>();
const pages = new WeakMap<Document, KeptPage>();

export function documentOf({ gateway: { registry } }: Pick<RequestContext, "gateway">): Promise<Document> {
  let document = made.get(registry);
  if (!document) {
    const fallback = registry.fallback(new Headers());
    const { protocols } = registry;
    made.set(registry, document = describeApi({ title: "Laneway", version: manifest.version, protocols, fallback }));
  }
  return document;
}

export async function openapiPage(context: RequestContext): Promise<Response> {
  const document = await documentOf(context);
  let page = pages.get(document);
  if (!page) {
    page = keepPage({ text: JSON.stringify(document), headers: { "content-type": "application/json" } });
    pages.set(document, page);
  }
  return await page(context.request);
}
