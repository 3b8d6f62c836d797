// @ts-check
/// <reference lib="dom" />
/** The actions of the guide, and the choices until now. Secrets stay in the memory of this page. */
import { ask, LoginNeeded, messageIn, send } from "./dom.js";
import { textsIn } from "./streams.js";

/**
 * @typedef {import("../programs/init/answers.ts").Source} Source
 * @typedef {import("../programs/init/answers.ts").CheckedSource} CheckedSource
 * @typedef {import("../programs/init/answers.ts").ChosenModel} ChosenModel
 * @typedef {import("../programs/init/answers.ts").Found} Found
 * @typedef {import("../programs/init/answers.ts").Plan} Plan
 * @typedef {import("../programs/init/answers.ts").PlannedFile} PlannedFile
 * @typedef {import("../programs/init/answers.ts").Answers} Answers
 *
 * @typedef {{ id: string, title: string, keysAt?: string, needsBaseUrl?: boolean, form?: string }} Provider
 * @typedef {{ lane: string, name: string, task: string, works: boolean, isBuiltIn: boolean, reason?: string,
 *   targets: readonly { upstream: string, model: string, price?: import("../canonical/price.ts").Price }[] }} Model
 *
 * @typedef {{ isFresh: boolean, file: string, canAct: boolean, why?: string, needsCode: boolean, isOpen: boolean, needsKey?: boolean,
 *   command: string,
 *   isLocal: boolean, platform: string, folder?: string, upstreams: { name: string, title?: string, state: string, reason?: string }[], models: Model[],
 *   providers: Provider[], hub?: { title: string, keysAt?: string } }} Setup
 *
 * @typedef {{ source: Source, title: string, upstream: string, models: string[], remark?: string }} Added
 * @typedef {{ ok: true, files: string[], stamp?: string, outcome: "applied" | "restarted" | "by-hand", command?: string, reason?: string }
 *   | { ok: false, reason: string, isOutdated?: true }} Written
 */

/** The actions need a one-time code, or the one that was given opens nothing any more. */
export class CodeNeeded extends Error {}

/** The name of the token that a code was exchanged for. A tab keeps it while it is open. */
const TOKEN = "laneway setup";

/** @returns {{ sources: Added[], models: ChosenModel[], default: string | undefined }} */
const nothing = () => ({ sources: [], models: [], default: undefined });

/** The choices that are not written yet. */
export let draft = nothing();

/**
 * The steps behind the files that were done in this tab.
 * @type {Set<"client" | "first">}
 */
export const reached = new Set();

/** The default that was written last: pages propose it first. */
let written = "";

// Only the page has the secrets, so a page that is loaded again begins anew.
globalThis.addEventListener?.("beforeunload", (event) => {
  if (draft.sources.length > 0) event.preventDefault();
});

export function forgetDraft() {
  written = draft.default ?? written;
  draft = nothing();
}

/**
 * The chat models that work, and the best to propose first.
 * @param {Setup} setup
 */
export function workingModels({ models }) {
  const working = models.filter(({ works, task }) => works && task === "chat");
  const isWritten = (/** @type {Model} */ { lane, name }) => lane === "oss" && name === written;
  return [...working.filter(isWritten), ...working.filter((model) => !isWritten(model))];
}

/** @returns {Answers} */
export function answersOf({ sources, models, default: first } = draft) {
  return {
    sources: sources.map(({ source }) => source),
    models,
    ...first !== undefined && models.some(({ name }) => name === first) && { default: first },
  };
}

/**
 * The facts that the guide shows. `isOpen` says whether this tab has given a code.
 * @returns {Promise<Setup>}
 */
export async function readSetup() {
  const facts = await ask("setup", { headers: { accept: "application/json", ...ownHeader() } });
  // A gateway inside another program knows neither.
  return { file: "gateway.json", command: "deno task -q laneway", ...facts };
}

/** @returns {Record<string, string>} */
function ownHeader() {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? {} : { "x-laneway-setup": token };
}

/** @param {string} code */
export async function openWith(code) {
  const { token } = await (await post("setup/open", { code })).json();
  sessionStorage.setItem(TOKEN, token);
}

/**
 * @param {"find" | "check" | "plan" | "write"} path
 * @param {unknown} body
 */
export async function act(path, body) {
  return await (await post(`setup/${path}`, body)).json();
}

/**
 * The steps of a client's connection, as they come.
 * @param {{ client: string, model?: string, lane?: string, key?: string, undo?: boolean, print?: boolean }} body
 */
export async function* connecting(body) {
  yield* lines("setup/connect", body);
}

/**
 * The lines of JSON of an answer, as they come.
 * @param {string} path below `api/`
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<any>}
 */
export async function* lines(path, body, signal) {
  const response = await post(path, body, signal);
  let rest = "";
  for await (const piece of textsIn(response.body)) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line);
  }
  if (rest.trim() !== "") yield JSON.parse(rest);
}

/**
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 */
async function post(path, body, signal) {
  const response = await send(`api/${path}`, {
    method: "POST",
    signal,
    headers: {
      accept: "application/json",
      "content-type": "application/json",
      ...ownHeader(),
    },
    body: JSON.stringify(body),
  });
  if (response.ok) return response;
  const message = await messageIn(response);
  if (response.status === 401) throw new LoginNeeded(message);
  if (response.status === 403) {
    sessionStorage.removeItem(TOKEN);
    throw new CodeNeeded(message);
  }
  throw new Error(message);
}
