// @ts-check
/// <reference lib="dom" />
/** The settings that all models share. */
import { Card, Field, Segments } from "../design/parts.js";
import { html } from "../ui.js";
import { change, EFFORTS, settings } from "./settings.js";
import { Tools } from "./tools.js";

/** @typedef {import("./settings.js").Settings} Settings */

/** @param {keyof Settings} name */
const writing = (name) => (/** @type {any} */ { currentTarget: { value } }) => change({ [name]: value });

export function Panel() {
  const { system, effort, maxTokens, temperature, tools } = settings.value;
  const named = tools.length === 0 ? "none" : tools.length === 1 ? "1 tool" : `${tools.length} tools`;
  return html`
    <${Card} title="Settings" about="for all models">
      <${Field} label="System prompt">${(/** @type {any} */ own) =>
        html`
          <textarea ...${own} rows="4" value=${system} placeholder="Instructions for the whole conversation"
            onInput=${writing("system")}></textarea>
        `}<//>
      <div class="play-row">
        <${Field} label="Max tokens" hint="Of each answer">${(/** @type {any} */ own) =>
          html`<input ...${own} type="number" min="1" value=${maxTokens} placeholder="model's own" onInput=${
            writing("maxTokens")
          } />`}<//>
        <${Field} label="Temperature" hint="Empty: the model's own">${(/** @type {any} */ own) =>
          html`
            <input ...${own} type="number" min="0" step="0.1" value=${temperature} placeholder="model's own"
              onInput=${writing("temperature")} />
          `}<//>
      </div>
      <${Field} label="Reasoning effort">${(/** @type {any} */ own) =>
        html`
          <select ...${own} onChange=${writing("effort")}>
            <option value="" selected=${effort === ""}>model's default</option>
            ${EFFORTS.map((one) => html`<option key=${one} value=${one} selected=${one === effort}>${one}</option>`)}
          </select>
        `}<//>
      <${Form} />
      <details open=${tools.length > 0}>
        <summary><b>Tools</b> <span class="quiet">${named}</span></summary>
        <${Tools} />
        ${tools.length > 0 && html`<${Choice} />`}
      </details>
    <//>
  `;
}

/** The form of the answer. */
function Form() {
  const { form, schema } = settings.value;
  const options = [{ value: "text", title: "Text" }, { value: "json", title: "Any JSON" }, {
    value: "schema",
    title: "Schema",
  }];
  return html`
    <div class="field">
      <span class="label">Answer</span>
      <${Segments} label="Form of the answer" options=${options} value=${form} onChoose=${(/** @type {any} */ value) =>
        change({ form: value })} />
    </div>
    ${form === "schema" && html`
      <${Field} label="JSON schema of the answer">${(/** @type {any} */ own) =>
        html`
          <textarea ...${own} class="code" rows="6" spellcheck="false" value=${schema}
            placeholder='{ "type": "object", "properties": { "city": { "type": "string" } } }'
            onInput=${writing("schema")}></textarea>
        `}<//>
    `}
  `;
}

function Choice() {
  const { choice } = settings.value;
  const options = [["", "The model decides"], ["required", "It must call a tool"], ["none", "It must not call tools"]];
  return html`
    <${Field} label="Use of tools">${(/** @type {any} */ own) =>
      html`
        <select ...${own} onChange=${writing("choice")}>
          ${options.map(([value, title]) =>
            html`<option key=${value} value=${value} selected=${value === choice}>${title}</option>`
          )}
        </select>
      `}<//>
  `;
}
