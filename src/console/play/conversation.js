// @ts-check
/// <reference lib="dom" />
/** The conversations of the playground: what was asked, and what each model answered. */
import { Away, messageIn } from "../dom.js";
import { eventsIn } from "../streams.js";
import { signal } from "../ui.js";
import { controlsOf, offered, settings, sides } from "./settings.js";

/**
 * @typedef {{ type: string, [name: string]: any }} Part
 * @typedef {{ text: string, isError?: boolean }} Result
 * @typedef {{ state: "waiting" | "answering" | "done" | "stopped" | "failed", model: string, wire: string,
 *   parts: readonly Part[], results: Readonly<Record<string, Result>>, error?: string, head?: any, entry?: any,
 *   finish?: any, firstMs?: number, totalMs?: number }} Step
 * @typedef {{ id: number, content: readonly Part[], answers: Readonly<Record<number, readonly Step[]>> }} Turn
 *
 * A step is one request. A model that calls tools goes on with the results in the next step.
 */

/** How often a growing answer is drawn anew, in milliseconds. A long one takes longer to draw. */
const DRAWN_MS = 80;
const CHARACTERS_PER_MS = 150;
/** How many times in a row the presets of tools answer. */
const MOST_ROUNDS = 8;
/** The parts of an answer that go back to the model. */
const SENT_BACK = new Set(["text", "reasoning", "refusal", "tool-call", "file"]);

/** @type {import("@preact/signals").Signal<readonly Turn[]>} */
export const turns = signal(/** @type {readonly Turn[]} */ ([]));
/** The requests that are running, by turn and side. @type {import("@preact/signals").Signal<ReadonlyMap<string, AbortController>>} */
export const running = signal(new Map());

let lastTurn = 0;
/** Groups the requests of a conversation. */
let session = newSession();

/** Not as a UUID, which browsers make for encrypted connections only. */
function newSession() {
  return `playground-${crypto.getRandomValues(new Uint32Array(1))[0]?.toString(36)}`;
}

export function startAnew() {
  stopAll();
  turns.value = [];
  session = newSession();
}

export function stopAll() {
  for (const controller of running.value.values()) controller.abort();
}

/** @param {number} id @param {number} side */
export const keyOf = (id, side) => `${id}/${side}`;

/** Asks all models. @param {readonly Part[]} content */
export function askAll(content) {
  const turn = { id: ++lastTurn, content, answers: {} };
  turns.value = [...turns.value, turn];
  void Promise.all(sides.value.map(({ id }) => askSide(turn.id, id)));
}

/** Asks again with another text. The turns after it, which answered the old one, are dropped. @param {number} id @param {readonly Part[]} content */
export function askChanged(id, content) {
  const at = turns.value.findIndex((turn) => turn.id === id);
  for (const turn of turns.value.slice(at)) stopTurn(turn.id);
  turns.value = turns.value.slice(0, at);
  askAll(content);
}

/** @param {number} id */
export function removeTurn(id) {
  stopTurn(id);
  turns.value = turns.value.filter((turn) => turn.id !== id);
}

/** Asks a model no more. @param {number} id */
export function removeSide(id) {
  for (const [key, controller] of running.value) if (key.endsWith(`/${id}`)) controller.abort();
  sides.value = sides.value.filter((one) => one.id !== id);
}

/** @param {number} id */
function stopTurn(id) {
  for (const [key, controller] of running.value) if (key.startsWith(`${id}/`)) controller.abort();
}

/** Asks one model, once more if it has answered. @param {number} id @param {number} sideId */
export async function askSide(id, sideId) {
  running.value.get(keyOf(id, sideId))?.abort();
  setSteps(id, sideId, []);
  await goOn(id, sideId);
}

/** Gives the results of the calls to the model. @param {number} id @param {number} sideId @param {Record<string, Result>} results */
export async function giveResults(id, sideId, results) {
  changeLast(id, sideId, { results });
  await goOn(id, sideId);
}

/** Asks, and goes on as long as presets answer the calls. @param {number} id @param {number} sideId */
async function goOn(id, sideId) {
  const key = keyOf(id, sideId);
  const controller = new AbortController();
  running.value = new Map(running.value).set(key, controller);
  try {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      await runStep(id, sideId, controller.signal);
      const results = presetsFor(stepsOf(id, sideId).at(-1));
      if (!results) return;
      changeLast(id, sideId, { results });
    }
  } finally {
    if (running.value.get(key) === controller) {
      const rest = new Map(running.value);
      rest.delete(key);
      running.value = rest;
    }
  }
}

/** The results of all calls, if each of their tools has a preset. @param {Step | undefined} step */
function presetsFor(step) {
  const calls = step?.state === "done" ? callsIn(step) : [];
  if (calls.length === 0) return undefined;
  const presets = new Map(
    settings.value.tools.map((tool) => [tool.name, tool.type === "function" ? tool.preset : undefined]),
  );
  /** @type {Record<string, Result>} */
  const results = {};
  for (const { id, name } of calls) {
    const text = presets.get(name);
    if (!text) return undefined;
    results[id] = { text };
  }
  return results;
}

/** @param {Step} step */
export const callsIn = ({ parts }) => parts.filter(({ type }) => type === "tool-call");

/** @param {number} id @param {number} side @returns {readonly Step[]} */
const stepsOf = (id, side) => turns.value.find((turn) => turn.id === id)?.answers[side] ?? [];

/** @param {number} id @param {number} side @param {readonly Step[]} steps */
function setSteps(id, side, steps) {
  turns.value = turns.value.map((turn) =>
    turn.id === id ? { ...turn, answers: { ...turn.answers, [side]: steps } } : turn
  );
}

/** @param {number} id @param {number} side @param {Partial<Step>} change */
function changeLast(id, side, change) {
  const steps = stepsOf(id, side);
  const last = steps.at(-1);
  if (last) setSteps(id, side, [...steps.slice(0, -1), { ...last, ...change }]);
}

/** @param {number} id @param {number} sideId @param {AbortSignal} signal */
async function runStep(id, sideId, signal) {
  const side = sides.value.find((one) => one.id === sideId);
  if (!side) return;
  const body = (() => {
    try {
      return { asked: requestOf(side, turns.value.slice(0, turns.value.findIndex((turn) => turn.id === id) + 1)) };
    } catch (error) {
      return { problem: /** @type {Error} */ (error).message };
    }
  })();
  /** @type {Step} */
  const first = { state: "waiting", model: side.model, wire: side.wire, parts: [], results: {} };
  setSteps(id, sideId, [...stepsOf(id, sideId), first]);
  const show = (/** @type {Partial<Step>} */ change) => !signal.aborted && changeLast(id, sideId, change);
  if (!body.asked) return void show({ state: "failed", error: body.problem });
  const began = performance.now();
  const elapsed = () => Math.round(performance.now() - began);
  try {
    await follow(body.asked, signal, elapsed, show);
  } catch (error) {
    const change = signal.aborted
      ? { state: /** @type {const} */ ("stopped") }
      : { state: /** @type {const} */ ("failed"), error: inWords(error) };
    // The model may have been asked again meanwhile.
    if (running.value.get(keyOf(id, sideId))?.signal === signal) {
      changeLast(id, sideId, { ...change, totalMs: elapsed() });
    }
  }
}

/** Browsers have their own words for a connection that broke. @param {unknown} error */
function inWords(error) {
  return error instanceof TypeError ? "The connection to the gateway broke off" : /** @type {Error} */ (error).message;
}

/**
 * Shows an answer as it comes.
 * @param {object} asked
 * @param {AbortSignal} signal
 * @param {() => number} elapsed
 * @param {(change: Partial<Step>) => void} show
 */
async function follow(asked, signal, elapsed, show) {
  const response = await fetch("playground/ask", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(asked),
    signal,
  }).catch((error) => {
    throw signal.aborted ? error : new Away();
  });
  if (!response.ok) throw new Error(await messageIn(response));
  const parts = /** @type {Part[]} */ ([]);
  /** @type {Partial<Step>} */
  let change = {};
  let length = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let due;
  const flush = () => {
    due = undefined;
    show({ ...change, parts: parts.map((part) => ({ ...part })) });
  };
  try {
    for await (const event of eventsIn(response.body)) {
      signal.throwIfAborted();
      change = { ...change, ...changeBy(event, parts, change, elapsed) };
      length += event.delta?.text.length ?? 0;
      due ??= setTimeout(flush, DRAWN_MS + length / CHARACTERS_PER_MS);
    }
  } finally {
    clearTimeout(due);
    flush();
  }
  const isEnded = change.finish !== undefined || change.error !== undefined;
  show({
    state: change.finish && !change.error ? "done" : "failed",
    totalMs: elapsed(),
    ...!isEnded && { error: "The answer broke off" },
  });
}

/**
 * @param {any} event
 * @param {Part[]} parts
 * @param {Partial<Step>} before
 * @param {() => number} elapsed
 * @returns {Partial<Step>}
 */
function changeBy(event, parts, before, elapsed) {
  switch (event.type) {
    case "head":
      return { head: event };
    case "ended":
      return { entry: event.entry };
    case "error":
      return { error: event.error.message };
    case "finish":
      return { finish: event };
    case "part-start":
      parts[event.index] = { ...event.part };
      return { state: "answering", firstMs: before.firstMs ?? elapsed() };
    case "part-delta": {
      const part = parts[event.index];
      if (part) part[event.delta.type === "tool-input" ? "input" : "text"] += event.delta.text;
      return {};
    }
    case "part-end": {
      const part = parts[event.index];
      if (part) Object.assign(part, pick(event, ["annotations", "opaque", "extra"]));
      return {};
    }
    default:
      return {};
  }
}

/** @param {Record<string, any>} object @param {readonly string[]} names */
function pick(object, names) {
  return Object.fromEntries(names.flatMap((name) => object[name] === undefined ? [] : [[name, object[name]]]));
}

/**
 * The next request of a side, after these turns. Throws an error for people.
 * @param {import("./settings.js").Side} side
 * @param {readonly Turn[]} history
 */
export function requestOf({ id, model: name, wire }, history) {
  const [lane, ...rest] = name.trim().split("/");
  if (!lane || rest.length === 0) throw new TypeError("Choose a model first: lane/model");
  const system = settings.value.system.trim();
  const messages = history.flatMap(({ content, answers }) => [
    { role: "user", content: content.map(withoutName) },
    ...(answers[id] ?? []).flatMap((step) => messagesOf(step, wire)),
  ]);
  return {
    wire: wire || offered.value.wires[0],
    lane,
    session: `${session}-${id}`,
    request: {
      model: rest.join("/"),
      messages: [...system ? [{ role: "system", content: [{ type: "text", text: system }] }] : [], ...messages],
      ...controlsOf(settings.value),
    },
  };
}

/** The name of a picture is for its reader here: most wires have none. @param {Part} part */
function withoutName({ name, ...part }) {
  return name === undefined || part.mediaType?.startsWith("image/") ? part : { ...part, name };
}

/** The answer and the results of its calls, as the wire can send them back. @param {Step} step @param {string} wire */
function messagesOf({ parts, results, wire: own }, wire) {
  // A call that nobody answered is no part of what follows.
  const content = parts.filter(({ type, id, source }) =>
    SENT_BACK.has(type) && source?.type !== "id" && (type !== "tool-call" || Object.hasOwn(results, id))
  )
    .map(({ annotations: _, extra, ...part }) => own === wire && extra ? { ...part, extra } : part);
  const given = Object.entries(results).map(([id, { text, isError }]) => ({
    type: "tool-result",
    id,
    content: [{ type: "text", text }],
    ...isError && { isError },
  }));
  return [
    ...content.length > 0 ? [{ role: "assistant", content }] : [],
    ...given.length > 0 ? [{ role: "tool", content: given }] : [],
  ];
}
