// @ts-check
/// <reference lib="dom" />
/** The way to all pages: a sidebar, and on a phone a bar that opens it as a drawer. */
import { html, signal, useLayoutEffect, useRef } from "../ui.js";
import { Icon, IconButton, Segments } from "../design/parts.js";
import { keep, setTheme, theme } from "./choices.js";
import { openPalette } from "./palette.js";
import { GROUPS, PAGES, placeInSidebar } from "./pages.js";

/** The page that is open, and the rest of its address. */
export const current = signal({ name: "live", query: "" });
/** Whether nobody had set up the gateway when the console was opened. */
export const isFresh = signal(false);
/** Whether this browser has a session that can be ended. */
export const hasSession = signal(false);

const isDrawerOpen = signal(false);
const root = document.documentElement;
const isSmall = signal(root.dataset.sidebar === "small");

const THEMES = [
  { value: "light", title: html`<${Icon} name="sun" size=${14} />`, label: "Light" },
  { value: "dark", title: html`<${Icon} name="moon" size=${14} />`, label: "Dark" },
  { value: "system", title: html`<${Icon} name="monitor" size=${14} />`, label: "As the system" },
];

function turnSidebar() {
  isSmall.value = !isSmall.value;
  const value = isSmall.value ? "small" : "wide";
  root.dataset.sidebar = value;
  keep("sidebar", value);
}

function Brand({ children = undefined }) {
  return html`
    <div class="brand">
      <svg class="mark" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round">
        <path d="M5 21 9.5 3M19 21 14.5 3M12 4v3M12 11v3M12 18v3" />
      </svg>
      <span class="word">Laneway</span>${children}
    </div>
  `;
}

/** @param {{ name: string }} props */
function PageLink({ name }) {
  const { title, icon } = PAGES[name] ?? { title: name, icon: "" };
  const isHere = placeInSidebar(current.value, isFresh.value) === name;
  // A step of the guide belongs to a page, and is not that page.
  const is = current.value.name === name ? "page" : "true";
  return html`
    <li>
      <a href=${`#${name}`} title=${title} aria-current=${isHere ? is : undefined} onClick=${() =>
        isDrawerOpen.value = false}>
        <${Icon} name=${icon} /><span class="word">${title}</span>
      </a>
    </li>
  `;
}

/** @param {{ head: unknown, onLogOut(): void }} props */
function Navigation({ head, onLogOut }) {
  return html`
    <nav class="frame" aria-label="Pages">
      ${head}
      <button type="button" class="find" aria-keyshortcuts="Control+K /" onClick=${() => (isDrawerOpen.value = false,
        openPalette())}>
        <${Icon} name="search" /><span class="word">Search</span><kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      ${isFresh.value && html`
        <ul class="group first">
          <${PageLink} name="setup" />
        </ul>
      `}
      ${GROUPS.map((group) =>
        html`
          <div class="group-title" id=${`group-${group}`} key=${group}>${group}</div>
          <ul class="group" aria-label=${group}>
            ${Object.entries(PAGES).filter(([, page]) => page.group === group).map(([name]) =>
              html`<${PageLink} name=${name} key=${name} />`
            )}
          </ul>
        `
      )}
      <div class="foot">
        ${hasSession.value && html`
          <button type="button" class="button ghost plain" title="Log out" onClick=${onLogOut}>
            <${Icon} name="log-out" /><span class="word">Log out</span>
          </button>
        `}
        <${Segments} label="Colors" options=${THEMES} value=${theme.value} onChoose=${setTheme} />
      </div>
    </nav>
  `;
}

/** @param {{ onLogOut(): void }} props */
export function Sidebar({ onLogOut }) {
  const label = isSmall.value ? "Widen the sidebar" : "Narrow the sidebar";
  const head = html`
    <${Brand}>
      <${IconButton} icon="panel-left" label=${label} onClick=${turnSidebar} />
      <//>
  `;
  return html`<${Navigation} head=${head} onLogOut=${onLogOut} />`;
}

/** The bar of a phone. */
export function Topbar() {
  return html`
    <${IconButton} icon="menu" label="Open the menu" onClick=${() => isDrawerOpen.value = true} />
    <${Brand} />
    <${IconButton} icon="search" label="Search" onClick=${openPalette} />
  `;
}

/** @param {{ onLogOut(): void }} props */
export function Drawer({ onLogOut }) {
  return isDrawerOpen.value && html`<${OpenDrawer} onLogOut=${onLogOut} />`;
}

/** @param {{ onLogOut(): void }} props */
function OpenDrawer({ onLogOut }) {
  const place = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => place.current?.showModal(), []);
  const close = () => isDrawerOpen.value = false;
  const outside = (/** @type {MouseEvent} */ { target }) => target === place.current && close();
  const head = html`
    <${Brand}>
      <${IconButton} icon="x" label="Close the menu" onClick=${close} />
      <//>
  `;
  return html`
    <dialog class="drawer" ref=${place} aria-label="Menu" onClose=${close} onClick=${outside}>
      <${Navigation} head=${head} onLogOut=${onLogOut} />
    </dialog>
  `;
}
