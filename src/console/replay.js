// @ts-check
/// <reference lib="dom" />
/** A recorded request sent again, changed or not, and its answer beside the first one. */
import { ask, duration, h, messageIn } from "./dom.js";
import { side, textOf, valueOf } from "./inspect_side.js";
import { textsIn } from "./wires.js";

/** So much of an answer is shown while it comes, in characters. */
const MOST_SHOWN = 100_000;

/**
 * @typedef {{ wire: string, wires: string[], lane?: string, path: string, headers: [string, string][], text: string,
 *   notes: string[] }} Again
 */

/**
 * @param {string} id
 * @param {{ first: Node, signal: AbortSignal }} more `first`: the answer that it is compared with; with `signal`, nobody looks any more
 * @returns {Promise<HTMLElement>}
 */
export async function replay(id, { first, signal }) {
  const query = `record/request?id=${encodeURIComponent(id)}`;
  /** @type {Again} */
  let again = await ask(query);
  const lane = h("input", { value: again.lane ?? "", disabled: again.lane === undefined, required: true });
  const named = JSON.parse(again.text).model;
  const model = h("input", { value: named ?? "", disabled: named === undefined, list: "models-again" });
  const wire = h("select", {}, ...again.wires.map((one) => h("option", { value: one }, one)));
  const body = h("textarea", { rows: 14, spellcheck: "false" });
  const lost = h("ul");
  const problem = h("p", { class: "error", role: "alert" });
  const result = h("div");
  const send = h("button", { type: "submit" }, "Send again");
  const pretty = () => JSON.stringify(JSON.parse(again.text), null, 2);
  const write = () => {
    body.value = pretty();
    lost.replaceChildren(...again.notes.map((note) => h("li", {}, note)));
  };
  write();
  wire.addEventListener("change", () =>
    reporting(problem, async () => {
      again = await ask(`${query}&wire=${encodeURIComponent(wire.value)}`);
      write();
    }));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    send.disabled = true;
    const place = again.lane === undefined ? again.path : `${lane.value.trim()}/${again.path}`;
    void reporting(problem, async () => {
      const isSame = body.value === pretty() && model.value === (named ?? "");
      const text = isSame ? again.text : JSON.stringify(withModel(body.value, model.value));
      const shown = h("div");
      result.replaceChildren(
        h("div", { class: "sides" }, side("First answer", first.cloneNode(true)), side("New answer", shown)),
      );
      await answerInto(shown, { place, text, headers: again.headers, signal });
    }).finally(() => send.disabled = false);
  };
  return h(
    "form",
    { class: "ask", submit },
    models(),
    h(
      "div",
      { class: "bar" },
      h("label", {}, "Lane", lane),
      h("label", {}, "Model", model),
      h("label", {}, "Wire", wire),
    ),
    lost,
    h("label", {}, 'Body (secrets are replaced by "***")', body),
    h("p", { class: "quiet" }, "It is sent as your own request: your key's limits and budgets apply."),
    problem,
    h("div", { class: "bar" }, send),
    result,
  );
}

/** The names of models, filled in when they are known. */
function models() {
  const list = h("datalist", { id: "models-again" });
  ask("models").then(
    ({ data }) =>
      list.replaceChildren(...data.map((/** @type {{ id: string }} */ { id }) => h("option", { value: id }))),
    () => {},
  );
  return list;
}

/**
 * @param {string} text
 * @param {string} model
 */
function withModel(text, model) {
  const body = JSON.parse(text);
  return model === "" ? body : { ...body, model };
}

/**
 * @param {HTMLElement} problem
 * @param {() => Promise<void>} run
 */
async function reporting(problem, run) {
  problem.textContent = "";
  try {
    await run();
  } catch (error) {
    problem.textContent = /** @type {Error} */ (error).message;
  }
}

/**
 * Shows the bytes as they come, and in the end what the gateway read in them.
 * @param {HTMLElement} place
 * @param {{ place: string, text: string, headers: [string, string][], signal: AbortSignal }} request
 */
async function answerInto(place, { place: path, text, headers, signal }) {
  const state = h("p", { class: "quiet", role: "status" }, "Waiting …");
  const raw = h("pre", { tabindex: 0 });
  place.replaceChildren(state, raw);
  const started = performance.now();
  const response = await fetch(`call/${path}`, {
    method: "POST",
    headers: [...headers, ["content-type", "application/json"]],
    body: text,
    signal,
  });
  const id = response.headers.get("x-request-id") ?? "";
  if (!response.ok) {
    state.textContent = `Status ${response.status}: ${await messageIn(response)}`;
    state.className = "error";
  } else {
    for await (const piece of textsIn(response.body)) {
      if ((raw.textContent ?? "").length < MOST_SHOWN) raw.append(piece);
    }
    state.textContent = `Status ${response.status} after ${duration(Math.round(performance.now() - started))}`;
  }
  const facts = [response.headers.get("x-laneway-target"), response.headers.get("x-laneway-notes")].filter(Boolean);
  const read = await readBy(id);
  raw.replaceWith(
    ...facts.map((fact) => h("p", { class: "quiet" }, /** @type {string} */ (fact))),
    read ?? textOf(raw.textContent ?? ""),
    h("p", {}, h("a", { href: `#inspect?${encodeURIComponent(id)}` }, "Inspect")),
  );
}

/**
 * The answer as the gateway read it; nothing where it is not recorded.
 * @param {string} id
 */
async function readBy(id) {
  try {
    const { calls } = await ask(`record/understood?id=${encodeURIComponent(id)}`);
    const output = calls.findLast((/** @type {any} */ { answer }) => answer?.output)?.answer.output;
    return output && valueOf(output);
  } catch {
    return undefined;
  }
}
