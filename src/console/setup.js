// @ts-check
/// <reference lib="dom" />
/** The guide: from nothing to a client that works. Each of its steps is a page of its own, and can be left and repeated. */
import { h, queryInAddress } from "./dom.js";
import { openWith, readSetup } from "./setup_api.js";
import { clientStep } from "./setup_clients.js";
import { codeForm } from "./setup_code.js";
import { filesStep } from "./setup_files.js";
import { firstStep } from "./setup_first.js";
import { modelsStep } from "./setup_models.js";
import { sourcesStep } from "./setup_sources.js";

/** @typedef {import("./setup_api.js").Setup} Setup */
/**
 * @typedef {{ title: string, question?: string, name: string, hint: string, isPassive?: true,
 *   open(place: HTMLElement, setup: Setup): { refresh?(setup: Setup): void | Promise<void>, everyMs?: number } }} Step
 *
 * `question`: the title for those who have nothing yet. `isPassive`: it starts and writes nothing, so it needs no code.
 *
 * @type {Record<string, Step>}
 */
const STEPS = {
  upstream: {
    name: "Upstream",
    title: "Add upstream",
    question: "Where do your models come from?",
    hint:
      "An upstream is a service or a server that runs models. You can add several; each is tested before it is used.",
    open: sourcesStep,
  },
  models: {
    name: "Models",
    title: "Add model",
    question: "Which models do you want to use?",
    hint: "Clients ask for models by the names in this list. You can change the names.",
    open: modelsStep,
  },
  files: {
    name: "Files",
    title: "Review the files",
    hint: "Nothing is written before you have seen it.",
    open: filesStep,
  },
  client: {
    name: "Client",
    title: "Connect a client",
    hint: "Point an agent or an app at this gateway. Its own settings are kept, and every change can be undone.",
    open: clientStep,
  },
  first: {
    name: "First request",
    title: "Send your first request",
    hint: "Use the client now. The request shows up here as it arrives.",
    isPassive: true,
    open: firstStep,
  },
};

const EVERY_MS = 15_000;

export const setup = {
  /** @param {HTMLElement} main */
  open(main) {
    const asked = queryInAddress();
    const code = /^code=(.+)$/.exec(asked)?.[1];
    // The code opens one tab: nobody should find it in the address later.
    if (code !== undefined) history.replaceState(null, "", "#setup");
    const key = Object.hasOwn(STEPS, asked) ? asked : "upstream";
    const step = /** @type {Step} */ (STEPS[key]);
    const intro = h("p", { class: "intro", hidden: true });
    const title = h("h1", {}, step.title);
    const place = h("div", { class: "guide" });
    main.append(
      intro,
      stepsAt(key),
      title,
      h("p", { class: "quiet" }, step.hint),
      place,
    );
    /** @type {ReturnType<Step["open"]> | undefined} */
    let opened;
    return {
      get everyMs() {
        return opened?.everyMs ?? EVERY_MS;
      },
      async refresh() {
        /** @type {Setup} */
        const now = await readSetup();
        intro.hidden = !now.isFresh;
        title.textContent = now.isFresh ? step.question ?? step.title : step.title;
        if (now.isFresh && intro.childElementCount === 0) intro.append(...introOf());
        if (!opened) opened = await begin(place, step, now, code);
        await opened.refresh?.(now);
      },
    };
  },
};

function introOf() {
  return [
    h("strong", {}, "Welcome."),
    " Laneway lets your agents and apps use the models that you choose. This takes about two minutes. You can ",
    h("a", { href: "#live" }, "leave at any time"),
    " and come back later.",
  ];
}

/** @param {string} current */
function stepsAt(current) {
  return h(
    "nav",
    { "aria-label": "Steps of the setup" },
    h(
      "ol",
      { class: "steps" },
      ...Object.entries(STEPS).map(([key, { name }]) =>
        h("li", {}, h("a", { href: `#setup?${key}`, "aria-current": key === current ? "step" : undefined }, name))
      ),
    ),
  );
}

/**
 * Shows the step, or what it waits for.
 * @param {HTMLElement} place
 * @param {Step} step
 * @param {Setup} now
 * @param {string | undefined} code from the address
 * @returns {Promise<ReturnType<Step["open"]>>}
 */
async function begin(place, step, now, code) {
  const notice = now.canAct || now.why === undefined || step.isPassive
    ? []
    : [h("p", { class: "notice" }, `${now.why.replace(/\.$/, "")}. The commands and texts below do the same.`)];
  const body = h("div");
  place.replaceChildren(...notice, body);
  let { isOpen } = now;
  let problem = "";
  if (code !== undefined && now.canAct && now.needsCode) {
    await openWith(code).then(() => isOpen = true, (error) => problem = error.message);
  }
  if (!now.canAct || !now.needsCode || isOpen || step.isPassive) return step.open(body, now);
  /** @type {ReturnType<Step["open"]>} */
  let opened = {};
  const form = codeForm(() => {
    body.replaceChildren();
    opened = step.open(body, now);
    body.querySelector("input")?.focus();
  }, problem);
  body.replaceChildren(form);
  form.querySelector("input")?.focus();
  return { refresh: (setup) => opened.refresh?.(setup) };
}
