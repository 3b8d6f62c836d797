// @ts-check
/// <reference lib="dom" />
/** The step that connects clients: those on this machine, and those on others. */
import { h, LoginNeeded } from "./dom.js";
import { fileView } from "./file_view.js";
import { otherClients } from "./other_clients.js";
import { act, connecting, reached, workingModels } from "./setup_api.js";
import { withCode } from "./setup_code.js";

/**
 * @typedef {import("./setup_api.js").Setup} Setup
 * @typedef {import("./setup_api.js").Found["clients"][number]} Client
 * @typedef {{ client: string, ok: boolean, reason?: string, keyCure?: string, changed?: string[], undo?: string }} Result
 */

/**
 * @param {HTMLElement} place
 * @param {Setup} setup
 * @param {() => void} onDone
 */
export function clientStep(place, setup, onDone) {
  const found = h("div");
  const working = workingModels(setup);
  const model = h(
    "select",
    {},
    ...working.map(({ lane, name }) => h("option", { value: `${lane}/${name}` }, `${lane}/${name}`)),
  );
  const key = h("input", { type: "password", autocomplete: "off", size: 40 });
  const target = () => {
    const [lane, ...rest] = model.value.split("/");
    return { lane, model: rest.join("/"), ...key.value.trim() !== "" && { key: key.value.trim() } };
  };
  const others = otherClients(setup, target);
  const onConnected = () => {
    reached.add("client");
    onDone();
  };
  const none = h(
    "p",
    { class: "notice" },
    "No model works yet, so a client would have nobody to talk to. ",
    h("a", { href: "#setup?upstream" }, "Add an upstream first"),
    ".",
  );
  const next = h("a", { class: "button primary", href: "#setup?first" }, "Send your first request");
  place.append(
    working.length > 0 ? h("label", { class: "field" }, "Model that the client starts with", model) : none,
    setup.canAct && setup.needsKey && working.length > 0
      ? h(
        "form",
        { submit: (/** @type {Event} */ event) => enter(event, found) },
        h("label", { class: "field" }, "Key for the client", key),
        h(
          "p",
          { class: "quiet" },
          "This gateway requires keys. ",
          h("a", { href: "#keys" }, "Create one"),
          " if you have none.",
        ),
      )
      : "",
    found,
    others.element,
    h("div", { class: "bar next" }, next),
  );
  model.addEventListener("change", others.draw);
  if (setup.canAct) void look(found, target, { offer: others.offer, onConnected });
  return {};
}

/**
 * The key that was entered is for the only client, or for the one that is chosen next.
 * @param {Event} event
 * @param {HTMLElement} found
 */
function enter(event, found) {
  event.preventDefault();
  const [first, ...more] = /** @type {NodeListOf<HTMLButtonElement>} */ (
    found.querySelectorAll('button[aria-label^="Connect"]')
  );
  if (more.length === 0) first?.click();
  else first?.focus();
}

/**
 * @param {HTMLElement} found
 * @param {() => { lane: string | undefined, model: string, key?: string }} target
 * @param {{ offer(clients: readonly Client[], isOnlyWay: boolean): void, onConnected(): void }} hooks
 */
async function look(found, target, hooks) {
  found.replaceChildren(h("p", { class: "busy", role: "status" }, "Looking for clients on this machine …"));
  try {
    const { clients } = await withCode(found, () => act("find", {}));
    const own = clients.filter((/** @type {Client} */ { isInstalled, isConnected, isByHand }) =>
      (isInstalled || isConnected) && !isByHand
    );
    hooks.offer(clients, own.length === 0);
    found.replaceChildren(
      h("h2", {}, "Found on this machine"),
      own.length > 0
        ? h(
          "ul",
          { class: "cards" },
          ...own.map((/** @type {Client} */ client) => cardOf(client, target, hooks.onConnected)),
        )
        : h(
          "p",
          {},
          "No client that Laneway knows is installed here. Install one and look again, or copy the settings below. ",
          h("button", { type: "button", click: () => look(found, target, hooks) }, "Look again"),
        ),
    );
  } catch (error) {
    if (error instanceof LoginNeeded) dispatchEvent(new HashChangeEvent("hashchange"));
    found.replaceChildren(
      h("p", { class: "error", role: "alert" }, /** @type {Error} */ (error).message),
      h("button", { type: "button", click: () => look(found, target, hooks) }, "Look again"),
    );
  }
}

/**
 * @param {Client} client
 * @param {() => { lane: string | undefined, model: string, key?: string }} target
 * @param {() => void} onConnected
 */
function cardOf({ id, title, isConnected }, target, onConnected) {
  const state = h("span", { class: "badge" });
  const shown = h("div");
  const steps = h("ol", { class: "progress" });
  const report = h("div", { role: "status" }, steps);
  const busy = h("p", { class: "busy" }, "Working …");
  const problem = h("div", { role: "alert" });
  /** @type {HTMLButtonElement[]} */
  const buttons = [];
  /** @param {boolean} now */
  const draw = (now) => {
    state.textContent = now ? "connected" : "installed";
    state.dataset.tone = now ? "good" : "plain";
    undo.hidden = !now;
    connect.textContent = now ? "Connect again" : "Connect";
    connect.className = now ? "button" : "button primary";
    connect.setAttribute("aria-label", `${connect.textContent}: ${title}`);
  };
  /** @param {{ undo?: boolean, print?: boolean }} how */
  const run = async (how) => {
    steps.replaceChildren();
    problem.replaceChildren();
    shown.replaceChildren();
    for (const button of buttons) button.disabled = true;
    report.append(busy);
    try {
      const result = await withCode(
        shown,
        () => following({ client: id, ...how.undo ? {} : target(), ...how }, steps, shown),
      );
      if (result?.ok) {
        if (!how.print) draw(!how.undo);
        if (!how.print && !how.undo) onConnected();
        steps.append(...how.print ? [] : [h("li", { class: "done" }, doneWords(title, how.undo === true, result))]);
      } else {
        // The reason repeats the steps.
        if (result?.reason !== undefined) steps.replaceChildren();
        problem.replaceChildren(...failureOf(title, result));
      }
    } catch (error) {
      if (error instanceof LoginNeeded) dispatchEvent(new HashChangeEvent("hashchange"));
      problem.replaceChildren(h("p", { class: "error" }, /** @type {Error} */ (error).message));
    }
    busy.remove();
    for (const button of buttons) button.disabled = false;
  };
  /** @type {(words: string, how: { undo?: boolean, print?: boolean }, isMain?: boolean) => HTMLButtonElement} */
  const button = (words, how, isMain) => {
    const label = `${words}: ${title}`;
    const one = h(
      "button",
      { type: "button", "aria-label": label, class: isMain ? "button primary" : undefined },
      words,
    );
    one.addEventListener("click", () => run(how));
    buttons.push(one);
    return one;
  };
  const show = button("Show the change", { print: true });
  const connect = button("Connect", {}, true);
  const undo = button("Undo", { undo: true });
  draw(isConnected);
  return h(
    "li",
    { class: "client" },
    h("b", {}, title),
    state,
    h("span", { class: "bar" }, show, connect, undo),
    shown,
    report,
    problem,
  );
}

/**
 * Shows each step as it comes, and returns the last word.
 * @param {Parameters<typeof connecting>[0]} order
 * @param {HTMLElement} steps
 * @param {HTMLElement} shown
 * @returns {Promise<Result | undefined>}
 */
async function following(order, steps, shown) {
  /** @type {Result | undefined} */
  let result;
  for await (const line of connecting(order)) {
    if (typeof line.step === "string") steps.append(h("li", {}, line.step));
    if (Array.isArray(line.files)) {
      shown.replaceChildren(
        ...line.files.length > 0
          ? line.files.map((/** @type {import("./setup_api.js").PlannedFile} */ file) => fileView(file))
          : [h("p", {}, "It already has these settings.")],
      );
      result ??= { client: order.client, ok: true };
    }
    if (line.result) result = line.result;
  }
  return result;
}

/** @type {(title: string, isUndo: boolean, result: Result) => string} */
function doneWords(title, isUndo, { changed = [] }) {
  const files = changed.length > 0 ? ` Changed: ${changed.join(", ")}.` : "";
  return isUndo ? `${title} is as it was before.${files}` : `${title} works with this gateway.${files}`;
}

/**
 * @param {string} title
 * @param {Result | undefined} result
 */
function failureOf(title, result) {
  const reason = result?.reason ?? "It ended without saying why: look at the terminal where the gateway runs.";
  const cure = result?.keyCure === undefined ? [] : [
    h("p", {}, h("a", { href: "#keys" }, "Create a key"), ", and enter it above as the key for the client."),
  ];
  return [h("div", { class: "failure" }, h("p", {}, h("b", {}, `${title} was not changed. `), reason), ...cure)];
}
