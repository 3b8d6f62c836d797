// @ts-check
/// <reference lib="dom" />
/** The step that chooses models, the names that clients ask for, and the default. */
import { count, h } from "./dom.js";
import { act, draft } from "./setup_api.js";
import { freeName, isForChat, typedName } from "./model_names.js";
import { withCode } from "./setup_code.js";

/**
 * @typedef {import("./setup_api.js").Setup} Setup
 * @typedef {import("./setup_api.js").ChosenModel} ChosenModel
 * @typedef {{ upstream: string, title: string, models: readonly string[], remark?: string }} Offer
 */

/** How many models are listed at once. The search finds the others. */
const MOST_LISTED = 100;

/**
 * @param {HTMLElement} place
 * @param {Setup} setup
 */
export function modelsStep(place, setup) {
  const chosen = h("div");
  const next = h("div", { class: "bar next" });
  // The built-in names make room for the user's own.
  const present = setup.isFresh ? [] : setup.models.filter(({ lane }) => lane === "oss");
  const taken = () => [...present, ...draft.models].map(({ name }) => name);
  /** @param {{ upstream: string, model: string }} target */
  const add = ({ upstream, model }) => {
    if (draft.models.some((one) => one.upstream === upstream && one.model === model)) return;
    const one = { name: freeName(model, taken()), upstream, model };
    draft.models.push(one);
    draft.default ??= one.name;
    draw();
  };
  /** @param {{ upstream: string, model: string }} target */
  const remove = ({ upstream, model }) => {
    draft.models = draft.models.filter((one) => one.upstream !== upstream || one.model !== model);
    if (!draft.models.some(({ name }) => name === draft.default)) draft.default = draft.models[0]?.name;
    draw();
  };
  const lists = h("div");
  const shown = draft.sources.map((source) => listOf(source, add, remove));
  const draw = () => {
    chosen.replaceChildren(...chosenOf(remove));
    next.replaceChildren(...nextOf());
    for (const { redraw } of shown) redraw();
  };
  lists.append(...shown.map(({ element }) => element), ...othersOf(setup, add, remove));
  place.append(chosen, lists, next);
  // A user who only goes on has a model that works.
  for (const { upstream, models } of draft.sources) {
    const first = models.find(isForChat) ?? models[0];
    if (first && !draft.models.some((one) => one.upstream === upstream)) add({ upstream, model: first });
  }
  draw();
  return {};
}

/** @param {(target: { upstream: string, model: string }) => void} remove */
function chosenOf(remove) {
  if (draft.models.length === 0) {
    return [h("p", { class: "quiet" }, "No model is chosen yet: choose one below.")];
  }
  const rows = draft.models.map((one) => {
    const name = h("input", {
      value: one.name,
      required: true,
      spellcheck: "false",
      autocomplete: "off",
      "aria-label": `Name of ${one.model}`,
    });
    name.addEventListener("change", () => {
      const isFirst = draft.default === one.name;
      const others = draft.models.filter((other) => other !== one).map((other) => other.name);
      const typed = typedName(name.value);
      one.name = freeName(typed || one.model, others, typed !== "");
      if (isFirst) draft.default = one.name;
      // The rest of the page stays: it may be just what is being clicked.
      name.value = one.name;
      label();
    });
    const isDefault = h("input", {
      type: "radio",
      name: "default",
      checked: draft.default === one.name,
      change: () => draft.default = one.name,
    });
    const button = h("button", { type: "button", click: () => remove(one) }, "Remove");
    const label = () => {
      isDefault.setAttribute("aria-label", `${one.name} is the default`);
      button.setAttribute("aria-label", `Remove ${one.name}`);
    };
    label();
    return h(
      "tr",
      {},
      h("td", {}, name, h("p", { class: "quiet" }, `${one.model} at ${one.upstream}`)),
      h("td", {}, isDefault),
      h("td", {}, button),
    );
  });
  const heads = ["Name", "Default", "Actions"];
  return [
    h(
      "div",
      { class: "wide" },
      h(
        "table",
        { class: "chosen" },
        h("caption", {}, "Chosen models. The default answers for all other names."),
        h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, ...rows),
      ),
    ),
  ];
}

/**
 * The models of an upstream, with a search where there are many.
 * @param {Offer} offer
 * @param {(target: { upstream: string, model: string }) => void} add
 * @param {(target: { upstream: string, model: string }) => void} remove
 */
function listOf({ upstream, title, models, remark }, add, remove) {
  const search = h("input", { type: "search", placeholder: `Search ${count(models.length)} models` });
  const list = h("div", { class: "options", role: "group", "aria-label": `Models of ${title}` });
  const state = h("p", { class: "quiet", role: "status" });
  const ordered = [...models.filter(isForChat), ...models.filter((model) => !isForChat(model))];
  const redraw = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = ordered.filter((model) => words.every((word) => model.toLowerCase().includes(word)));
    const focused = document.activeElement instanceof HTMLInputElement ? document.activeElement.value : undefined;
    list.replaceChildren(
      ...found.slice(0, MOST_LISTED).map((model) => {
        const box = h("input", {
          type: "checkbox",
          value: model,
          checked: draft.models.some((one) => one.upstream === upstream && one.model === model),
          change: () => box.checked ? add({ upstream, model }) : remove({ upstream, model }),
        });
        return h("label", {}, box, model);
      }),
    );
    for (const box of list.querySelectorAll("input")) if (box.value === focused) box.focus();
    state.textContent = found.length === 0
      ? "No model has that name."
      : found.length > MOST_LISTED
      ? `${count(found.length - MOST_LISTED)} more: search for them.`
      : "";
  };
  search.addEventListener("input", redraw);
  const isLong = models.length > 8;
  const element = h(
    "section",
    { class: "card" },
    h("h2", {}, title),
    remark === undefined ? undefined : h("p", { class: "quiet" }, remark),
    ...isLong ? [h("label", { class: "field" }, `Find a model of ${title}`, search)] : [],
    ...models.length > 0 ? [list, state] : [typed([upstream], add)],
  );
  redraw();
  return { element, redraw };
}

/**
 * The models of the upstreams that the configuration has.
 * @param {Setup} setup
 * @param {(target: { upstream: string, model: string }) => void} add
 * @param {(target: { upstream: string, model: string }) => void} remove
 * @returns {HTMLElement[]}
 */
function othersOf(setup, add, remove) {
  const ready = setup.upstreams.filter(({ state }) => state === "ready").map(({ name }) => name);
  const names = ready.sort((one, other) => +/sandbox/.test(one) - +/sandbox/.test(other));
  if (names.length === 0 || (setup.isFresh && draft.sources.length > 0)) return noneOf(names);
  const place = h("div");
  const upstream = h("select", {}, ...names.map((name) => h("option", {}, name)));
  const look = async () => {
    const name = upstream.value;
    place.replaceChildren(h("p", { class: "busy" }, `Asking ${name} for its models …`));
    const found = await withCode(place, () => act("check", { kind: "upstream", name })).catch((error) => ({
      reason: error.message,
    }));
    if (name !== upstream.value) return;
    const models = found.ok ? found.models : [];
    const list = listOf({ upstream: name, title: name, models, remark: found.reason }, add, remove);
    place.replaceChildren(list.element);
  };
  if (setup.canAct) {
    upstream.addEventListener("change", look);
    void look();
  } else place.replaceChildren(typed(names, add));
  return [
    h(
      "section",
      {},
      h("h2", {}, "More models of the upstreams that you have"),
      ...setup.canAct ? [h("label", { class: "field" }, "Upstream", upstream)] : [],
      place,
    ),
    h("p", {}, h("a", { href: "#setup?upstream" }, "Add another upstream")),
  ];
}

/** @param {readonly string[]} names */
function noneOf(names) {
  if (draft.sources.length > 0 || names.length > 0) return [];
  return [h("p", {}, "There is no upstream yet. ", h("a", { href: "#setup?upstream" }, "Add one first"), ".")];
}

/**
 * A model that nobody lists.
 * @param {readonly string[]} upstreams
 * @param {(target: { upstream: string, model: string }) => void} add
 */
function typed(upstreams, add) {
  const upstream = h("select", {}, ...upstreams.map((name) => h("option", {}, name)));
  const model = h("input", { required: true, autocomplete: "off", spellcheck: "false", size: 36 });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    add({ upstream: upstream.value, model: model.value.trim() });
    model.value = "";
  };
  return h(
    "form",
    { class: "bar", submit },
    ...upstreams.length > 1 ? [h("label", {}, "Upstream", upstream)] : [],
    h("label", {}, `Model, as ${upstreams.length > 1 ? "the upstream" : upstreams[0]} calls it`, model),
    h("button", { type: "submit" }, "Add model"),
  );
}

function nextOf() {
  const back = h("a", { class: "button", href: "#setup?upstream" }, "Back");
  return draft.models.length > 0
    ? [h("a", { class: "button primary", href: "#setup?files" }, "Review the files"), back]
    : [back];
}
