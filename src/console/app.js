// @ts-check
/// <reference lib="dom" />
/** The console's frame: its pages, and who may see them. The page is in the address behind `#`. */
import { Toasts } from "./design/overlays.js";
import { ask, h, isThere, loading, LoginNeeded, messageIn, queryInAddress, send } from "./dom.js";
import { pageInAddress, PAGES } from "./frame/pages.js";
import { Palette } from "./frame/palette.js";
import { current, Drawer, hasSession, isFresh, Sidebar, Topbar } from "./frame/sidebar.js";
import { html, render } from "./ui.js";

/** How soon a page that could not be loaded is tried again, in milliseconds. */
const AGAIN_MS = 1_000;
/** How soon a page finds out that the gateway has gone, however seldom it asks. */
const BEAT_MS = 4_000;
const AWAY =
  "This page could not get what it shows. It tries again by itself, and goes on as soon as the gateway answers. If the gateway has ended, start it again in its terminal.";

const main = placeOf("main");
const state = placeOf("state");

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** Raised with each page that is opened: what an earlier one still waits for is not shown. */
let turn = 0;
/** Why nobody was logged out: it stays until that is tried again. */
let failure = "";
/** Whether the gateway has been asked if there is a session to end, since that may last have changed. */
let isSessionKnown = false;

/** @type {import("./frame/pages.js").Opened | undefined} */
let opened;

/** @param {string} id */
function placeOf(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

function close() {
  clearTimeout(timer);
  opened?.close?.();
  opened = undefined;
  main.replaceChildren();
}

function open() {
  const name = pageInAddress();
  const mine = ++turn;
  // A user who followed a link by keyboard goes on in the page that it opened.
  const isInside = main.contains(document.activeElement);
  close();
  if (isInside) main.focus();
  current.value = { name, query: queryInAddress() };
  showFrame(true);
  document.title = `${PAGES[name]?.title} · Laneway`;
  let hasBegun = false;
  const waiting = h("p", { class: "notice" }, AWAY);
  const again = async () => {
    // After a failure it is tried again soon, so that the page goes on as soon as it can.
    let everyMs = AGAIN_MS;
    try {
      if (!opened) {
        const page = await loading(async () => await PAGES[name]?.load());
        if (mine !== turn) return;
        opened = page?.open(main);
      }
      await opened?.refresh();
      if (mine !== turn) return;
      hasBegun = true;
      everyMs = opened?.everyMs ?? AGAIN_MS;
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
    if (mine === turn) wait(everyMs);
  };
  /** Until the page asks again, the frame asks whether the gateway is there. @param {number} ms */
  const wait = (ms, isAway = false) => {
    timer = setTimeout(async () => {
      if (!isAway && ms <= BEAT_MS) return void again();
      const isHere = await isThere();
      if (mine !== turn) return;
      if (!isHere) say("The gateway is not responding");
      if (isHere && isAway) void again();
      else wait(isHere ? ms - BEAT_MS : ms, !isHere);
    }, isAway ? AGAIN_MS : Math.min(ms, BEAT_MS));
  };
  void again();
}

/**
 * The sidebar leads to pages, which are for those who are logged in.
 * @param {boolean} isShown
 */
function showFrame(isShown) {
  document.documentElement.toggleAttribute("data-login", !isShown);
}

/** @param {string} text */
function say(text) {
  if (state.textContent !== text) state.textContent = text;
}

/** @param {string} reason */
function askForKey(reason) {
  say(failure = "");
  close();
  showFrame(hasSession.value);
  const input = h("input", { type: "password", name: "key", autocomplete: "current-password", required: true });
  // How programs send a key is nothing for a form.
  const first = reason.startsWith("No API key")
    ? [
      "These pages are for operators of this gateway. The command ",
      h("code", {}, "deno task -q laneway keys create <name> --operator"),
      " in the gateway's folder creates a key for them.",
    ]
    : [reason];
  const about = h("p", { class: "quiet" }, ...!hasSession.value ? first : ["Your session has ended."]);
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
      h("h1", {}, "Log in to Laneway"),
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
  hasSession.value = ways.session === true;
  if (main.querySelector("form.login")) showFrame(hasSession.value);
  return ways;
}

async function logOut() {
  try {
    const response = await post("logout");
    // An operator who logged in at a provider ends the session there as well.
    if (response.status === 200) return location.assign((await response.json()).next);
    failure = "";
    hasSession.value = false;
    isSessionKnown = false;
    open();
  } catch (error) {
    say(failure = /** @type {Error} */ (error).message);
  }
}

addEventListener("hashchange", open);
// Somebody may have logged in with another tab meanwhile.
addEventListener("focus", async () => {
  if (main.querySelector("form.login") && (await askWays()).session) open();
});
// Until now the page showed its name alone.
placeOf("sidebar").replaceChildren();
render(html`<${Sidebar} onLogOut=${logOut} />`, placeOf("sidebar"));
render(html`<${Topbar} />`, placeOf("topbar"));
render(
  html`
    <${Drawer} onLogOut=${logOut} />
    <${Palette} />
    <${Toasts} />
  `,
  placeOf("overlays"),
);
/** Opens the guide first if nobody has set up the gateway. */
async function begin() {
  const asked = ask("setup").then((now) => isFresh.value = now.isFresh === true, () => false);
  // A page that the address names opens at once.
  if (location.hash !== "") void asked;
  else if (await asked && location.hash === "") history.replaceState(null, "", "#setup");
  open();
}
begin();
