/** A document as HTML: its links lead into the site, code is highlighted, and diagrams are drawn here and now. */
import { renderMermaidSVG } from "beautiful-mermaid";
import hljs from "highlight.js";
import MarkdownIt from "markdown-it";
import type { Places } from "./links.ts";
import { placeOf } from "./links.ts";
import { headingsOf, type SitePage } from "./pages.ts";

/** The names of languages that documents use and the highlighter calls otherwise. */
const LANGUAGES: Record<string, string> = { sh: "bash", text: "plaintext", "": "plaintext", toml: "ini" };

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** A diagram that is drawn smaller than this, in pixels, cannot be read: a phone scrolls it. */
const LEAST = 640;

/** A diagram in the colours of the page. The library's font would be asked from another host. */
function diagram(source: string, at: number): string {
  const marks = /marker id="|url\(#/g;
  const svg = renderMermaidSVG(source).replace(/@import[^;]+;[^;]*;?/, "").replace(/<style>[^]*?<\/style>/, "")
    .replace(marks, (mark) => `${mark}d${at}-`)
    .replace(
      /<svg [^>]*?viewBox="([^"]+)" width="([\d.]+)"[^>]*>/,
      (_, box, width) =>
        `<svg viewBox="${box}" style="max-width:${Math.ceil(width)}px;min-width:${
          Math.min(Math.ceil(width), LEAST)
        }px" role="img" aria-label="${escapeHtml(labelOf(source))}">`,
    );
  return `<div class="diagram" tabindex="0" role="group" aria-label="Diagram">${svg}</div>\n`;
}

/** The words of a diagram, for those who do not see it. */
function labelOf(source: string): string {
  const words = [...source.matchAll(/[[({|]+"?([^\]|)}"]+)"?[\])}|]+/g)].map(([, word]) =>
    word!.replace(/<br>/g, ", ")
  );
  return `Diagram: ${words.join("; ")}`;
}

function code(source: string, language: string): string {
  const name = LANGUAGES[language] ?? language;
  const { value } = hljs.highlight(source, { language: hljs.getLanguage(name) ? name : "plaintext" });
  return `<div class="code"><pre tabindex="0"><code>${value}</code></pre></div>\n`;
}

export function render(page: SitePage, places: Places): string {
  const md = new MarkdownIt({ html: true });
  const headings = headingsOf(page.text).values();
  let diagrams = 0;
  md.renderer.rules.fence = (tokens, at) => {
    const { info, content } = tokens[at]!;
    return info === "mermaid" ? diagram(content, diagrams++) : code(content, info.trim());
  };
  let anchor = "";
  md.renderer.rules.heading_open = (tokens, at) => {
    anchor = headings.next().value!.anchor;
    return `<${tokens[at]!.tag} id="${anchor}">`;
  };
  md.renderer.rules.heading_close = (tokens, at) => {
    const { tag } = tokens[at]!;
    if (tag === "h1") return "</h1>\n";
    const words = tokens[at - 1]!.children!.map(({ content }) => content).join("");
    return ` <a class="anchor" href="#${anchor}" aria-label="Link to ${escapeHtml(words)}">#</a></${tag}>\n`;
  };
  md.renderer.rules.table_open = () => '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n';
  md.renderer.rules.table_close = () => "</table></div>\n";
  md.core.ruler.push("empty headings", ({ tokens }) => {
    // A screen reader would announce a heading that says nothing.
    for (const [at, { type, content }] of tokens.entries()) {
      const around = [tokens[at - 1], tokens[at + 1]];
      if (type !== "inline" || content !== "" || around[0]?.type !== "th_open") continue;
      for (const token of around) token!.tag = "td";
    }
  });
  md.core.ruler.push("boxes to tick", ({ tokens }) => {
    for (const { children } of tokens) {
      if (children?.[0]?.content.startsWith("[ ] ")) children[0].content = `☐ ${children[0].content.slice(4)}`;
    }
  });
  md.core.ruler.push("places", ({ tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      for (const name of ["href", "src"]) {
        const target = token.attrGet(name);
        if (target !== null) token.attrSet(name, placeOf(String(target), page, places, ".html"));
      }
    }
  });
  return md.render(page.text);
}
