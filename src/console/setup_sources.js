// @ts-check
/// <reference lib="dom" />
/** The step that adds upstreams: a hub's token, a provider's key, a server, or the sandbox. */
import { h, LoginNeeded } from "./dom.js";
import { nameOf } from "./by_hand.js";
import { freeName } from "./model_names.js";
import { act, draft } from "./setup_api.js";
import { withCode } from "./setup_code.js";
import { hubForm, providerForm, sandboxForm, serverForm } from "./source_forms.js";

/**
 * @typedef {import("./setup_api.js").Setup} Setup
 * @typedef {import("./setup_api.js").Source} Source
 * @typedef {import("./setup_api.js").Added} Added
 * @typedef {{ setup: Setup, place: HTMLElement, add(source: Source, title: string): Promise<boolean> }} Adding
 *
 * `add`: tests the source, and keeps it if it answers.
 */

/** @type {Record<string, { title(setup: Setup): string, about: string, form(adding: Adding): HTMLElement }>} */
const KINDS = {
  server: {
    title: () => "A server on this machine",
    about: "A model server that already runs here, or at an address that you know.",
    form: serverForm,
  },
  hub: {
    title: ({ hub }) => `A ${hub?.title ?? "model hub"} token`,
    about: "One token for hundreds of open models.",
    form: hubForm,
  },
  provider: {
    title: () => "A provider's API key",
    about: "A service that you pay for.",
    form: providerForm,
  },
  sandbox: {
    title: () => "Only the sandbox",
    about: "A built-in test model. It needs no key and costs nothing.",
    form: sandboxForm,
  },
};

/**
 * @param {HTMLElement} place
 * @param {Setup} setup
 */
export function sourcesStep(place, setup) {
  const added = h("div");
  const outcome = h("p", { role: "status", class: "good" });
  const problem = h("div", { role: "alert" });
  const form = h("div");
  const next = h("div", { class: "bar next" });
  const draw = () => {
    added.replaceChildren(...addedOf(draw));
    next.replaceChildren(nextOf(setup));
  };
  /** @type {Adding["add"]} */
  const add = async (source, title) => {
    outcome.textContent = "";
    problem.replaceChildren();
    if ("baseUrl" in source && isOwn(source.baseUrl ?? "")) {
      problem.replaceChildren(...failureOf(title, OWN_ADDRESS));
      return false;
    }
    const found = await testingApart(place, setup, source).catch((error) => {
      if (error instanceof LoginNeeded) dispatchEvent(new HashChangeEvent("hashchange"));
      return { ok: /** @type {const} */ (false), reason: error.message, cure: undefined };
    });
    if (!found.ok) {
      problem.replaceChildren(...failureOf(title, found));
      return false;
    }
    const { upstream, models, remark } = found;
    // The answer does not repeat the secret.
    const named = "secret" in source ? { ...found.source, secret: source.secret } : found.source;
    const others = draft.sources.filter((one) => one.upstream !== upstream);
    draft.sources = [...others, { source: named, title, upstream, models, remark }];
    outcome.textContent = setup.canAct ? `${title} answers${inWords(models.length)}.` : `${title} is added.`;
    draw();
    return true;
  };
  const choices = Object.entries(KINDS).map(([kind, { title, about }]) =>
    h(
      "label",
      { class: "choice" },
      h("input", { type: "radio", name: "kind", value: kind, change: () => choose(kind) }),
      h("b", {}, title(setup)),
      h("span", { class: "quiet" }, about),
    )
  );
  /** @param {string} kind */
  const choose = (kind) => {
    outcome.textContent = "";
    problem.replaceChildren();
    form.replaceChildren(KINDS[kind]?.form({ setup, place, add }) ?? "");
  };
  place.append(
    added,
    h("fieldset", { class: "choices" }, h("legend", {}, "Add an upstream"), ...choices),
    form,
    problem,
    outcome,
    next,
  );
  draw();
  // A server that already runs is the shortest way, so the search for it begins at once.
  const [first] = place.querySelectorAll("input");
  if (first && setup.canAct && draft.sources.length === 0) {
    first.checked = true;
    choose(first.value);
  }
  return {};
}

/**
 * Tests a source. One that would take the name of another gets a name of its own; the same one with another secret replaces it.
 * @param {HTMLElement} place
 * @param {Setup} setup
 * @param {Source} source
 */
async function testingApart(place, setup, source) {
  const found = await testing(place, setup, source);
  const isTaken = found.ok &&
    draft.sources.some((one) => one.upstream === found.upstream && addressOf(one.source) !== addressOf(found.source));
  if (!isTaken || !("baseUrl" in source)) return found;
  const name = freeName(found.upstream, draft.sources.map(({ upstream }) => upstream), true);
  return await testing(place, setup, { ...source, name });
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];
const OWN_ADDRESS = {
  reason: "This is the address of this gateway",
  cure: "Enter the address of the server that runs the models",
};

/**
 * Whether the gateway itself has the address, under whichever name of this machine: it would ask itself without end.
 * @param {string} address
 */
function isOwn(address) {
  const url = URL.parse(address);
  if (!url || url.port !== location.port) return false;
  return url.hostname === location.hostname || [url, location].every(({ hostname }) => LOOPBACK.includes(hostname));
}

/** @param {Source} source */
function addressOf(source) {
  return "baseUrl" in source ? source.baseUrl : undefined;
}

/**
 * @param {HTMLElement} place
 * @param {Setup} setup
 * @param {Source} source
 * @returns {Promise<import("./setup_api.js").CheckedSource>}
 */
async function testing(place, { canAct }, source) {
  if (canAct) return await withCode(place, () => act("check", source));
  return { ok: true, upstream: nameOf(source), models: source.kind === "sandbox" ? ["sandbox"] : [], source };
}

/** @param {number} models */
function inWords(models) {
  return models === 0 ? "" : models === 1 ? ": 1 model" : `: ${models} models`;
}

/**
 * @param {string} title
 * @param {{ reason: string, cure?: string }} failure
 */
function failureOf(title, { reason, cure }) {
  return [
    h(
      "div",
      { class: "failure" },
      h("p", {}, h("b", {}, `${title} was not added. `), reason),
      cure === undefined ? undefined : h("p", {}, cure),
    ),
  ];
}

/**
 * The upstreams that were added and are not written yet.
 * @param {() => void} redraw
 */
function addedOf(redraw) {
  if (draft.sources.length === 0) return [];
  return [
    h("h2", {}, "Added"),
    h(
      "ul",
      { class: "cards" },
      ...draft.sources.map((one) => {
        const remove = () => {
          draft.sources = draft.sources.filter((other) => other !== one);
          draft.models = draft.models.filter(({ upstream }) => upstream !== one.upstream);
          redraw();
        };
        const button = h("button", { type: "button", "aria-label": `Remove ${one.title}`, click: remove }, "Remove");
        return h(
          "li",
          {},
          h("b", {}, one.title),
          h("span", { class: "quiet" }, `upstream "${one.upstream}"${inWords(one.models.length)}`),
          one.remark === undefined ? undefined : h("span", { class: "quiet" }, one.remark),
          button,
        );
      }),
    ),
  ];
}

/** @param {Setup} setup */
function nextOf({ models }) {
  if (draft.sources.length > 0) return h("a", { class: "button primary", href: "#setup?models" }, "Choose models");
  const hasModel = models.some(({ works }) => works);
  return hasModel
    ? h("a", { class: "button", href: "#setup?client" }, "Skip: connect a client to the models that work now")
    : h("span", { class: "quiet" }, "Add an upstream to go on.");
}
