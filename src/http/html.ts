/** Pages for people, without scripts and without external resources. */
import { builtin } from "../util/builtin.ts";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for the content of an element or for a quoted attribute. */
export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

export interface HtmlPage {
  title: string;
  style: string;
  /** The content, as HTML. */
  body: string;
}

export function htmlResponse(page: HtmlPage): Response {
  const { text, headers } = htmlText(page);
  return new Response(text, { headers });
}

/** The page as text, and its headers. */
export function htmlText({ title, style, body }: HtmlPage): { text: string; headers: Record<string, string> } {
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>${style}</style>
</head>
<body>
${body}
</body>
</html>
`;
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policyFor(style),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
  };
  return { text, headers };
}

/** Nothing may be loaded or run. Only the page's own style is allowed. */
function policyFor(style: string): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${builtin("node:crypto").hash("sha256", style, "base64")}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}
