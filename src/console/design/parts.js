// @ts-check
/// <reference lib="dom" />
/** The small components: what a page is put together from. */
import { h, html, useId, useLayoutEffect, useRef } from "../ui.js";
import { ICONS } from "./icons.js";

/** @typedef {import("../ui.js").Children} Children */
/** @typedef {"plain" | "good" | "warn" | "bad" | "info" | "accent"} Tone */

/** @param {{ name: string, size?: number }} props */
export function Icon({ name, size = 16 }) {
  const shapes = (ICONS[name] ?? []).map(([tag, attributes]) => h(tag, attributes));
  return h("svg", {
    class: "icon",
    viewBox: "0 0 24 24",
    width: size,
    height: size,
    fill: "none",
    stroke: "currentColor",
    "stroke-width": 1.75,
    "stroke-linecap": "round",
    "stroke-linejoin": "round",
    "aria-hidden": "true",
  }, shapes);
}

/**
 * The head of a page: its name, what it is for, and what can be done on all of it.
 * @param {{ title: string, about?: Children, actions?: Children, children?: Children }} props
 */
export function Page({ title, about, actions, children }) {
  return html`
    <div class="page">
      <header class="page-head">
        <div>
          <h1>${title}</h1>
          ${about && html`<p class="quiet">${about}</p>`}
        </div>
        ${actions && html`<div class="actions">${actions}</div>`}
      </header>
      ${children}
    </div>
  `;
}

/** @param {{ title?: Children, about?: Children, actions?: Children, flush?: boolean, level?: 2 | 3, children?: Children }} props */
export function Card({ title, about, actions, flush, level = 2, children }) {
  const head = (title || actions) && html`
    <header class="card-head">
      ${title && h(`h${level}`, {}, title)} ${about && html`<span class="quiet">${about}</span>`}
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
  `;
  return html`<section class=${flush ? "card flush" : "card"}>${head}${children}</section>`;
}

/**
 * A figure with its name, and whether it is better or worse than before.
 * @param {{ name: string, value: Children, more?: Children, tone?: Tone }} props
 */
export function Stat({ name, value, more, tone = "plain" }) {
  return html`
    <li class="stat" data-tone=${tone}>
      <span class="stat-name">${name}</span>
      <b>${value}</b>
      ${more && html`<small>${more}</small>`}
    </li>
  `;
}

/** A word in a color that means the same: no color says anything alone. @param {{ tone?: Tone, icon?: string, children?: Children }} props */
export function Badge({ tone = "plain", icon, children }) {
  return html`<span class="badge" data-tone=${tone}>${
    icon && html`<${Icon} name=${icon} size=${12} />`
  }${children}</span>`;
}

/** @param {{ kind?: "plain" | "primary" | "ghost" | "danger", icon?: string, type?: string, children?: Children, [name: string]: unknown }} props */
export function Button({ kind = "plain", icon, type = "button", roomy, children, ...rest }) {
  return html`
    <button type=${type} class=${`button ${kind} ${roomy ? "roomy" : ""}`} ...${rest}>
      ${icon && html`<${Icon} name=${icon} />`}${children}
    </button>
  `;
}

/** A link that leads to where something is done. @param {{ href: string, kind?: "plain" | "primary", icon?: string, children?: Children }} props */
export function ButtonLink({ href, kind = "plain", icon, children }) {
  return html`<a class=${`button ${kind}`} href=${href}>${icon && html`<${Icon} name=${icon} />`}${children}</a>`;
}

/** A button that is an icon, with its name for those who do not see it. @param {{ icon: string, label: string, [name: string]: unknown }} props */
export function IconButton({ icon, label, ...rest }) {
  return html`
    <button type="button" class="icon-button" aria-label=${label} title=${label} ...${rest}>
      <${Icon} name=${icon} />
    </button>
  `;
}

/**
 * A field of a form with its label, what it is for, and what is wrong with it.
 * @param {{ label: string, hint?: Children, problem?: string, children(attributes: Record<string, unknown>): Children }} props
 */
export function Field({ label, hint, problem, children }) {
  const id = useId();
  const about = problem || hint ? `${id}-about` : undefined;
  const attributes = { id, "aria-describedby": about, "aria-invalid": problem ? "true" : undefined };
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      ${children(attributes)}
      ${about && html`<small id=${about} class=${problem ? "error" : "quiet"}>${problem || hint}</small>`}
    </div>
  `;
}

/** A condition of a list, which its button takes away. @param {{ name: string, value: string, onRemove(): void }} props */
export function Chip({ name, value, onRemove }) {
  return html`
    <span class="chip">
      <span class="quiet">${name}</span> ${value}
      <button type="button" aria-label=${`Remove ${name} ${value}`} onClick=${onRemove}><${Icon} name="x" size=${12} /></button>
    </span>
  `;
}

/**
 * Says what an empty place is for, and has the one button that fills it.
 * @param {{ icon?: string, title: string, children?: Children, action?: Children }} props
 */
export function EmptyState({ icon = "inbox", title, children, action }) {
  return html`
    <div class="empty">
      <${Icon} name=${icon} size=${28} />
      <h2>${title}</h2>
      <p class="quiet">${children}</p>
      ${action && html`<div class="actions">${action}</div>`}
    </div>
  `;
}

/**
 * Tabs, of which one is shown. The arrow keys choose.
 * @param {{ label: string, tabs: readonly { id: string, title: Children, view: Children }[], chosen: string, onChoose(id: string): void }} props
 */
export function Tabs({ label, tabs, chosen, onChoose }) {
  const own = useId();
  const move = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex(({ id }) => id === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    onChoose(next.id);
    document.getElementById(`${own}-${next.id}`)?.focus();
  };
  const list = tabs.map(({ id, title }) =>
    html`
      <button
        type="button"
        role="tab"
        id=${`${own}-${id}`}
        aria-selected=${String(id === chosen)}
        aria-controls=${`${own}-panel`}
        tabindex=${id === chosen ? 0 : -1}
        onClick=${() => onChoose(id)}
        key=${id}
      >${title}</button>
    `
  );
  return html`
    <div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>${list}</div>
    <div role="tabpanel" id=${`${own}-panel`} aria-labelledby=${`${own}-${chosen}`} tabindex="0">
      ${tabs.find(({ id }) => id === chosen)?.view}
    </div>
  `;
}

/**
 * A choice of a few, side by side.
 * @param {{ label: string, options: readonly { value: string, title: Children, label?: string }[], value: string, onChoose(value: string): void }} props
 */
export function Segments({ label, options, value, onChoose }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const { current } = place;
    const chosen = current?.querySelector("[aria-pressed=true]");
    if (!current || !chosen || current.scrollWidth <= current.clientWidth) return;
    const [one, all] = [chosen.getBoundingClientRect(), current.getBoundingClientRect()];
    // On a phone there may be no room for all of them.
    current.scrollLeft += one.left - all.left - (all.width - one.width) / 2;
  }, [value]);
  return html`
    <div class="segments" role="group" aria-label=${label} ref=${place}>
      ${options.map((option) =>
        html`
          <button
            type="button"
            aria-pressed=${String(option.value === value)}
            aria-label=${option.label}
            title=${option.label}
            onClick=${() => onChoose(option.value)}
            key=${option.value}
          >${option.title}</button>
        `
      )}
    </div>
  `;
}
