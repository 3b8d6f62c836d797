// @ts-check
/// <reference lib="dom" />
/** The search over everything: pages, requests, sessions, models, keys, upstreams and settings. */
import { html, signal, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../ui.js";
import { ask } from "../dom.js";
import { latestFirst } from "../entries.js";
import { Icon } from "../design/parts.js";
import { ago, settingInWords } from "../words.js";
import { setTheme } from "./choices.js";
import { PAGES } from "./pages.js";

/** @typedef {{ title: string, kind: string, icon: string, href?: string, run?(): void, about?: string }} Found */

/** How many of each kind are listed. */
const MOST_FOUND = 6;
/** The kinds of things, in the order in which they are listed. */
const KINDS = ["Page", "Action", "Model", "Upstream", "Key", "Setting", "Session", "Request"];
/** The kinds that are listed before anything is written. */
const KINDS_AT_FIRST = new Set(["Page", "Action"]);

/** How many rows a page of the list is. */
const PAGE = 6;

const isOpen = signal(false);

export function openPalette() {
  isOpen.value = true;
}

/** @type {readonly Found[]} */
const OWN = [
  ...Object.entries(PAGES).filter(([, { group }]) => group !== undefined).map(([name, { title, icon }]) => ({
    title,
    kind: "Page",
    icon,
    href: `#${name}`,
  })),
  { title: "Add upstream", kind: "Action", icon: "plus", href: "#setup?upstream" },
  { title: "Add model", kind: "Action", icon: "plus", href: "#setup?models" },
  { title: "Connect a client", kind: "Action", icon: "plug", href: "#setup?client" },
  { title: "Light colors", kind: "Action", icon: "sun", run: () => setTheme("light") },
  { title: "Dark colors", kind: "Action", icon: "moon", run: () => setTheme("dark") },
  { title: "Colors as the system", kind: "Action", icon: "monitor", run: () => setTheme("system") },
];

/** Where the names of things come from. What cannot be read is not found. @type {readonly (() => Promise<Found[]>)[]} */
const SOURCES = [
  async () => {
    const { data } = await ask("models");
    return data.map((/** @type {{ lane: string, id: string }} */ { lane, id }) => ({
      title: `${lane}/${id}`,
      kind: "Model",
      icon: "boxes",
      href: `#live?${encodeURIComponent(`model:${id}`)}`,
    }));
  },
  async () => {
    const { upstreams } = await ask("status");
    return upstreams.map((/** @type {{ name: string }} */ { name }) => ({
      title: name,
      kind: "Upstream",
      icon: "server",
      href: "#upstreams",
    }));
  },
  async () => {
    const { keys } = await ask("keys");
    return keys.map((/** @type {{ name: string }} */ { name }) => ({
      title: name,
      kind: "Key",
      icon: "key-round",
      href: `#live?${encodeURIComponent(`key:${name}`)}`,
    }));
  },
  async () => {
    const { settings } = await ask("configuration/settings");
    return settings.map((/** @type {{ path: string, description?: string }} */ { path, description }) => ({
      title: settingInWords(path.split(".")),
      kind: "Setting",
      icon: "settings-2",
      href: `#configuration?${encodeURIComponent(path)}`,
      about: description,
    }));
  },
  async () => {
    const { data } = await ask("sessions");
    return data.map((/** @type {import("../sessions.js").Session} */ { id, name, client, key, models, ended }) => ({
      title: [name ?? "Session", client, key, models[0]].filter(Boolean).join(" "),
      kind: "Session",
      icon: "messages-square",
      href: `#sessions?${encodeURIComponent(id)}`,
      about: ago(ended),
    }));
  },
  async () => {
    const { ended, isRecorded } = await ask("live?feed=&since=0");
    return latestFirst(ended).map((/** @type {import("../entries.js").Entry} */ { id, time, model, key, status }) => ({
      title: [new Date(time).toLocaleTimeString("en-GB"), model, key, status, id].filter(Boolean).join(" "),
      kind: "Request",
      icon: "activity",
      href: isRecorded ? `#inspect?${encodeURIComponent(id)}` : `#live?${encodeURIComponent(id)}`,
    }));
  },
];

/**
 * @param {readonly Found[]} all
 * @param {string} text
 */
function matching(all, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return all.filter(({ kind }) => KINDS_AT_FIRST.has(kind));
  const hasAll = (/** @type {string} */ text) => words.every((word) => text.toLowerCase().includes(word));
  // A name says more than its description.
  const named = all.filter(({ title, kind }) => hasAll(`${title} ${kind}`));
  const described = all.filter((one) => !named.includes(one) && hasAll(`${one.title} ${one.kind} ${one.about ?? ""}`));
  const found = [
    ...named.toSorted(({ title: one }, { title: other }) => closeness(one, words) - closeness(other, words)),
    ...described,
  ];
  return KINDS.flatMap((kind) => found.filter((one) => one.kind === kind).slice(0, MOST_FOUND));
}

/** How far a title is from what was written: the last part of a setting's name counts most. @param {string} title @param {readonly string[]} words */
function closeness(title, words) {
  const last = title.split(".").at(-1)?.toLowerCase() ?? "";
  const text = words.join(" ");
  return last === text ? 0 : last.startsWith(text) ? 1 : last.includes(text) ? 2 : 3;
}

export function Palette() {
  useEffect(() => {
    const press = (/** @type {KeyboardEvent} */ event) => {
      const { key, ctrlKey, metaKey, altKey, target } = event;
      const isWriting = target instanceof Element && target.closest("input, textarea, select, dialog");
      const isWanted = key.toLowerCase() === "k" && (ctrlKey || metaKey) ||
        key === "/" && !isWriting && !ctrlKey && !metaKey && !altKey;
      if (!isWanted || document.documentElement.hasAttribute("data-login")) return;
      event.preventDefault();
      isOpen.value = true;
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return isOpen.value && html`<${OpenPalette} />`;
}

function OpenPalette() {
  const place = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [more, setMore] = useState(/** @type {readonly Found[]} */ ([]));
  useLayoutEffect(() => place.current?.showModal(), []);
  useEffect(() => {
    let isGone = false;
    for (const source of SOURCES) {
      source().then((found) => !isGone && setMore((known) => [...known, ...found]), () => {});
    }
    return () => void (isGone = true);
  }, []);
  const found = useMemo(() => matching([...OWN, ...more], text), [more, text]);
  const close = () => isOpen.value = false;
  const choose = (/** @type {Found | undefined} */ one) => {
    if (!one) return;
    close();
    if (one.href !== undefined) location.hash = one.href;
    one.run?.();
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter") return choose(found[at]);
    if (found.length === 0) return;
    const last = found.length - 1;
    const next = {
      ArrowDown: at === last ? 0 : at + 1,
      ArrowUp: at === 0 ? last : at - 1,
      PageDown: Math.min(last, at + PAGE),
      PageUp: Math.max(0, at - PAGE),
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setAt(next);
    document.getElementById(`found-${next}`)?.scrollIntoView({ block: "nearest" });
  };
  const outside = (/** @type {MouseEvent} */ { target }) => target === place.current && close();
  return html`
    <dialog class="palette" ref=${place} aria-label="Search" onClose=${close} onMouseDown=${outside}>
      <div class="search">
        <${Icon} name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Search pages, requests, sessions, models, keys, upstreams and settings"
          aria-expanded=${String(found.length > 0)}
          aria-autocomplete="list"
          aria-controls="found"
          aria-activedescendant=${found.length > 0 ? `found-${at}` : undefined}
          autocomplete="off"
          placeholder="Pages, requests, models, keys, settings …"
          autofocus
          value=${text}
          onInput=${(/** @type {any} */ { currentTarget }) => (setText(currentTarget.value), setAt(0))}
          onKeyDown=${press}
        />
      </div>
      <ul id="found" role="listbox" aria-label="Found">
        ${found.map((one, index) =>
          html`
            <li
              role="option"
              id=${`found-${index}`}
              key=${`${one.kind} ${one.href ?? one.title}`}
              aria-selected=${String(index === at)}
              onPointerMove=${() => index !== at && setAt(index)}
              onClick=${() => choose(one)}
            ><${Icon} name=${one.icon} /><span>${one.title}${one.about && html`
              <small class="quiet">${` ${one.about}`}</small>
            `}</span><span class="quiet">${one.kind}</span></li>
          `
        )}
      </ul>
      ${found.length === 0 && html`<p class="empty">Nothing has that name.</p>`}
      <p class="visually-hidden" role="status">${text && `${found.length} found`}</p>
    </dialog>
  `;
}
