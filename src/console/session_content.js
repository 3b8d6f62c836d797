// @ts-check
/// <reference lib="dom" />
/** The messages of a conversation as their reader sees them: texts, folded calls and results, pictures and sources. */
import { html, useState } from "./ui.js";
import { CodeBlock } from "./design/code.js";
import { Link, Markdown } from "./design/markdown.js";
import { Badge, Icon } from "./design/parts.js";
import { inShort } from "./words.js";

/** @typedef {{ type: string, [name: string]: any }} Part */
/** @typedef {{ role: string, content: Part[], isSummary?: boolean }} Message */
/** @typedef {Readonly<Record<string, string>>} ToolNames */

/** A longer text of a person or a tool is folded. */
const LONG = 3_000;
/** The length of the first line of what is folded. */
const PREVIEW = 120;
/** The pictures that a browser draws without running anything. */
const DRAWN = /^image\/(png|jpeg|gif|webp)$/;

/** @type {Readonly<Record<string, { title: string, icon: string }>>} */
const ROLES = {
  system: { title: "Instructions", icon: "info" },
  user: { title: "User", icon: "messages-square" },
  assistant: { title: "Assistant", icon: "zap" },
  tool: { title: "Tool", icon: "plug" },
};

/** @param {{ message: Message, tools: ToolNames }} props */
export function OneMessage({ message: { role, content, isSummary }, tools }) {
  const { title, icon } = ROLES[role] ?? { title: role, icon: "info" };
  if (role === "system") {
    return html`
      <${Folded} title="Instructions" preview=${previewOf(textIn(content))}>
        <div class="long" tabindex="0" role="region" aria-label="Instructions">
          <${Parts} parts=${content} tools=${tools} />
        </div>
        <//>
    `;
  }
  // A result says by itself whose it is.
  if (role === "tool") return html`<${Parts} parts=${content} tools=${tools} />`;
  return html`
    <div class="message" data-role=${role}>
      <h4><${Icon} name=${icon} size=${14} />${isSummary ? "Summary of earlier turns" : title}</h4>
      <${Parts} parts=${content} tools=${tools} />
    </div>
  `;
}

/** @param {{ parts: readonly Part[], tools: ToolNames }} props */
function Parts({ parts, tools }) {
  return parts.map((part, index) => html`<${OnePart} key=${index} part=${part} tools=${tools} />`);
}

/** @param {{ part: Part, tools: ToolNames }} props */
export function OnePart({ part, tools }) {
  switch (part.type) {
    case "text":
      return html`
        <${Text} text=${part.text ?? ""} isUnfolded=${part.isUnfolded} />
        <${Sources} annotations=${part.annotations ?? []} />
      `;
    case "refusal":
      return html`
        <p>
          <${Badge} tone="warn">refused<//> ${part.text}</p>
      `;
    case "reasoning":
      return part.text
        ? html`
          <${Folded} title="Reasoning" preview=${previewOf(part.text)}>
            <${Markdown} text=${part.text} />
            <//>
        `
        : html`<p class="quiet">Reasoning that only the model's host can read.</p>`;
    case "tool-call":
      return html`
        <${Folded} title=${part.name} icon="plug" preview=${previewOf(part.input)}>
          <${CodeBlock} title="Input" value=${jsonOf(part.input)} />
          <//>
      `;
    case "tool-result":
      return html`<${Result} part=${part} tools=${tools} />`;
    case "file":
      return html`<${File} part=${part} />`;
    case "hosted":
      return html`
        <${Folded} title=${part.call?.kind ?? "Hosted tool"} icon="plug" preview=${previewOf(
          JSON.stringify(part.call ?? {}),
        )}>
          <${CodeBlock} title="Call and result" value=${{ call: part.call, result: part.result }} />
          <//>
      `;
    default:
      return html`
        <${Folded} title=${nameIn(part.fields) ?? "A part that only its own wire knows"} preview=${previewOf(
          part.standIn ?? JSON.stringify(part.fields ?? {}),
        )}>
          <${CodeBlock} title="Part" value=${part.fields ?? part} />
          <//>
          <${Sources} annotations=${pagesIn(part.fields)} />
      `;
  }
}

/** The name of a part that only its own wire knows. @param {any} fields @returns {string | undefined} */
function nameIn(fields) {
  return [fields?.name, fields?.type].find((one) => typeof one === "string");
}

/** The pages that such a part lists: those that a search has found. @param {any} fields */
function pagesIn(fields) {
  const all = Array.isArray(fields?.content) ? fields.content : [];
  return all.filter((/** @type {any} */ one) => typeof one?.url === "string")
    .map((/** @type {any} */ { url, title }) => ({ url, title: typeof title === "string" ? title : url }));
}

/** @param {{ part: Part, tools: ToolNames }} props */
function Result({ part, tools }) {
  const { id, content = [], isError } = part;
  const text = textIn(content);
  const name = Object.hasOwn(tools, id) ? tools[id] : "a tool";
  return html`
    <${Folded}
      title=${`Result of ${name}`}
      icon="corner-down-left"
      tone=${isError ? "bad" : undefined}
      more=${isError ? "error" : `${inShort(text.length)} characters`}
      preview=${previewOf(text)}
    >
      ${content.map((/** @type {Part} */ inner, /** @type {number} */ index) =>
        inner.type === "text"
          ? html`<pre class="result" tabindex="0" key=${index}>${inner.text}</pre>`
          : html`<${OnePart} key=${index} part=${inner} tools=${tools} />`
      )}
    <//>
  `;
}

/** Something that is drawn once somebody unfolds it. @param {any} props */
export function Folded({ title, icon, preview, more, tone, children }) {
  const [isOpen, setOpen] = useState(false);
  const turn = (/** @type {any} */ { currentTarget }) => setOpen(currentTarget.open);
  return html`
    <details class="folded" data-tone=${tone} open=${isOpen} onToggle=${turn}>
      <summary>
        ${icon && html`<${Icon} name=${icon} size=${14} />`}<b>${title}</b>
        ${more && html`<span class="quiet">${more}</span>`}
        ${!isOpen && html`<span class="preview">${preview}</span>`}
      </summary>
      ${isOpen && html`<div class="inside">${children}</div>`}
    </details>
  `;
}

/** @param {{ text: string, isUnfolded?: boolean }} props `isUnfolded`: it is shown however long it is. */
function Text({ text, isUnfolded }) {
  if (isUnfolded || text.length <= LONG) return html`<${Markdown} text=${text} />`;
  return html`
    <${Folded} title="Long text" more=${`${inShort(text.length)} characters`} preview=${previewOf(text)}>
      <${Markdown} text=${text} />
      <//>
  `;
}

/** @param {{ annotations: readonly { url?: string, title?: string }[] }} props */
function Sources({ annotations }) {
  /** Each page once. @type {Map<string, string>} */
  const pages = new Map(annotations.flatMap(({ url, title }) => url ? [[url, title || url]] : []));
  if (pages.size === 0) return undefined;
  return html`
    <ul class="sources" aria-label="Sources">
      ${Array.from(pages, ([url, title]) =>
        html`
          <li key=${url}>
            <${Link} href=${url}>${title}<//></li>
        `)}
    </ul>
  `;
}

/** @param {{ part: Part }} props */
function File({ part: { mediaType = "", source = {}, name } }) {
  const label = [name, mediaType].filter(Boolean).join(", ") || "file";
  if (source.type === "base64" && source.data && DRAWN.test(mediaType)) {
    return html`<img class="picture" alt=${name ?? "Picture"} src=${`data:${mediaType};base64,${source.data}`} />`;
  }
  if (source.type === "url") return html`<p>[${label}: <${Link} href=${source.url}>${source.url}<//>]</p>`;
  return html`<p class="quiet">[${label}${source.type === "base64" ? ", too large for this page" : ""}]</p>`;
}

/** @param {readonly Part[]} parts */
function textIn(parts) {
  return parts.map(({ type, text, mediaType }) => text ?? `[${mediaType ?? type}]`).join("\n");
}

/** @param {string} text */
export function previewOf(text = "") {
  return text.slice(0, 4 * PREVIEW).replace(/\s+/g, " ").trim().slice(0, PREVIEW);
}

/** @param {string} text */
function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
