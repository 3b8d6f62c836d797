// @ts-check
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** Elements, and what the console asks the gateway. All text from elsewhere becomes text, never markup. */

/**
 * An element. What of the attributes is a function is a listener.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | number | undefined)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, /** @type {EventListener} */ (value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(
    ...children.filter((child) => child !== undefined).map((child) =>
      typeof child === "number" ? String(child) : child
    ),
  );
  return element;
}

/** The part of the address after the page: a filter, or an id. */
export function queryInAddress() {
  try {
    return decodeURIComponent(location.hash.split("?")[1] ?? "");
  } catch {
    return ""; // somebody wrote it by hand
  }
}

/** How long the gateway may take to tell something, in milliseconds. */
const PATIENCE_MS = 10_000;

/** The browser has no session, so its user has to log in. */
export class LoginNeeded extends Error {}

/** The gateway does not have what was asked for: it is turned off, or gone. */
export class NotThere extends Error {}

/** The gateway did not answer, so asking again may help. */
export class Away extends Error {
  constructor() {
    super("The gateway is not responding");
  }
}

/**
 * `fetch`, whose failure is an error with a sentence for people.
 * @param {string} path
 * @param {RequestInit} init
 */
export function send(path, init) {
  return fetch(path, init).catch(() => {
    throw new Away();
  });
}

/**
 * The gateway's answer to a path below `api/`. Throws `LoginNeeded`, or an error with a sentence for people.
 * @param {string} path
 * @param {RequestInit} [more]
 * @returns {Promise<any>}
 */
export async function ask(path, more = {}) {
  // A page asks again and again: an answer that never comes must not be the last.
  const signal = more.method === undefined ? AbortSignal.timeout(PATIENCE_MS) : undefined;
  const response = await send(`api/${path}`, { headers: { accept: "application/json" }, signal, ...more });
  if (response.status === 401 || response.status === 403) throw new LoginNeeded(await messageIn(response));
  if (response.status === 404) throw new NotThere(await messageIn(response));
  if (!response.ok) throw new Error(await messageIn(response));
  return await response.json();
}

/**
 * Has the gateway do something. Throws as `ask` does.
 * @param {string} path
 * @param {unknown} body
 */
export function order(path, body) {
  return ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

/** How long the gateway may take to say that it is there, in milliseconds. */
const SIGN_MS = 4_000;

export function isThere() {
  return fetch("ways", { signal: AbortSignal.timeout(SIGN_MS) }).then(({ ok }) => ok, () => false);
}

/** Whether the gateway was away when a module was to be loaded. */
let wasAway = false;

/**
 * Loads a module. A browser may remember that a file could not be loaded. Then everything is loaded anew.
 * @template Module
 * @param {() => Promise<Module>} load
 */
export async function loading(load) {
  try {
    const module = await load();
    wasAway = false;
    return module;
  } catch {
    const isHere = await isThere();
    if (isHere && wasAway) location.reload();
    wasAway = !isHere;
    throw new Away();
  }
}

/**
 * @param {Response} response
 * @returns {Promise<string>}
 */
export async function messageIn(response) {
  try {
    const { error } = await response.json();
    return String(error.message);
  } catch {
    return `The gateway answered ${response.status}`;
  }
}

/** @param {number | undefined} ms */
export function duration(ms) {
  if (ms === undefined) return "";
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** @param {number} value */
export function count(value) {
  return value.toLocaleString("en");
}
