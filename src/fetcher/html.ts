/** What stands on a page, as Markdown. */
import { parseHTML } from "linkedom";
import { Readability } from "readability";
import { type Element, toMarkdown } from "./markdown.ts";
import { leanOf, plainText, type TreeLimits } from "./plain_html.ts";

export interface PageText {
  title?: string;
  text: string;
}

/** A larger or deeper tree would take seconds, or more stack than there is. The rest of a page is read without one. */
const TREE: TreeLimits = { elements: 4_000, length: 1_000_000, depth: 60 };
/** An article that is shorter is none: then the page is an index, or something else that has no article. */
const LEAST_ARTICLE = 500;

/** `most`: characters of text. `isHasty`: there is no time for a tree. */
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
  // Readability would take this program's own place for theirs.
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
  // The tree is spent: Readability takes out what it does not like.
  const chosen = text.length >= LEAST_ARTICLE ? text : toMarkdown(parse(html).body, base);
  return { ...(title && { title }), text: chosen };
}

/** What has no document around it is given one: the parser would take the first element for it. */
function parse(html: string): Document {
  const start = html.slice(0, 20_000);
  const isWhole = /<html[\s>]/i.test(start) && /<body[\s>]/i.test(html);
  const whole = isWhole
    ? html
    : `<html><head></head><body>${html.replace(/<\/?(html|head|body)\b[^>]*>/gi, "")}</body></html>`;
  return (parseHTML(whole) as unknown as { document: Document }).document;
}
