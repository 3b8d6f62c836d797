// @ts-check
/** The chat models that pages propose. */
import { ask } from "./dom.js";
import { readSetup } from "./setup_api.js";

/**
 * `names` have a target that can be called, or nobody knows. `all` begins with them. `isOnlySandbox`: whether others exist
 * and none of them can be called.
 * @returns {Promise<{ names: string[], all: string[], isOnlySandbox: boolean }>}
 */
export async function chatModels() {
  const [{ data }, { models }] = await Promise.all([ask("models"), readSetup()]);
  const idle = new Set(models.filter(({ works }) => !works).map(({ lane, name }) => `${lane}/${name}`));
  /** @type {string[]} */
  const known = data.filter((/** @type {{ task: string }} */ { task }) => task === "chat")
    .map((/** @type {{ lane: string, id: string }} */ { lane, id }) => `${lane}/${id}`);
  const builtIn = new Set(models.filter(({ isBuiltIn }) => isBuiltIn).map(({ lane, name }) => `${lane}/${name}`));
  // Nobody asks the sandbox who has a model.
  const names = known.filter((name) => !idle.has(name)).sort((one, other) => +builtIn.has(one) - +builtIn.has(other));
  return {
    names,
    all: [...names, ...known.filter((name) => idle.has(name))],
    isOnlySandbox: names.length < known.length && names.every((name) => builtIn.has(name)),
  };
}
