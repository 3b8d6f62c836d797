// @ts-check
/// <reference lib="dom" />
/** The tools of the playground: a form for each, and all of them as JSON. */
import { Button, Field, IconButton, Segments } from "../design/parts.js";
import { html, useState } from "../ui.js";
import { change, isObject, objectIn, readTools, settings, toolsText } from "./settings.js";

/** @typedef {import("./settings.js").FunctionTool} FunctionTool */
/** @typedef {{ name: string, type: string, description: string, isRequired: boolean }} Argument */

const TYPES = ["string", "number", "integer", "boolean", "array", "object"];
const EXAMPLE =
  `[{ "name": "weather", "parameters": { "type": "object", "properties": { "city": { "type": "string" } } } }]`;

/** @type {FunctionTool} */
const NEW = {
  type: "function",
  name: "",
  description: "",
  parameters: { type: "object", properties: {} },
};

export function Tools() {
  const [isJson, setJson] = useState(false);
  const { tools } = settings.value;
  const put = (/** @type {number} */ at, /** @type {FunctionTool} */ tool) => change({ tools: tools.with(at, tool) });
  const remove = (/** @type {number} */ at) => change({ tools: tools.filter((_, index) => index !== at) });
  return html`
    <div class="play-tools">
      <${Segments}
        label="How tools are written"
        options=${[{ value: "form", title: "Forms" }, { value: "json", title: "JSON" }]}
        value=${isJson ? "json" : "form"}
        onChoose=${(/** @type {string} */ value) => setJson(value === "json")}
      />
      ${isJson ? html`<${AsJson} />` : html`
        ${tools.map((tool, at) =>
          tool.type === "function"
            ? html`<${OneTool} key=${at} number=${at + 1} tool=${tool} onChange=${(/** @type {FunctionTool} */ next) =>
              put(at, next)} onRemove=${() => remove(at)} />`
            : html`
              <div class="play-tool row" key=${at}>
                <b>${tool.name}</b><span class="quiet">runs on the server</span>
                <${IconButton} icon="x" label=${`Remove tool ${tool.name}`} onClick=${() => remove(at)} />
              </div>
            `
        )}
        <div>
          <${Button} icon="plus" onClick=${() => change({ tools: [...tools, NEW] })}>Add tool<//></div>
      `}
    </div>
  `;
}

/** The tools as they are written on any of the wires: those that a server runs are written only here. */
function AsJson() {
  const [text, setText] = useState(toolsText(settings.value.tools));
  const [problem, setProblem] = useState("");
  const write = (/** @type {any} */ { currentTarget: { value } }) => {
    setText(value);
    try {
      change({ tools: readTools(value) });
      setProblem("");
    } catch (error) {
      setProblem(/** @type {Error} */ (error).message);
    }
  };
  return html`
    <${Field} label="Tools (a JSON list)" problem=${problem}
      hint="As any of the APIs writes them. Tools with a type of their own, such as web search, go out as they are.">
      ${(/** @type {any} */ own) =>
        html`
          <textarea ...${own} class="code" rows="9" spellcheck="false" placeholder=${EXAMPLE} value=${text}
            onInput=${write}></textarea>
        `}
    <//>
  `;
}

/** @param {{ number: number, tool: FunctionTool, onChange(tool: FunctionTool): void, onRemove(): void }} props */
function OneTool({ number, tool, onChange, onRemove }) {
  const title = tool.name || `Tool ${number}`;
  const [isOpen, setOpen] = useState(tool.name === "");
  const input = (/** @type {keyof FunctionTool} */ name) => (/** @type {any} */ { currentTarget: { value } }) =>
    onChange({ ...tool, [name]: value });
  return html`
    <details class="play-tool" open=${isOpen} onToggle=${(/** @type {any} */ { currentTarget }) =>
      setOpen(currentTarget.open)}>
      <summary>
        <b>${title}</b>${" "}
        <span class="quiet">${tool.preset ? "answered by a preset" : "answered by you"}</span>
      </summary>
      <div class="play-form">
        <${Field} label="Name">${(/** @type {any} */ own) =>
          html`<input ...${own} value=${tool.name} spellcheck="false" placeholder="weather" onInput=${
            input("name")
          } />`}<//>
        <${Field} label="Description">${(/** @type {any} */ own) =>
          html`<input ...${own} value=${tool.description ?? ""} placeholder="What it does, for the model" onInput=${
            input("description")
          } />`}<//>
        <${Arguments} parameters=${tool.parameters} onChange=${(/** @type {any} */ parameters) =>
          onChange({ ...tool, parameters })} />
        <${Field} label="Preset result" hint="Answers each call at once. Without it, you fill in the result.">
          ${(/** @type {any} */ own) =>
            html`<textarea ...${own} rows="2" value=${tool.preset ?? ""} onInput=${input("preset")}></textarea>`}
        <//>
        <div><${Button} kind="ghost" icon="x" onClick=${onRemove}>Remove ${title}<//></div>
      </div>
    </details>
  `;
}

/** The arguments of a schema, if a form can have all of it. @param {Record<string, any>} schema @returns {Argument[] | undefined} */
function argumentsIn(schema) {
  const { type, properties = {}, required = [], ...rest } = schema;
  const others = Object.keys(rest).filter((key) => key !== "additionalProperties");
  if (type !== "object" || others.length > 0 || !isObject(properties)) return undefined;
  const rows = Object.entries(properties).map(([name, one]) => {
    const { type, description = "", ...more } = isObject(one) ? one : {};
    const isPlain = TYPES.includes(type) && Object.keys(more).length === 0 && typeof description === "string";
    return isPlain ? { name, type, description, isRequired: required.includes(name) } : undefined;
  });
  return rows.every((row) => row !== undefined) ? rows : undefined;
}

/** @param {readonly Argument[]} rows */
function schemaOf(rows) {
  const required = rows.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(
      rows.map(({ name, type, description }) => [name, { type, ...description && { description } }]),
    ),
    ...required.length > 0 && { required },
  };
}

/** @param {{ parameters: Record<string, any>, onChange(schema: Record<string, any>): void }} props */
function Arguments({ parameters, onChange }) {
  const rows = argumentsIn(parameters);
  if (!rows) return html`<${Schema} schema=${parameters} onChange=${onChange} />`;
  const put = (/** @type {number} */ at, /** @type {Partial<Argument>} */ change) =>
    onChange(schemaOf(rows.map((row, index) => index === at ? { ...row, ...change } : row)));
  const free = () => {
    let number = rows.length + 1;
    while (rows.some(({ name }) => name === `argument_${number}`)) number++;
    return `argument_${number}`;
  };
  const add = () => onChange(schemaOf([...rows, { name: free(), type: "string", description: "", isRequired: true }]));
  return html`
    <fieldset>
      <legend>Arguments</legend>
      ${rows.map((row, at) =>
        html`<${OneArgument} key=${at} row=${row} taken=${rows.map(({ name }) => name)} onChange=${(
          /** @type {Partial<Argument>} */ change,
        ) => put(at, change)} onRemove=${() => onChange(schemaOf(rows.filter((_, index) => index !== at)))} />`
      )}
      <${Button} kind="ghost" icon="plus" onClick=${add}>Add argument<//>
    </fieldset>
  `;
}

/** @param {{ row: Argument, taken: readonly string[], onChange(change: Partial<Argument>): void, onRemove(): void }} props */
function OneArgument({ row: { name, type, description, isRequired }, taken, onChange, onRemove }) {
  const rename = (/** @type {any} */ { currentTarget }) => {
    const { value } = currentTarget;
    // Two arguments of one name would be one.
    if (value !== "" && (value === name || !taken.includes(value))) onChange({ name: value });
    else currentTarget.value = name;
  };
  return html`
    <div class="play-argument">
      <input aria-label=${`Name of argument ${name}`} value=${name} spellcheck="false" onChange=${rename} />
      <select aria-label=${`Type of ${name}`} onChange=${(/** @type {any} */ { currentTarget }) =>
        onChange({ type: currentTarget.value })}>
        ${TYPES.map((one) => html`<option key=${one} selected=${one === type}>${one}</option>`)}
      </select>
      <label class="check"><input type="checkbox" checked=${isRequired} onChange=${(
        /** @type {any} */ { currentTarget },
      ) => onChange({ isRequired: currentTarget.checked })} /> required</label>
      <${IconButton} icon="x" label=${`Remove argument ${name}`} onClick=${onRemove} />
      <input class="about" aria-label=${`Description of ${name}`} placeholder="What it means" value=${description}
        onInput=${(/** @type {any} */ { currentTarget }) => onChange({ description: currentTarget.value })} />
    </div>
  `;
}

/** A schema that no form can have. @param {{ schema: Record<string, any>, onChange(schema: Record<string, any>): void }} props */
function Schema({ schema, onChange }) {
  const [text, setText] = useState(JSON.stringify(schema, null, 2));
  const [problem, setProblem] = useState("");
  const write = (/** @type {any} */ { currentTarget: { value } }) => {
    setText(value);
    try {
      onChange(objectIn(value, "The schema"));
      setProblem("");
    } catch (error) {
      setProblem(/** @type {Error} */ (error).message);
    }
  };
  return html`
    <${Field} label="Arguments (JSON schema)" problem=${problem}>
      ${(/** @type {any} */ own) =>
        html`<textarea ...${own} class="code" rows="6" spellcheck="false" value=${text} onInput=${write}></textarea>`}
    <//>
  `;
}
