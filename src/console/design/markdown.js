// @ts-check
/// <reference lib="dom" />
/**
 * Markdown as elements. Markup in it stays text, links lead to web pages only, and pictures are not loaded: nothing that a model
 * writes may reach further than its reader's eyes.
 */
import { h, html, useEffect, useMemo, useState } from "../ui.js";

/** @typedef {{ type: string, raw?: string, text?: string, tokens?: Token[], [name: string]: any }} Token */

/** A longer text is shown as it is: reading it would hold up the page. */
const LONGEST = 40_000;
/** How deep lists and quotes are drawn in each other. */
const DEEPEST = 16;

/** The library is loaded with the first text. @type {Promise<any> | undefined} */
let loading;
/** @type {((text: string) => Token[]) | undefined} */
let lexer;

/** @param {{ text: string }} props */
export function Markdown({ text }) {
  const [isReady, setReady] = useState(lexer !== undefined);
  useEffect(() => {
    if (isReady) return;
    let isGone = false;
    loading ??= import("marked");
    loading.then((library) => {
      lexer = library.lexer;
      if (!isGone) setReady(true);
    }, () => loading = undefined);
    return () => void (isGone = true);
  }, []);
  const tokens = useMemo(() => isReady ? tokensOf(text) : undefined, [text, isReady]);
  if (!tokens) return html`<p class="plain-text">${text}</p>`;
  return html`<div class="markdown">${blocks(tokens, 0)}</div>`;
}

/** @param {string} text @returns {Token[] | undefined} */
function tokensOf(text) {
  if (text.length > LONGEST) return undefined;
  try {
    return lexer?.(text);
  } catch {
    return undefined; // too deep for the library: the reader gets the text
  }
}

/** @type {(tokens: readonly Token[], depth: number) => any} */
function blocks(tokens, depth) {
  return tokens.map((token, index) => block(token, depth, index));
}

/** @type {(token: Token, depth: number, key: number) => any} */
function block(token, depth, key) {
  if (depth > DEEPEST) return html`<p key=${key}>${token.raw}</p>`;
  const inside = () => token.tokens ? inline(token.tokens, depth + 1) : token.text;
  switch (token.type) {
    case "space":
    case "def":
      return undefined;
    case "heading":
      // The page has its own headings above.
      return h(`h${Math.min(6, token.depth + 3)}`, { key }, inside());
    case "code":
      return html`<pre key=${key} tabindex="0"><code>${token.text}</code></pre>`;
    case "blockquote":
      return html`<blockquote key=${key}>${blocks(token.tokens ?? [], depth + 1)}</blockquote>`;
    case "list":
      return h(
        token.ordered ? "ol" : "ul",
        { key, start: token.ordered ? token.start || undefined : undefined },
        items(token, depth),
      );
    case "table":
      return html`<${Table} key=${key} token=${token} depth=${depth} />`;
    case "hr":
      return html`<hr key=${key} />`;
    case "text":
      return html`<p key=${key}>${inside()}</p>`;
    case "paragraph":
      return html`<p key=${key}>${inside()}</p>`;
    default:
      return html`<p key=${key} class="plain-text">${token.raw}</p>`;
  }
}

/** @type {(token: Token, depth: number) => any} */
function items({ items }, depth) {
  return items.map((/** @type {Token} */ item, /** @type {number} */ at) =>
    html`
      <li key=${at}>
        ${item.task && (item.checked ? "☑ " : "☐ ")}
        ${(item.tokens ?? []).map((token, index) =>
          token.type === "text" && !item.loose
            ? html`<span key=${index}>${token.tokens ? inline(token.tokens, depth + 1) : token.text}</span>`
            : token.type === "checkbox"
            ? undefined
            : block(token, depth + 1, index)
        )}
      </li>
    `
  );
}

/** @param {{ token: Token, depth: number }} props */
function Table({ token: { header, rows }, depth }) {
  const cell = (/** @type {"th" | "td"} */ tag) => (/** @type {Token} */ { tokens }, /** @type {number} */ key) =>
    h(tag, { key, scope: tag === "th" ? "col" : undefined }, inline(tokens ?? [], depth + 1));
  return html`
    <div class="data" tabindex="0" role="group" aria-label="Table">
      <table>
        <thead>
          <tr>${header.map(cell("th"))}</tr>
        </thead>
        <tbody>
          ${rows.map((/** @type {Token[]} */ row, /** @type {number} */ key) =>
            html`<tr key=${key}>${row.map(cell("td"))}</tr>`
          )}
        </tbody>
      </table>
    </div>
  `;
}

/** @type {Readonly<Record<string, string>>} */
const TAGS = { strong: "strong", em: "em", del: "del" };

/** @type {(tokens: readonly Token[], depth: number) => any} */
function inline(tokens, depth) {
  return tokens.map((token, key) => {
    const { type, text, raw, href } = token;
    if (depth > DEEPEST) return raw;
    const inside = () => token.tokens ? inline(token.tokens, depth + 1) : text;
    const tag = TAGS[type];
    if (tag) return h(tag, { key }, inside());
    switch (type) {
      case "codespan":
        return html`<code key=${key}>${text}</code>`;
      case "br":
        return html`<br key=${key} />`;
      case "link":
        return html`<${Link} key=${key} href=${href}>${inside()}<//>`;
      case "image":
        return html`<span key=${key}>[picture: ${text}] (<${Link} href=${href}>${href}<//>)</span>`;
      case "text":
      case "escape":
        return inside();
      default:
        return raw;
    }
  });
}

/** A link that a model wrote. One that is not to a web page stays text. @param {{ href?: string, children?: unknown }} props */
export function Link({ href = "", children }) {
  if (!/^https?:\/\//i.test(href)) return html`<span title=${href}>${children}</span>`;
  return html`<a href=${href} target="_blank" rel="noopener noreferrer nofollow" title=${href}>${children}</a>`;
}
