// @ts-check
/// <reference lib="dom" />
/** The things that lie over a page: dialogs, menus and short messages. */
import { html, signal, useId, useLayoutEffect, useRef, useState } from "../ui.js";
import { Icon, IconButton } from "./parts.js";

/** @typedef {import("../ui.js").Children} Children */

/**
 * A dialog while it is in the tree. The browser keeps the focus in it, and gives it back.
 * @param {{ title: string, onClose(): void, kind?: string, stays?: boolean, children?: Children, actions?: Children }} props
 *
 * `stays`: a click beside it does not close it, because what was entered would be lost.
 */
export function Dialog({ title, onClose, kind = "", stays, children, actions }) {
  const id = useId();
  const place = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const isOver = useRef(false);
  useLayoutEffect(() => {
    const dialog = place.current;
    if (!dialog?.open) dialog?.showModal();
    return () => {
      // Its event comes when another dialog may be open already.
      isOver.current = true;
      dialog?.close();
    };
  }, []);
  const closed = () => isOver.current || onClose();
  const outside = (/** @type {MouseEvent} */ event) => !stays && event.target === place.current && onClose();
  return html`
    <dialog ref=${place} class=${`framed ${kind}`} aria-labelledby=${id} onClose=${closed} onMouseDown=${outside}>
      <div class="dialog-body">
        <header><h2 id=${id}>${title}</h2><${IconButton} icon="x" label="Close" onClick=${onClose} /></header>
        ${children}
        ${actions && html`<footer class="actions">${actions}</footer>`}
      </div>
    </dialog>
  `;
}

/** How far a menu stays away from the window's edge, in pixels. */
const EDGE = 8;

/** @typedef {readonly { title: string, icon?: string, danger?: boolean, run(): void }[]} Items */

/**
 * A button that opens a list of things to do. The arrow keys move in it, and Escape closes it.
 * @param {{ label: string, icon?: string, items: Items | (() => Items), children?: Children }} props
 *
 * `items` is asked for when the menu opens, if it is a function.
 */
export function Menu({ label, icon = "ellipsis", items, children }) {
  const id = useId();
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [isOpen, setOpen] = useState(false);
  useLayoutEffect(() => {
    const list = place.current;
    if (!isOpen || !list) return;
    keepInside(list);
    list.querySelector("button")?.focus();
    const outside = (/** @type {Event} */ { target }) => {
      if (!list.parentElement?.contains(/** @type {Node} */ (target))) setOpen(false);
    };
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    document.getElementById(id)?.focus();
  };
  const move = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") return close();
    if (event.key === "Tab") return setOpen(false);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...place.current?.querySelectorAll("button") ?? []];
    const at = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    buttons[(at + step + buttons.length) % buttons.length]?.focus();
  };
  return html`
    <div class="menu-place">
      <button
        type="button"
        id=${id}
        class=${children ? "button plain" : "icon-button"}
        aria-label=${children ? undefined : label}
        title=${children ? undefined : label}
        aria-haspopup="menu"
        aria-expanded=${String(isOpen)}
        onClick=${() => setOpen(!isOpen)}
      ><${Icon} name=${icon} />${children}</button>
      ${isOpen && html`
        <div class="menu" role="menu" aria-label=${label} ref=${place} onKeyDown=${move}>
          ${(typeof items === "function" ? items() : items).map((item) =>
            html`
              <button
                type="button"
                role="menuitem"
                class=${item.danger ? "danger" : ""}
                key=${item.title}
                onClick=${() => (close(), item.run())}
              >${item.icon && html`<${Icon} name=${item.icon} />`}${item.title}</button>
            `
          )}
        </div>
      `}
    </div>
  `;
}

/** Moves a menu that would leave the window. @param {HTMLElement} list */
export function keepInside(list) {
  const { left, right } = list.getBoundingClientRect();
  const room = document.documentElement.clientWidth - EDGE;
  if (left < EDGE) list.style.translate = `${EDGE - left}px`;
  else if (right > room) list.style.translate = `${room - right}px`;
}

/** @typedef {{ id: number, text: string, tone: "good" | "bad" | "info" }} Toast */

const TOAST_MS = 6_000;
/** @type {import("@preact/signals").Signal<readonly Toast[]>} */
const toasts = signal(/** @type {readonly Toast[]} */ ([]));
let latest = 0;

/**
 * Says in passing what has happened. A failure stays until it is closed.
 * @param {string} text
 * @param {Toast["tone"]} [tone]
 */
export function toast(text, tone = "good") {
  const id = ++latest;
  toasts.value = [...toasts.value.slice(-3), { id, text, tone }];
  if (tone !== "bad") setTimeout(() => forget(id), TOAST_MS);
}

/** @param {number} id */
function forget(id) {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

const SIGNS = { good: "circle-check", bad: "circle-alert", info: "info" };

/** The place of the short messages, which readers of screens hear as they come. */
export function Toasts() {
  return html`
    <div class="toasts" aria-live="polite" role="log" aria-label="Messages">
      ${toasts.value.map(({ id, text, tone }) =>
        html`
          <div class="toast" data-tone=${tone} key=${id}>
            <${Icon} name=${SIGNS[tone]} /><span>${text}</span>
            <${IconButton} icon="x" label="Dismiss" onClick=${() => forget(id)} />
          </div>
        `
      )}
    </div>
  `;
}
