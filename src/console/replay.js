// @ts-check
/// <reference lib="dom" />
/** A recorded request sent again, changed or not, and its answer beside the first one. */
import { html, useEffect, useRef, useState } from "./ui.js";
import { attempt } from "./actions.js";
import { Badge, Button, Field } from "./design/parts.js";
import { DiffView } from "./design/diff_view.js";
import { ask, duration, messageIn } from "./dom.js";
import { addressOf } from "./inspect_address.js";
import { Body, LiveText, Side, Value } from "./inspect_parts.js";
import { textsIn } from "./streams.js";

/** So much of an answer is shown while it comes, in characters. */
const MOST_SHOWN = 100_000;

/**
 * @typedef {{ wire: string, wires: string[], lane?: string, path: string, headers: [string, string][], text: string,
 *   notes: string[] }} Again
 * @typedef {{ state: string, isBad?: boolean, raw: string, id?: string, facts: string[], output?: unknown }} Shown
 */

/** @param {{ record: any, understood: any }} props */
export function Replay({ record: { id, answer }, understood: { calls } }) {
  const [again, setAgain] = useState(/** @type {Again | undefined} */ (undefined));
  const first = outputOf(calls);
  const open = () => attempt(async () => setAgain(await ask(queryOf(id))));
  return html`
    <section class="card" aria-label="Replay">
      <header class="card-head"><h2>Replay</h2></header>
      ${again
        ? html`<${Form} id=${id} first=${first ?? answer.body} isRead=${first !== undefined} begin=${again} />`
        : html`<${Button} onClick=${open}>Edit and send again …<//>`}
    </section>
  `;
}

/** @param {string} id @param {string} [wire] */
function queryOf(id, wire) {
  return `record/request?id=${encodeURIComponent(id)}${wire === undefined ? "" : `&wire=${encodeURIComponent(wire)}`}`;
}

/** @param {readonly any[]} calls */
function outputOf(calls) {
  return calls.findLast(({ answer }) => answer?.output)?.answer.output;
}

/** @param {string} text */
const pretty = (text) => JSON.stringify(JSON.parse(text), null, 2);

/** @param {{ id: string, first: any, isRead: boolean, begin: Again }} props */
function Form({ id, first, isRead, begin }) {
  const [again, setAgain] = useState(begin);
  const named = JSON.parse(again.text).model;
  const [lane, setLane] = useState(again.lane ?? "");
  const [model, setModel] = useState(String(named ?? ""));
  const [text, setText] = useState(pretty(again.text));
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [shown, setShown] = useState(/** @type {Shown | undefined} */ (undefined));
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  const reporting = async (/** @type {() => Promise<void>} */ run) => {
    setProblem("");
    await run().catch((error) => setProblem(/** @type {Error} */ (error).message));
  };
  const choose = (/** @type {any} */ { currentTarget: { value } }) =>
    reporting(async () => {
      const next = await ask(queryOf(id, value));
      setAgain(next);
      setText(pretty(next.text));
    });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    await reporting(async () => {
      const isSame = text === pretty(again.text) && model === String(named ?? "");
      const body = isSame ? again.text : JSON.stringify(withModel(text, named === undefined ? "" : model));
      const path = again.lane === undefined ? again.path : `${lane.trim()}/${again.path}`;
      await send({ path, body, headers: again.headers, signal: leaving.current.signal }, setShown);
    });
    setBusy(false);
  };
  const writing = (/** @type {(value: string) => void} */ set) => (/** @type {any} */ { currentTarget }) =>
    set(currentTarget.value);
  return html`
    <form class="replay" onSubmit=${submit}>
      <${Models} />
      <div class="grid">
        <${Field} label="Lane">${(/** @type {any} */ own) =>
          html`<input ...${own} value=${lane} disabled=${again.lane === undefined} required onInput=${
            writing(setLane)
          } />`}<//>
        <${Field} label="Model">${(/** @type {any} */ own) =>
          html`<input ...${own} value=${model} disabled=${named === undefined} list="models-again" onInput=${
            writing(setModel)
          } />`}<//>
        <${Field} label="Wire">${(/** @type {any} */ own) =>
          html`
            <select ...${own} value=${again.wire} onChange=${choose}>
              ${again.wires.map((one) =>
                html`<option key=${one} value=${one} selected=${one === again.wire}>${one}</option>`
              )}
            </select>
          `}<//>
      </div>
      ${again.notes.length > 0 && html`<ul>${again.notes.map((note) => html`<li key=${note}>${note}</li>`)}</ul>`}
      <${Field} label='Body (secrets are replaced by "***")' hint="It is sent as your own request: your key's limits and budgets apply.">
        ${(/** @type {any} */ own) =>
          html`<textarea ...${own} class="code" rows="14" spellcheck="false" value=${text} onInput=${
            writing(setText)
          }></textarea>`}
      <//>
      <p class="error" role="alert">${problem}</p>
      <div><${Button} kind="primary" type="submit" disabled=${isBusy}>Send again<//></div>
      ${shown && html`
        <div class="sides">
          <${Side} title="First answer">
            ${isRead ? html`<${Value} title="Canonical form" value=${first} />` : html`<${Body} body=${first} />`}
          <//>
          <${Side} title="New answer"><${NewAnswer} ...${shown} first=${id} /><//>
        </div>
        ${isRead && shown.output && html`<${AnswersCompared} first=${first} output=${shown.output} />`}
      `}
    </form>
  `;
}

/** @param {{ first: unknown, output: unknown }} props */
function AnswersCompared({ first, output }) {
  return html`
    <details>
      <summary>Differences between the answers</summary>
      <${DiffView}
        label="Differences between the answers"
        titles=${["First answer", "New answer"]}
        before=${JSON.stringify(first, null, 2)}
        after=${JSON.stringify(output, null, 2)}
      />
    </details>
  `;
}

/** @param {Shown & { first: string }} props `first`: the id of the request that was sent again */
function NewAnswer({ state, isBad, raw, id, facts, output, first }) {
  return html`
    <p role="status">
      <${Badge} tone=${isBad ? "bad" : id === undefined ? "info" : "good"}>${state}<//></p>
    ${facts.map((fact) => html`<p class="quiet" key=${fact}>${fact}</p>`)}
    ${output
      ? html`<${Value} title="Canonical answer" value=${output} />`
      : raw !== "" && html`<${LiveText} text=${raw} />`}
    ${id && html`
      <p>
        <a href=${addressOf({ id, view: "answer" })}>Inspect</a> ·${" "}
        <a href=${addressOf({ id, view: "compare", other: first })}>Compare the requests</a>
      </p>
    `}
  `;
}

/** The names of models, filled in when they are known. */
function Models() {
  const [names, setNames] = useState(/** @type {readonly string[]} */ ([]));
  useEffect(() => {
    ask("models").then(({ data }) => setNames(data.map((/** @type {{ id: string }} */ { id }) => id)), () => {});
  }, []);
  return html`<datalist id="models-again">${
    names.map((name) => html`<option key=${name} value=${name} />`)
  }</datalist>`;
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
 * Shows the bytes as they come, and in the end what the gateway read in them.
 * @param {{ path: string, body: string, headers: [string, string][], signal: AbortSignal }} request
 * @param {(shown: Shown) => void} onShow
 */
async function send({ path, body, headers, signal }, onShow) {
  let raw = "";
  onShow({ state: "Waiting …", raw, facts: [] });
  const started = performance.now();
  const response = await fetch(`call/${path}`, {
    method: "POST",
    headers: [...headers, ["content-type", "application/json"]],
    body,
    signal,
  });
  const id = response.headers.get("x-request-id") ?? "";
  const facts = ["x-laneway-target", "x-laneway-notes"].flatMap((name) => response.headers.get(name) ?? []);
  if (!response.ok) {
    const state = `Status ${response.status}: ${await messageIn(response)}`;
    return onShow({ state, isBad: true, raw, id, facts, output: await readBy(id) });
  }
  for await (const piece of textsIn(response.body)) {
    if (raw.length < MOST_SHOWN) raw += piece;
    onShow({ state: "Answering …", raw, facts });
  }
  const state = `Status ${response.status} after ${duration(Math.round(performance.now() - started))}`;
  onShow({ state, raw, id, facts, output: await readBy(id) });
}

/**
 * The answer as the gateway read it; nothing where it is not recorded.
 * @param {string} id
 */
async function readBy(id) {
  try {
    const { calls } = await ask(`record/understood?id=${encodeURIComponent(id)}`);
    return outputOf(calls);
  } catch {
    return undefined;
  }
}
