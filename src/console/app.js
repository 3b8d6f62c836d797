// @ts-check
/// <reference lib="dom" />
/** The console's frame: its pages, and who may see them. The page is in the address behind `#`. */
import { ask, h, LoginNeeded, messageIn, send } from "./dom.js";

/**
 * @typedef {{ open(main: HTMLElement): { refresh(): Promise<void>, everyMs: number } }} Page
 * @typedef {{ title: string, load(): Promise<Page> }} Entry
 */

/** @type {Entry} */
const LIVE = { title: "Live", load: async () => (await import("./live.js")).live };

/**
 * Each page is loaded when it is opened.
 * @type {Record<string, Entry>}
 */
const PAGES = {
  live: LIVE,
  inspect: { title: "Inspect", load: async () => (await import("./inspect.js")).inspect },
  upstreams: { title: "Upstreams", load: async () => (await import("./upstreams.js")).upstreams },
  usage: { title: "Usage", load: async () => (await import("./usage.js")).usage },
  keys: { title: "Keys", load: async () => (await import("./keys.js")).keys },
  configuration: { title: "Configuration", load: async () => (await import("./configuration.js")).configuration },
  playground: { title: "Playground", load: async () => (await import("./playground.js")).playground },
  fidelity: { title: "Fidelity", load: async () => (await import("./fidelity.js")).fidelity },
  setup: { title: "Set up", load: async () => (await import("./setup.js")).setup },
};

/** How soon a page that could not be loaded is tried again, in milliseconds. */
const AGAIN_MS = 1_000;
const AWAY =
  "This page could not get what it shows. It tries again by itself, and goes on as soon as the gateway answers. If the gateway has ended, start it again in its terminal.";

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const nav = /** @type {HTMLElement} */ (document.getElementById("pages"));
const state = /** @type {HTMLElement} */ (document.getElementById("state"));
const logout = /** @type {HTMLButtonElement} */ (document.getElementById("logout"));

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** Raised with each page that is opened: what an earlier one still waits for is not shown. */
let turn = 0;
/** Why nobody was logged out: it stays until that is tried again. */
let failure = "";
/** Whether the gateway has been asked if there is a session to end, since that may last have changed. */
let isSessionKnown = false;

function open() {
  const name = location.hash.slice(1).split("?")[0] ?? "";
  const page = Object.hasOwn(PAGES, name) ? PAGES[name] ?? LIVE : LIVE;
  const mine = ++turn;
  clearTimeout(timer);
  nav.replaceChildren(
    ...Object.entries(PAGES).map(([key, { title }]) =>
      h("a", { href: `#${key}`, "aria-current": PAGES[key] === page ? "page" : undefined }, title)
    ),
  );
  document.title = `${page.title} · Laneway`;
  // A user who followed a link by keyboard goes on in the page that it opened.
  const isInside = main.contains(document.activeElement);
  main.replaceChildren();
  if (isInside) main.focus();
  /** @type {ReturnType<Page["open"]> | undefined} */
  let opened;
  let hasBegun = false;
  const waiting = h("p", { class: "notice" }, AWAY);
  const again = async () => {
    try {
      if (!opened) {
        const loaded = await loading(page);
        if (mine !== turn) return;
        opened = loaded.open(main);
      }
      await opened.refresh();
      if (mine !== turn) return;
      hasBegun = true;
      waiting.remove();
      say(failure);
      if (!isSessionKnown) await askWays();
      if (mine !== turn) return;
    } catch (error) {
      if (mine !== turn) return;
      if (error instanceof LoginNeeded) return askForKey(error.message);
      say(/** @type {Error} */ (error).message);
      // A page that could not be drawn yet would be empty, or nothing but a heading.
      if (!hasBegun) main.append(waiting);
    }
    if (mine === turn) timer = setTimeout(again, opened?.everyMs ?? AGAIN_MS);
  };
  again();
}

/** Whether the gateway was away when a page was to be loaded. */
let wasAway = false;

/**
 * A browser may remember that a file could not be loaded. Then everything is loaded anew.
 * @param {Entry} page
 */
async function loading(page) {
  try {
    return await page.load();
  } catch {
    const isHere = await fetch("ways").then(({ ok }) => ok, () => false);
    if (isHere && wasAway) location.reload();
    wasAway = !isHere;
    throw new Error("The gateway is not responding");
  }
}

/** @param {string} text */
function say(text) {
  if (state.textContent !== text) state.textContent = text;
}

/** @param {string} reason */
function askForKey(reason) {
  say(failure = "");
  const input = h("input", { type: "password", name: "key", autocomplete: "current-password", required: true });
  // How programs send a key is nothing for a form.
  const first = reason.startsWith("No API key")
    ? [
      "These pages are for operators of this gateway. The command ",
      h("code", {}, "deno task start keys create <name> --operator"),
      " in the gateway's folder creates a key for them.",
    ]
    : [reason];
  const about = h("p", { class: "quiet" }, ...logout.hidden ? first : ["Your session has ended."]);
  const problem = h("p", { class: "error", role: "alert" });
  const readable = "This connection is not encrypted: others on the network can read your key. Use HTTPS.";
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await post("login", input.value);
      isSessionKnown = false;
      open();
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message;
    }
  };
  main.replaceChildren(
    h(
      "form",
      { class: "login", submit },
      h("h1", {}, "Log in"),
      about,
      isSecureContext ? undefined : h("p", { class: "error" }, readable),
      h("input", { type: "text", autocomplete: "username", value: "operator", hidden: true }),
      h("label", {}, "Operator key ", input),
      h("button", { type: "submit" }, "Log in"),
      problem,
    ),
  );
  input.focus();
  void askWays().then(({ oidc, session }) => {
    if (session) about.textContent = reason;
    if (oidc) main.querySelector("form.login")?.append(h("a", { href: "oidc" }, "Log in with your identity provider"));
  });
}

/**
 * Throws an error with a sentence for people.
 * @param {"login" | "logout"} path
 * @param {string} [key]
 */
async function post(path, key) {
  const response = await send(path, { method: "POST", body: key });
  if (!response.ok) throw new Error(await messageIn(response));
  return response;
}

/**
 * Whether operators may log in at a provider, too, and whether this browser has a session: every tab then offers to end it.
 * @returns {Promise<{ oidc?: boolean, session?: boolean }>}
 */
async function askWays() {
  const asked = fetch("ways").then((response) => response.ok ? response.json() : undefined);
  const ways = await asked.catch(() => undefined);
  if (!ways) return {};
  isSessionKnown = true;
  logout.hidden = !ways.session;
  return ways;
}

logout.addEventListener("click", async () => {
  try {
    const response = await post("logout");
    // An operator who logged in at a provider ends the session there as well.
    if (response.status === 200) return location.assign((await response.json()).next);
    failure = "";
    logout.hidden = true;
    isSessionKnown = false;
    open();
  } catch (error) {
    say(failure = /** @type {Error} */ (error).message);
  }
});
addEventListener("hashchange", open);
// Somebody may have logged in with another tab meanwhile.
addEventListener("focus", async () => {
  if (main.querySelector("form.login") && (await askWays()).session) open();
});
/** Opens the guide first if nobody has set up the gateway. */
async function begin() {
  const isFresh = location.hash === "" && await ask("setup").then((now) => now.isFresh, () => false);
  if (isFresh && location.hash === "") history.replaceState(null, "", "#setup");
  open();
}
begin();
