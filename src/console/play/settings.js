// @ts-check
/** The settings of the playground, and how they are read from what somebody wrote. */
import { signal } from "../ui.js";

/**
 * @typedef {{ id: number, model: string, wire: string }} Side
 * @typedef {{ type: "function", name: string, description?: string, parameters: Record<string, any>, preset?: string }} FunctionTool
 * @typedef {{ type: "hosted", name: string, fields: Record<string, any> }} HostedTool
 * @typedef {FunctionTool | HostedTool} Tool
 * @typedef {{ system: string, tools: readonly Tool[], form: "text" | "json" | "schema", schema: string, effort: string,
 *   choice: string, maxTokens: string, temperature: string }} Settings
 *
 * `model` is `lane/model`. `preset`: the result that answers every call of the tool.
 */

export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
export const MOST_SIDES = 4;

/** @type {Settings} */
export const FIRST = {
  system: "",
  tools: [],
  form: "text",
  schema: "",
  effort: "",
  choice: "",
  maxTokens: "4096",
  temperature: "",
};

/** @type {import("@preact/signals").Signal<Settings>} */
export const settings = signal(FIRST);
/** The models that answer, side by side. @type {import("@preact/signals").Signal<readonly Side[]>} */
export const sides = signal(/** @type {readonly Side[]} */ ([{ id: 1, model: "", wire: "" }]));
/** The wires of the gateway, and the size limit of a request. */
export const offered = signal({ wires: /** @type {readonly string[]} */ ([]), limitBytes: Infinity });

let lastSide = 1;

/** The id of a side is used once, because answers are found by it. @param {Partial<Side>} side */
const newSide = (side) => ({ model: "", wire: "", ...side, id: ++lastSide });

/** @param {Partial<Side>} side */
export function addSide(side) {
  sides.value = [...sides.value, newSide(side)];
}

/**
 * A model that is not shown yet, or else a model by an API by which it is not asked yet.
 * @param {readonly Side[]} all
 * @param {readonly string[]} models
 * @param {readonly string[]} wires
 * @returns {Partial<Side>}
 */
export function nextSide(all, models, wires) {
  const last = all.at(-1);
  const model = models.find((name) => all.every((side) => side.model !== name));
  if (model !== undefined) return { model, wire: last?.wire };
  const other = wires.find((name) => all.every(({ model, wire }) => model !== last?.model || wire !== name));
  return { model: last?.model, wire: other ?? last?.wire };
}

/** @param {readonly Partial<Side>[]} all */
export function replaceSides(all) {
  sides.value = all.map(newSide);
}

/** @param {number} id @param {Partial<Side>} change */
export function changeSide(id, change) {
  sides.value = sides.value.map((one) => one.id === id ? { ...one, ...change } : one);
}

/** @param {Partial<Settings>} change */
export function change(change) {
  settings.value = { ...settings.value, ...change };
}

/** The settings as a request has them. Throws an error for people. @param {Settings} settings */
export function controlsOf({ tools, form, schema, effort, choice, maxTokens, temperature }) {
  return {
    ...tools.length > 0 && { tools: tools.map(asSent) },
    ...tools.length > 0 && choice && { toolChoice: { type: choice } },
    ...effort && { thinking: { effort } },
    ...maxTokens.trim() !== "" && { maxOutputTokens: numberIn(maxTokens, "Max tokens", { isWhole: true }) },
    ...temperature.trim() !== "" && { temperature: numberIn(temperature, "Temperature", {}) },
    ...form === "json" && { outputSchema: {} },
    ...form === "schema" && { outputSchema: { schema: objectIn(schema, "The schema of the answer") } },
  };
}

/** @param {Tool} tool */
function asSent(tool) {
  if (tool.type === "hosted") return tool;
  const { preset: _, description, ...rest } = tool;
  return { ...rest, ...description && { description } };
}

/** @param {string} text @param {string} name @param {{ isWhole?: boolean }} rule */
function numberIn(text, name, { isWhole }) {
  const value = Number(text);
  if (Number.isNaN(value) || isWhole && !(Number.isSafeInteger(value) && value > 0)) {
    throw new TypeError(`${name} must be a ${isWhole ? "whole number above 0" : "number"}`);
  }
  return value;
}

/** @param {string} text @param {string} name @returns {Record<string, any>} */
export function objectIn(text, name) {
  const value = parse(text, name);
  if (!isObject(value)) throw new TypeError(`${name} must be a JSON object: { … }`);
  return value;
}

/**
 * Reads a list of tools in the form of any wire. A function has a name and a schema of its arguments. Other tools are for the
 * gateway or the model, and go out as they are. Throws an error for people.
 * @param {string} text
 * @returns {Tool[]}
 */
export function readTools(text) {
  if (text.trim() === "") return [];
  const list = parse(text, "The tools");
  if (!Array.isArray(list)) throw new TypeError("The tools must be a list: [ … ]");
  return list.map((one, index) => {
    const where = `Tool ${index + 1}`;
    if (!isObject(one)) throw new TypeError(`${where} must be an object: { … }`);
    const hosted = hostedIn(one);
    if (hosted) return { type: "hosted", name: hosted, fields: one };
    const tool = isObject(one.function) ? one.function : one;
    const { name, description, parameters = tool.input_schema, preset } = tool;
    if (typeof name !== "string" || !/^[\w.-]{1,128}$/.test(name)) throw new TypeError(`${where} needs a "name"`);
    if (!isObject(parameters)) {
      throw new TypeError(`${where}, "${name}", needs "parameters": the JSON schema of its arguments`);
    }
    return {
      type: "function",
      name,
      ...typeof description === "string" && { description },
      parameters,
      ...typeof preset === "string" && { preset },
    };
  });
}

/** The name of a tool that is no function: its type, or the only field that it has. @param {Record<string, any>} tool */
function hostedIn(tool) {
  if (typeof tool.type === "string") {
    return tool.type !== "function" && !("input_schema" in tool) ? tool.type : undefined;
  }
  const [only, ...others] = Object.keys(tool);
  return only !== undefined && others.length === 0 && only !== "function" && isObject(tool[only]) ? only : undefined;
}

/** The tools as text, as `readTools` takes it. @param {readonly Tool[]} tools */
export function toolsText(tools) {
  const written = tools.map((tool) => {
    if (tool.type === "hosted") return tool.fields;
    const { type: _, ...rest } = tool;
    return rest;
  });
  return written.length === 0 ? "" : JSON.stringify(written, null, 2);
}

/** @param {string} text @param {string} name */
function parse(text, name) {
  try {
    return JSON.parse(text);
  } catch (error) {
    const verb = name.endsWith("s") ? "are" : "is";
    throw new TypeError(`${name} ${verb} not valid JSON: ${/** @type {Error} */ (error).message}`);
  }
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, any>}
 */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
