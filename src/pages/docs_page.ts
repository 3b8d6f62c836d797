/** The description of the API as a page. It is plain HTML without scripts or files from elsewhere. */
import type { RequestContext } from "../context/request_context.ts";
import { htmlResponse } from "../http/html.ts";
import { documentHtml, STYLE } from "./openapi/html.ts";
import type { Document } from "./openapi/json.ts";
import { documentOf } from "./openapi_page.ts";

const made = new WeakMap<Document, string>();

export async function docsPage(context: RequestContext): Promise<Response> {
  const document = await documentOf(context);
  let body = made.get(document);
  if (body === undefined) made.set(document, body = await documentHtml(document));
  return htmlResponse({ title: `${document.info.title}: API`, style: STYLE, body });
}
