/** Turns a page into Markdown. */
import { parseHTML } from "linkedom";
import { Readability } from "readability";
import { type Element, toMarkdown } from "./markdown.ts";
import { leanOf, plainText, type TreeLimits } from "./plain_html.ts";

export interface PageText {
  title?: string;
  text: string;
}

/** The largest tree: a larger or deeper one would take seconds, or overflow the stack. The rest of a page is read without a tree. */
const TREE: TreeLimits = { elements: 4_000, length: 1_000_000, depth: 60 };
/** The fewest characters of an article. A page with less is an index, or something else without an article. */
const LEAST_ARTICLE = 500;

/** `most`: the limit on the text, in characters. `isHasty`: whether there is no time for a tree. */
export function readHtml(html: string, url: string, most: number, isHasty: boolean): PageText {
  if (isHasty) return plainText(html, most);
  const { lean, rest } = leanOf(html, TREE);
  try {
    const page = readTree(lean, url);
    if (rest === "" || page.text.length > most) return page;
    return { ...page, text: [page.text, plainText(rest, most).text].filter((text) => text !== "").join("\n\n") };
  } catch {
    return plainText(html, most);
  }
}

interface Document {
  body: Element;
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): Iterable<Element & { setAttribute(name: string, value: string): void }>;
}

function readTree(html: string, url: string): PageText {
  const document = parse(html);
  const base = URL.parse(document.querySelector("base[href]")?.getAttribute("href") ?? "", url) ?? new URL(url);
  const ownTitle = document.querySelector("title")?.textContent?.replace(/\s+/g, " ").trim();
  // Readability would resolve links against this program's own location.
  for (const link of document.querySelectorAll("a[href]")) {
    const href = link.getAttribute("href") ?? "";
    if (!href.startsWith("#")) link.setAttribute("href", URL.parse(href, base)?.href ?? "");
  }
  const article = new Readability<Element>(document as never, {
    serializer: (node) => node as unknown as Element,
    keepClasses: true,
  }).parse();
  const title = article?.title || ownTitle;
  const text = article?.content ? toMarkdown(article.content, base) : "";
  // The page is parsed again, because Readability has removed parts of the tree.
  const chosen = text.length >= LEAST_ARTICLE ? text : toMarkdown(parse(html).body, base);
  return { ...(title && { title }), text: chosen };
}

/** A fragment is wrapped in a document: otherwise the parser would take its first element for the document. */
function parse(html: string): Document {
  const start = html.slice(0, 20_000);
  const isWhole = /<html[\s>]/i.test(start) && /<body[\s>]/i.test(html);
  const whole = isWhole
    ? html
    : `<html><head></head><body>${html.replace(/<\/?(html|head|body)\b[^>]*>/gi, "")}</body></html>`;
  return (parseHTML(whole) as unknown as { document: Document }).document;
}
