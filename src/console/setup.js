// @ts-check
/// <reference lib="dom" />
/** The guide: from nothing to a client that works. Each of its steps is a page of its own, and can be left and repeated. */
import { h, queryInAddress } from "./dom.js";
import { draft, openWith, reached, readSetup, workingModels } from "./setup_api.js";
import { clientStep } from "./setup_clients.js";
import { codeForm } from "./setup_code.js";
import { filesStep } from "./setup_files.js";
import { firstStep } from "./setup_first.js";
import { modelsStep } from "./setup_models.js";
import { sourcesStep } from "./setup_sources.js";

/** @typedef {import("./setup_api.js").Setup} Setup */
/**
 * @typedef {{ title: string, question?: string, name: string, hint: string, isPassive?: true,
 *   open(place: HTMLElement, setup: Setup, onDone: (title?: string) => void): { refresh?(setup: Setup): void | Promise<void>, everyMs?: number } }} Step
 *
 * `question`: the title for those who have nothing yet. `isPassive`: it starts and writes nothing, so it needs no code.
 * `onDone`: called with each step that was done, and with the title that the page then has.
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
    return openStep(main, /** @type {Step} */ (STEPS[key]), stepsAt(key), code);
  },
};

/** The step that connects clients, as the page that lists them. */
export const clientTools = {
  /** @param {HTMLElement} main */
  open: (main) =>
    openStep(main, {
      .../** @type {Step} */ (STEPS.client),
      title: "Clients",
      hint: "The programs that use this gateway, and the way to connect more.",
    }),
};

/**
 * @param {HTMLElement} main
 * @param {Step} step
 * @param {ReturnType<typeof stepsAt>} [steps] the way to the others
 * @param {string} [code] from the address
 */
function openStep(main, step, steps, code) {
  const intro = h("p", { class: "intro", hidden: true });
  const title = h("h1", {}, step.title);
  const hint = h("p", { class: "quiet" }, step.hint);
  const place = h("div", { class: "guide" });
  const head = h("header", { class: "page-head" }, h("div", {}, title, hint));
  main.append(h("div", { class: "page" }, ...steps ? [steps.element] : [], head, intro, place));
  /** @type {Setup} */
  let last;
  /** @type {string | undefined} */
  let finished;
  const isGuide = () => last.isFresh && steps !== undefined;
  const draw = () => {
    steps?.mark(doneSteps(last));
    title.textContent = finished ?? (isGuide() && step.question || step.title);
    hint.hidden = finished !== undefined;
  };
  const onDone = (/** @type {string | undefined} */ words) => {
    finished ??= words;
    draw();
    // What was written may have changed more than this page knows.
    void readSetup().then((now) => (last = now, draw()), () => {});
  };
  /** @type {ReturnType<Step["open"]> | undefined} */
  let opened;
  return {
    get everyMs() {
      return opened?.everyMs ?? EVERY_MS;
    },
    async refresh() {
      /** @type {Setup} */
      const now = last = await readSetup();
      const isWelcome = isGuide() && step === STEPS.upstream;
      intro.hidden = !isWelcome;
      draw();
      if (isWelcome && intro.childElementCount === 0) intro.append(...introOf());
      if (!opened) opened = await begin(place, step, now, { code, onDone });
      await opened.refresh?.(now);
    },
  };
}

function introOf() {
  return [
    h("strong", {}, "Welcome."),
    " Laneway lets your agents and apps use the models that you choose. This takes about two minutes. You can ",
    h("a", { href: "#live" }, "leave at any time"),
    " and come back later.",
  ];
}

/**
 * The keys of the steps that are done.
 * @param {Setup} setup
 * @returns {ReadonlySet<string>}
 */
function doneSteps(setup) {
  const isServing = !setup.isFresh && workingModels(setup).length > 0;
  const isWaiting = draft.sources.length > 0 || draft.models.length > 0;
  const done = {
    upstream: isServing || draft.sources.length > 0,
    models: isServing || draft.models.length > 0,
    files: isServing && !isWaiting,
  };
  return new Set([...Object.entries(done).flatMap(([key, isDone]) => isDone ? [key] : []), ...reached]);
}

/**
 * The way to all steps. `mark`: shows which are done.
 * @param {string} current
 */
function stepsAt(current) {
  const links = Object.entries(STEPS).map(([key, { name }]) => {
    const done = h("span", { class: "visually-hidden", hidden: true }, "(done)");
    const attributes = { href: `#setup?${key}`, "aria-current": key === current ? "step" : undefined };
    return { key, done, link: h("a", attributes, name, done) };
  });
  return {
    element: h(
      "nav",
      { "aria-label": "Steps of the setup" },
      h("ol", { class: "steps" }, ...links.map(({ link }) => h("li", {}, link))),
    ),
    /** @param {ReadonlySet<string>} steps */
    mark(steps) {
      for (const { key, done, link } of links) {
        done.hidden = !steps.has(key);
        link.classList.toggle("past", steps.has(key));
      }
    },
  };
}

/**
 * Shows the step, or what it waits for.
 * @param {HTMLElement} place
 * @param {Step} step
 * @param {Setup} now
 * @param {{ code: string | undefined, onDone(title?: string): void }} more `code`: from the address
 * @returns {Promise<ReturnType<Step["open"]>>}
 */
async function begin(place, step, now, { code, onDone }) {
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
  if (!now.canAct || !now.needsCode || isOpen || step.isPassive) return step.open(body, now, onDone);
  /** @type {ReturnType<Step["open"]>} */
  let opened = {};
  const form = codeForm(() => {
    body.replaceChildren();
    opened = step.open(body, now, onDone);
    body.querySelector("input")?.focus();
  }, problem);
  body.replaceChildren(form);
  form.querySelector("input")?.focus();
  return { refresh: (setup) => opened.refresh?.(setup) };
}
