// @ts-check
/// <reference lib="dom" />
/** What the guide asks the gateway to do, and what was chosen until now. Secrets stay in the memory of this page. */
import { LoginNeeded, messageIn, send } from "./dom.js";
import { textsIn } from "./wires.js";

/**
 * @typedef {import("../programs/init/answers.ts").Source} Source
 * @typedef {import("../programs/init/answers.ts").CheckedSource} CheckedSource
 * @typedef {import("../programs/init/answers.ts").ChosenModel} ChosenModel
 * @typedef {import("../programs/init/answers.ts").Found} Found
 * @typedef {import("../programs/init/answers.ts").Plan} Plan
 * @typedef {import("../programs/init/answers.ts").PlannedFile} PlannedFile
 * @typedef {import("../programs/init/answers.ts").Answers} Answers
 *
 * @typedef {{ id: string, title: string, keysAt?: string, needsBaseUrl?: boolean, form?: string, isLocal?: boolean }} Provider
 * @typedef {{ lane: string, name: string, works: boolean, reason?: string }} Model
 * @typedef {{ id: string, title: string, settings?: string[] }} OtherClient
 *
 * @typedef {{ isFresh: boolean, file: string, canAct: boolean, why?: string, needsCode: boolean, command: string,
 *   isLocal: boolean, platform: string, upstreams: { name: string, title?: string, state: string }[], models: Model[],
 *   providers: Provider[], hub?: { title: string, keysAt?: string }, clients?: OtherClient[] }} Setup
 *
 * @typedef {{ source: Source, title: string, upstream: string, models: string[], remark?: string }} Added
 * @typedef {{ ok: true, files: string[], outcome: "applied" | "restarted" | "by-hand", command?: string }
 *   | { ok: false, reason: string }} Written
 */

/** The actions need a one-time code, or the one that was given opens nothing any more. */
export class CodeNeeded extends Error {}

/** The name of the token that a code was exchanged for. A tab keeps it while it is open. */
const TOKEN = "laneway setup";

/** @returns {{ sources: Added[], models: ChosenModel[], default: string | undefined }} */
const nothing = () => ({ sources: [], models: [], default: undefined });

/** What was chosen and is not written yet. */
export let draft = nothing();

export function forgetDraft() {
  draft = nothing();
}

/** @returns {Answers} */
export function answersOf({ sources, models, default: first } = draft) {
  return {
    sources: sources.map(({ source }) => source),
    models,
    ...first !== undefined && models.some(({ name }) => name === first) && { default: first },
  };
}

export function hasToken() {
  return sessionStorage.getItem(TOKEN) !== null;
}

/** @param {string} code */
export async function openWith(code) {
  const { token } = await (await post("open", { code })).json();
  sessionStorage.setItem(TOKEN, token);
}

/**
 * @param {"find" | "check" | "plan" | "write"} path
 * @param {unknown} body
 */
export async function act(path, body) {
  return await (await post(path, body)).json();
}

/**
 * The steps of a client's connection, as they come.
 * @param {{ client: string, model?: string, lane?: string, undo?: boolean, print?: boolean }} body
 */
export async function* connecting(body) {
  const response = await post("connect", body);
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
 */
async function post(path, body) {
  const token = sessionStorage.getItem(TOKEN);
  const response = await send(`api/setup/${path}`, {
    method: "POST",
    headers: {
      accept: "application/json",
      "content-type": "application/json",
      ...token !== null && { "x-laneway-setup": token },
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
