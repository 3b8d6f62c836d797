/** The description of the API as a page. It is plain HTML without scripts or files from elsewhere. */
import type { RequestContext } from "../context/request_context.ts";
import { htmlText } from "../http/html.ts";
import { keepPage, type KeptPage } from "../http/kept_page.ts";
import { documentHtml, STYLE } from "./openapi/html.ts";
import type { Document } from "./openapi/json.ts";
import { documentOf } from "./openapi_page.ts";

const made = new WeakMap<Document, KeptPage>();

export async function docsPage(context: RequestContext): Promise<Response> {
  const document = await documentOf(context);
  let page = made.get(document);
  if (!page) {
    const body = await documentHtml(document);
    page = keepPage(htmlText({ title: `${document.info.title}: API`, style: STYLE, body }));
    made.set(document, page);
  }
  return await page(context.request);
}
