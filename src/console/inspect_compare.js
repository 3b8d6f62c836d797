// @ts-check
/// <reference lib="dom" />
/** Two forms of a request or its answer side by side: on its way, of two attempts, or of another request. */
import { html, useEffect, useMemo, useState } from "./ui.js";
import { DiffView } from "./design/diff_view.js";
import { Button, IconButton } from "./design/parts.js";
import { ask } from "./dom.js";
import { servingOf } from "./inspect_steps.js";
import { attemptOf } from "./timeline.js";
import { wholeBody } from "./whole_body.js";

/** How many other requests are offered. */
const MOST_OFFERED = 50;

/** A form of a request or an answer: a JSON value, or another text. @typedef {{ id: string, title: string, read(): Promise<unknown> }} Form */
/** @typedef {{ record: any, understood: any }} Whole */

/**
 * @param {Whole & { other: string | undefined, onOther(other: string | undefined): void }} props
 *
 * `other`: the id of another request, whose forms are offered as well.
 */
export function CompareView({ record, understood, other, onOther }) {
  const { whole, problem } = useOther(other);
  const forms = useMemo(() => {
    const own = formsOf({ record, understood });
    return whole ? [...own, ...formsOf(whole, `${whole.record.id}: `)] : own;
  }, [record, understood, whole]);
  const [chosen, setChosen] = useState(/** @type {readonly [string?, string?]} */ ([]));
  const first = whole ? [`${whole.record.id}: request`, "request"] : defaultsOf(record.calls);
  const find = (/** @type {number} */ at) =>
    forms.find(({ id }) => id === chosen[at]) ?? forms.find(({ id }) => id === first[at]) ?? forms[at];
  const [left, right] = [find(0), find(1)];
  const choose = (/** @type {number} */ at) => (/** @type {string} */ id) =>
    setChosen(at === 0 ? [id, right?.id] : [left?.id, id]);
  return html`
    <div class="compare-choice">
      <${Choice} label="Left" forms=${forms} chosen=${left?.id} onChoose=${choose(0)} />
      <${IconButton} icon="rotate-ccw" label="Swap the sides" onClick=${() => setChosen([right?.id, left?.id])} />
      <${Choice} label="Right" forms=${forms} chosen=${right?.id} onChoose=${choose(1)} />
      <${Other} own=${record.id} other=${other} onOther=${(/** @type {string | undefined} */ id) => {
        setChosen([]);
        onOther(id);
      }} />
    </div>
    <${Pairs} pairs=${pairsOf(record.calls)} chosen=${`${left?.id} ${right?.id}`} onChoose=${setChosen} />
    ${problem && html`<p class="error" role="alert">${problem}</p>`}
    ${left && right && html`<${Difference} left=${left} right=${right} />`}
  `;
}

/** The client's request, and that of the call that served. @param {readonly any[]} calls */
function defaultsOf(calls) {
  return ["request", calls.length > 0 ? `call.${servingOf(calls)}.request` : "canonical"];
}

/** The pairs that people look at most. @param {readonly any[]} calls @returns {{ title: string, ids: [string, string] }[]} */
function pairsOf(calls) {
  if (calls.length === 0) return [];
  const at = servingOf(calls);
  /** @type {{ title: string, ids: [string, string] }[]} */
  const pairs = [
    { title: "Client and upstream", ids: ["request", `call.${at}.request`] },
    { title: "Understood and upstream", ids: ["canonical", `call.${at}.request`] },
  ];
  if (calls.length > 1) {
    const other = at === 0 ? 1 : at - 1;
    const [first, second] = [Math.min(at, other), Math.max(at, other)];
    const ids = (
      /** @type {string} */ side,
    ) => /** @type {[string, string]} */ ([first, second].map((call) => `call.${call}.${side}`));
    pairs.push({ title: `Requests ${first + 1} and ${second + 1}`, ids: ids("request") });
    pairs.push({ title: `Answers ${first + 1} and ${second + 1}`, ids: ids("answer") });
  }
  return pairs;
}

/**
 * @param {{ pairs: { title: string, ids: [string, string] }[], chosen: string, onChoose(ids: [string, string]): void }} props
 */
function Pairs({ pairs, chosen, onChoose }) {
  if (pairs.length === 0) return undefined;
  return html`
    <p class="toolbar" role="group" aria-label="Pairs">${pairs.map(({ title, ids }) =>
      html`<${Button} key=${title} aria-pressed=${String(ids.join(" ") === chosen)} onClick=${() =>
        onChoose(ids)}>${title}<//>`
    )}</p>
  `;
}

/** @param {string | undefined} id @returns {{ whole?: Whole, problem?: string }} */
function useOther(id) {
  const [state, setState] = useState(/** @type {{ id?: string, whole?: Whole, problem?: string }} */ ({}));
  useEffect(() => {
    if (id === undefined) return;
    let isGone = false;
    const query = `?id=${encodeURIComponent(id)}`;
    Promise.all([ask(`record${query}`), ask(`record/understood${query}`)]).then(
      ([record, understood]) => !isGone && setState({ id, whole: { record, understood } }),
      ({ message }) => !isGone && setState({ id, problem: `The request ${id} cannot be compared: ${message}` }),
    );
    return () => void (isGone = true);
  }, [id]);
  return state.id === id ? state : {};
}

/**
 * @param {Whole} whole
 * @param {string} before what stands before each name, if there are those of another request
 * @returns {Form[]}
 */
function formsOf({ record: { id, client, calls, answer }, understood }, before = "") {
  /** @type {Form[]} */
  const forms = [];
  const add = (/** @type {string} */ name, /** @type {string} */ title, /** @type {() => Promise<unknown>} */ read) =>
    forms.push({ id: before + name, title: before + title, read });
  const body = (/** @type {string} */ part, /** @type {any} */ body) => async () =>
    valueIn((await wholeBody(id, part, body)).text);
  const value = (/** @type {unknown} */ value) => () => Promise.resolve(value);
  add("request", "The client's request", body("request", client.body));
  if (understood?.input) add("canonical", "The request as the gateway understood it", value(understood.input));
  calls.forEach((/** @type {any} */ call, /** @type {number} */ at) => {
    const name = `${at + 1} to ${call.target}, ${attemptOf(call)}`;
    add(`call.${at}.request`, `Request ${name}`, body(`call.${at}.request`, call.body));
  });
  add("answer", "The answer to the client", body("answer", answer.body));
  calls.forEach((/** @type {any} */ call, /** @type {number} */ at) => {
    const name = `${at + 1} of ${call.target}, ${call.status ?? "none"}`;
    add(`call.${at}.answer`, `Answer ${name}`, body(`call.${at}.answer`, call.answer));
    const { answer: read } = understood?.calls[at] ?? {};
    if (read) add(`call.${at}.read`, `Answer ${name}, as the gateway read it`, value(read.error ?? read.output));
  });
  return forms;
}

/** The value of JSON; other texts as they are. @param {string | undefined} text */
function valueIn(text = "") {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * The texts of two forms. The fields of the second one are in the order of the first: in JSON it means nothing.
 * @param {unknown} first
 * @param {unknown} second
 * @returns {[before: string, after: string]}
 */
export function textsOf(first, second) {
  const text = (/** @type {unknown} */ value) =>
    typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
  try {
    return [text(first), text(inOrderOf(first, second))];
  } catch {
    return ["Nested too deep to be compared", "Nested too deep to be compared"];
  }
}

/** @param {any} first @param {any} value @returns {any} */
function inOrderOf(first, value) {
  if (typeof first !== "object" || typeof value !== "object" || !first || !value) return value;
  if (Array.isArray(value)) return Array.isArray(first) ? value.map((item, at) => inOrderOf(first[at], item)) : value;
  const shared = Object.keys(first).filter((name) => Object.hasOwn(value, name));
  const others = Object.keys(value).filter((name) => !Object.hasOwn(first, name));
  return Object.fromEntries([...shared, ...others].map((name) => [name, inOrderOf(first[name], value[name])]));
}

/** @param {{ label: string, forms: readonly Form[], chosen: string | undefined, onChoose(id: string): void }} props */
function Choice({ label, forms, chosen, onChoose }) {
  return html`
    <label>
      ${label}
      <select value=${chosen} onChange=${(/** @type {any} */ { currentTarget }) => onChoose(currentTarget.value)}>
        ${forms.map(({ id, title }) => html`<option key=${id} value=${id} selected=${id === chosen}>${title}</option>`)}
      </select>
    </label>
  `;
}

/** The choice of another recorded request. @param {{ own: string, other: string | undefined, onOther(id: string | undefined): void }} props */
function Other({ own, other, onOther }) {
  const [offered, setOffered] = useState(/** @type {readonly { id: string, title: string }[]} */ ([]));
  useEffect(() => {
    let isGone = false;
    ask("records").then(({ data }) => !isGone && setOffered(data.slice(0, MOST_OFFERED).map(titled)), () => {});
    return () => void (isGone = true);
  }, [own]);
  const others = offered.filter(({ id }) => id !== own);
  if (others.length === 0 && other === undefined) return undefined;
  const all = other === undefined || others.some(({ id }) => id === other)
    ? others
    : [{ id: other, title: other }, ...others];
  const choose = (/** @type {any} */ { currentTarget: { value } }) => onOther(value === "" ? undefined : value);
  return html`
    <label>
      With another request
      <select value=${other ?? ""} onChange=${choose}>
        <option value="" selected=${other === undefined}>none</option>
        ${all.map(({ id, title }) => html`<option key=${id} value=${id} selected=${id === other}>${title}</option>`)}
      </select>
    </label>
  `;
}

/** @param {import("./inspect.js").Recorded} recorded */
function titled({ id, time, model, status }) {
  const clock = new Date(time).toLocaleTimeString("en-GB");
  return { id, title: [clock, model, status, id].filter(Boolean).join(" · ") };
}

/** @param {{ left: Form, right: Form }} props */
function Difference({ left, right }) {
  const [texts, setTexts] = useState(
    /** @type {{ of?: readonly Form[], before: string, after: string, problem?: string }} */ ({
      before: "",
      after: "",
    }),
  );
  useEffect(() => {
    let isGone = false;
    Promise.all([left.read(), right.read()]).then((values) => textsOf(values[0], values[1])).then(
      ([before, after]) => !isGone && setTexts({ of: [left, right], before, after }),
      ({ message: problem }) => !isGone && setTexts({ of: [left, right], before: "", after: "", problem }),
    );
    return () => void (isGone = true);
  }, [left, right]);
  if (texts.problem) return html`<p class="error">${texts.problem}</p>`;
  // While a request runs, its forms grow: what is shown stays until the next is there.
  if (texts.of === undefined) return html`<p class="quiet">…</p>`;
  const [of, to] = /** @type {[Form, Form]} */ (texts.of);
  return html`
    <${DiffView} label=${`${of.title}, and ${to.title}`} titles=${[of.title, to.title]} before=${texts
      .before} after=${texts.after} />
  `;
}
