/** Turns a tree of HTML into Markdown: what a reader sees, with links, in as few characters as possible. */

/** The part of the DOM that is used here. */
export interface Node {
  nodeType: number;
  textContent: string | null;
  childNodes: Iterable<Node>;
}

export interface Element extends Node {
  localName: string;
  getAttribute(name: string): string | null;
  hasAttribute(name: string): boolean;
}

const [ELEMENT, TEXT] = [1, 3];

const UNREAD: ReadonlySet<string> = new Set(
  "script style noscript template title svg head iframe object textarea select button input canvas audio video".split(
    " ",
  ),
);
const BLOCKS: ReadonlySet<string> = new Set(
  ("address article aside body center dd details dialog div dl dt fieldset figcaption figure footer form header hgroup html " +
    "main nav p section summary").split(" "),
);

/** `base`: the URL that links are relative to. */
export function toMarkdown(node: Node, base: URL): string {
  const lines = write(node, base).split("\n").map((line) => line.trimEnd());
  return lines.filter((line, index) => line !== "" || lines[index - 1] !== "").join("\n").trim();
}

function write(node: Node, base: URL): string {
  if (node.nodeType === TEXT) return (node.textContent ?? "").replace(/\s+/g, " ");
  if (node.nodeType !== ELEMENT) return "";
  const element = node as Element;
  const name = element.localName.toLowerCase();
  if (UNREAD.has(name) || isHidden(element)) return "";
  if (BLOCKS.has(name)) return block(content(element, base));
  const writer = WRITERS[name];
  return writer ? writer(element, base) : content(element, base);
}

function isHidden(element: Element): boolean {
  return element.hasAttribute("hidden") || element.getAttribute("aria-hidden") === "true" ||
    /display\s*:\s*none/i.test(element.getAttribute("style") ?? "");
}

function content({ childNodes }: Element, base: URL): string {
  let text = "";
  for (const child of childNodes) text += write(child, base);
  return text;
}

function block(text: string): string {
  return text.trim() === "" ? "" : `\n\n${text.trim()}\n\n`;
}

type Write = (element: Element, base: URL) => string;

const heading = (level: number): Write => (element, base) => {
  const text = oneLine(content(element, base));
  return text === "" ? "" : block(`${"#".repeat(level)} ${text}`);
};

const WRITERS: Readonly<Record<string, Write | undefined>> = {
  __proto__: null as never,
  h1: heading(1),
  h2: heading(2),
  h3: heading(3),
  h4: heading(4),
  h5: heading(5),
  h6: heading(6),
  br: () => "\n",
  hr: () => "\n\n---\n\n",
  img: (element) => oneLine(element.getAttribute("alt") ?? ""),
  a: link,
  pre: ({ textContent }) => `\n\n\`\`\`\n${(textContent ?? "").replace(/^\n/, "").trimEnd()}\n\`\`\`\n\n`,
  code: ({ textContent }) => textContent && `\`${oneLine(textContent)}\`` || "",
  ul: (element, base) => listOf(element, base, () => "- "),
  ol: (element, base) => listOf(element, base, (number) => `${number}. `),
  blockquote: (element, base) => block(content(element, base).trim().split("\n").map((line) => `> ${line}`).join("\n")),
  table,
};

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

function link(element: Element, base: URL): string {
  const text = content(element, base);
  const url = URL.parse(element.getAttribute("href") ?? "", base);
  const isPage = url?.protocol === "https:" || url?.protocol === "http:";
  // A link within the page leads to no other page.
  if (!isPage || element.getAttribute("href")?.startsWith("#") || text.trim() === "") return text;
  return text.includes("\n") ? text : `[${oneLine(text)}](${url.href.replace(/[()]/g, escape)})`;
}

function escape(character: string): string {
  return `%${character.charCodeAt(0).toString(16)}`;
}

function* elementsIn({ childNodes }: Node): Generator<Element> {
  for (const child of childNodes) if (child.nodeType === ELEMENT) yield child as Element;
}

function listOf(list: Element, base: URL, mark: (number: number) => string): string {
  let number = Number(list.getAttribute("start") ?? 1) || 1;
  const items: string[] = [];
  for (const item of elementsIn(list)) {
    const text = write(item, base).trim();
    if (text === "") continue;
    const start = mark(number++);
    items.push(start + text.replace(/\n{2,}/g, "\n").replaceAll("\n", `\n${" ".repeat(start.length)}`));
  }
  return block(items.join("\n"));
}

/** A table whose cells hold no blocks stays a table. A table that is used for layout becomes the text of its cells. */
function table(element: Element, base: URL): string {
  const rows = [...rowsIn(element)].map((row) => [...elementsIn(row)].map((cell) => content(cell, base).trim()));
  const filled = rows.filter((row) => row.some((cell) => cell !== ""));
  if (filled.some((row) => row.length < 2 || row.some((cell) => cell.includes("\n")))) {
    return block(filled.map((row) => row.join("\n\n")).join("\n\n"));
  }
  const [first, ...others] = filled.map((row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`);
  if (first === undefined) return "";
  return block([first, `|${" --- |".repeat(filled[0]!.length)}`, ...others].join("\n"));
}

function* rowsIn(element: Element): Generator<Element> {
  for (const child of elementsIn(element)) {
    const name = child.localName.toLowerCase();
    if (name === "tr") yield child;
    else if (name === "thead" || name === "tbody" || name === "tfoot") yield* rowsIn(child);
  }
}
