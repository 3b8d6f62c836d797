// @ts-check
/// <reference lib="dom" />
/** The parts of the forms that change the configuration. */
import { html, useEffect, useRef, useState } from "./ui.js";
import { Badge, Button, Field, IconButton } from "./design/parts.js";
import { ask, LoginNeeded, order } from "./dom.js";
import { act } from "./setup_api.js";
import { withCode } from "./setup_code.js";

/**
 * @typedef {import("./change.js").Problem} Problem
 * @typedef {{ ok: true, models: string[], remark?: string } | { ok: false, reason: string, cure?: string }} Tested
 * @typedef {{ name: string, value: string, hidden?: string }} Header `hidden` stands for a value that the page does not see.
 * @typedef {{ label: string, value: string, onInput(value: string): void, hint?: import("./ui.js").Children,
 *   problem?: string, [attribute: string]: unknown }} InputProps
 */

/** @param {InputProps} props */
export function Input({ label, value, onInput, hint, problem, ...rest }) {
  return html`
    <${Field} label=${label} hint=${hint} problem=${problem}>
      ${(/** @type {object} */ own) =>
        html`
          <input
            ...${own}
            autocomplete="off"
            spellcheck="false"
            ...${rest}
            value=${value}
            onInput=${(/** @type {any} */ { target }) => onInput(target.value)}
          />
        `}
    <//>
  `;
}

/** A number that may be left out. @param {InputProps} props */
export const NumberInput = (props) => Input({ type: "number", min: "0", step: "any", inputmode: "decimal", ...props });

/** @param {InputProps & { options: readonly (readonly [value: string, title: string])[] }} props */
export function Choice({ label, value, onInput, hint, problem, options }) {
  return html`
    <${Field} label=${label} hint=${hint} problem=${problem}>
      ${(/** @type {object} */ own) =>
        html`
          <select ...${own} onChange=${(/** @type {any} */ { target }) => onInput(target.value)}>
            ${options.map(([one, title]) =>
              html`<option key=${one} value=${one} selected=${one === value}>${title}</option>`
            )}
          </select>
        `}
    <//>
  `;
}

/**
 * A form whose button shows the change. What is wrong stands beside the fields, or above them.
 * @param {{ onSubmit(): Promise<void>, others: readonly string[], words?: string, extra?: import("./ui.js").Children,
 *   onClose(): void, kind?: "primary" | "danger", children: import("./ui.js").Children }} props
 */
export function ChangeForm(
  { onSubmit, others, words = "Show the change", kind = "primary", extra, onClose, children },
) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState("");
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setFailure("");
    setBusy(true);
    try {
      await onSubmit();
    } catch (error) {
      if (error instanceof LoginNeeded) dispatchEvent(new HashChangeEvent("hashchange"));
      setFailure(/** @type {Error} */ (error).message);
    } finally {
      setBusy(false);
    }
  };
  const wrong = failure === "" ? others : [failure];
  return html`
    <form class="change-form" onSubmit=${submit} novalidate>
      ${children}
      <div role="alert">${wrong.map((one) => html`<p class="error" key=${one}>${one}</p>`)}</div>
      <div class="actions">
        <${Button} kind=${kind} type="submit" disabled=${isBusy}>${words}<//>
        <${Button} onClick=${onClose}>Cancel<//>
        ${extra}
      </div>
    </form>
  `;
}

/** @param {string} text */
export function numberIn(text) {
  const number = Number(text);
  // JSON has no number for it: what is wrong with the text stands beside the field.
  if (!Number.isFinite(number)) return text;
  return text.trim() === "" ? undefined : number;
}

/**
 * A button that asks an upstream, and what it answered.
 * @param {{ canAct: boolean, name: string, isWritten: boolean, edits(): import("./edits.js").Edit[] }} props
 *
 * `canAct`: whether the launcher can ask one that is not written yet. `isWritten`: whether the file has it as the form does.
 */
export function TestButton({ canAct, name, isWritten, edits }) {
  const place = useRef(/** @type {any} */ (null));
  const [found, setFound] = useState(/** @type {Tested | "asking" | undefined} */ (undefined));
  const test = async () => {
    setFound("asking");
    try {
      const source = { kind: "upstream", name, edits: edits() };
      const ask = () => isWritten ? order("upstreams/test", { upstream: name }) : act("check", source);
      setFound(await withCode(place.current, ask));
    } catch (error) {
      setFound({ ok: false, reason: /** @type {Error} */ (error).message });
    }
  };
  const isPossible = name !== "" && (isWritten || canAct);
  return html`
    <div class="test" ref=${place}>
      <${Button} icon="zap" disabled=${!isPossible || found === "asking"} onClick=${test}>Test it<//>
      <div role="status">
        ${found === "asking" ? "Asking …" : found ? html`<${Result} found=${found} />` : html`
          <span class="quiet">
            ${isPossible || name === ""
              ? "Asks for its list of models, which costs nothing."
              : "It can be tested once it is written."}
          </span>
        `}
      </div>
    </div>
  `;
}

const MOST_SHOWN = 200;

/** @param {{ found: Tested }} props */
export function Result({ found }) {
  if (!found.ok) {
    return html`
      <p>
        <${Badge} tone="bad">does not work<//> ${found.reason}. ${found.cure && html`<br />${found.cure}.`}</p>
    `;
  }
  const { models, remark } = found;
  return html`
    <p>
      <${Badge} tone="good">answers<//> ${remark}</p>
    ${models.length > 0 && html`
      <details>
        <summary>${models.length === 1 ? "1 model" : `${models.length} models`}</summary>
        <ul class="models" tabindex="0" aria-label="Models">${models.slice(0, MOST_SHOWN).map((one) =>
          html`<li key=${one}><code>${one}</code></li>`
        )}</ul>
      </details>
    `}
  `;
}

/** @param {{ headers: Header[], onChange(headers: Header[]): void, problem?: string }} props */
export function Headers({ headers, onChange, problem }) {
  const change = (/** @type {number} */ at, /** @type {Partial<Header>} */ more) =>
    onChange(headers.map((one, index) => index === at ? { ...one, ...more } : one));
  return html`
    <fieldset class="rows">
      <legend>Headers of every request</legend>
      ${headers.map(({ name, value, hidden }, at) =>
        html`
          <div class="row" key=${at}>
            <input
              aria-label=${`Header ${at + 1}`}
              placeholder="x-team"
              value=${name}
              onInput=${(/** @type {any} */ { target }) => change(at, { name: target.value })}
            />
            <input
              aria-label=${`Value of header ${at + 1}`}
              placeholder=${hidden ? "hidden: it stays as it is" : "value"}
              value=${value}
              onInput=${(/** @type {any} */ { target }) => change(at, { value: target.value })}
            />
            <${IconButton} icon="x" label=${`Remove header ${name || at + 1}`} onClick=${() =>
              onChange(headers.toSpliced(at, 1))} />
          </div>
        `
      )}
      ${problem && html`<small class="error">${problem}</small>`}
      <${Button} icon="plus" onClick=${() => onChange([...headers, { name: "", value: "" }])}>Add a header<//>
    </fieldset>
  `;
}

/** The keys that name models which go. @param {{ models: readonly string[] }} props */
export function KeysNaming({ models: gone }) {
  const [keys, setKeys] = useState(/** @type {string[]} */ ([]));
  useEffect(() => {
    const naming = (/** @type {{ name: string, models?: string[] }[]} */ all) =>
      all.filter(({ models }) => models?.some((one) => gone.includes(one))).map(({ name }) => name);
    void ask("keys").then((answer) => setKeys(naming(answer.keys)), () => {});
  }, []);
  if (keys.length === 0) return undefined;
  const [what, one] = gone.length === 1 ? ["it", "it"] : ["such a model", "such models"];
  return html`
    <p>
      ${keys.length === 1 ? `This key names ${what} among its models` : `These keys name ${one} among their models`}:
      ${" "}${keys.join(", ")}.
    </p>
  `;
}
