// @ts-check
/// <reference lib="dom" />
/** The step that waits for the first request, and shows it. */
import { ask, h } from "./dom.js";
import { Entries } from "./entries.js";
import { factsOf } from "./facts.js";
import { hasSession } from "./frame/sidebar.js";
import { copied } from "./file_view.js";
import { RECORDING } from "./switches.js";
import { reached, workingModels } from "./setup_api.js";
import { here } from "./other_clients.js";
import { turnOn } from "./turn_on.js";

/** @typedef {import("./entries.js").Entry} Entry */

const EVERY_MS = 1_000;
const MOST_EARLIER = 3;

/**
 * @param {HTMLElement} place
 * @param {import("./setup_api.js").Setup} setup
 * @param {() => void} onDone
 */
export function firstStep(place, setup, onDone) {
  const entries = new Entries();
  const state = h("p", { class: "busy", role: "status" }, "Waiting for a request …");
  const shown = h("div");
  const earlier = h("div");
  const outcome = h("p", { role: "alert", class: "error" });
  const [model] = workingModels(setup);
  const send = h("button", { type: "button", disabled: model === undefined }, "Send one from this page");
  send.addEventListener("click", async () => {
    outcome.textContent = "";
    send.disabled = true;
    const failure = model && await trying(model);
    outcome.textContent = failure ?? "";
    send.disabled = false;
  });
  place.append(
    state,
    shown,
    h("h2", {}, "Where from?"),
    h("p", {}, "Start the client that you connected and ask it something. Or paste this into a terminal:"),
    copied(curlOf(model), "A request by curl"),
    h("div", { class: "bar" }, send),
    outcome,
    earlier,
    h(
      "div",
      { class: "bar next" },
      h("a", { class: "button", href: "#live" }, "See all requests"),
      h("a", { class: "button", href: "#playground" }, "Try a prompt"),
      h("a", { class: "button", href: "#keys" }, "Give a team its keys"),
    ),
  );
  /** @type {number | undefined} */
  let since;
  /** @type {string | undefined} */
  let drawn;
  return {
    everyMs: EVERY_MS,
    async refresh() {
      const answer = await ask(`live?${entries.query}`);
      const isFirst = since === undefined;
      const known = entries.ended.length;
      entries.take(answer);
      since ??= entries.ended.length;
      if (isFirst) earlier.replaceChildren(...earlierOf(entries.ended, answer.isRecorded));
      const running = answer.running.at(-1);
      const latest = !isFirst && entries.ended.length > known ? entries.ended[0] : undefined;
      if (latest) {
        state.className = "done";
        if (!(latest.status !== undefined && latest.status >= 400)) {
          reached.add("first");
          onDone();
        }
        state.textContent = latest.status !== undefined && latest.status >= 400
          ? "A request has arrived, and was answered with an error. The facts say why."
          : "It works: your request has arrived and was answered.";
        drawn = latest.id;
        shown.replaceChildren(arrived(latest, answer.isRecorded === true));
      } else if (running && running.id !== drawn) {
        state.className = "busy";
        state.textContent = `A request for ${running.model ?? "a model"} is arriving …`;
      }
    },
  };
}

/**
 * @param {Entry} entry
 * @param {boolean} isRecorded
 */
function arrived(entry, isRecorded) {
  const { notes = [] } = entry;
  return h(
    "section",
    { class: "card", "aria-label": "The request" },
    h("h2", {}, ["Request", entry.model, entry.target].filter(Boolean).join(" → ")),
    factsOf(entry),
    ...notes.length > 0
      ? [
        h(
          "details",
          {},
          h("summary", {}, "What was changed for the model"),
          h("ul", {}, ...notes.map((note) => h("li", {}, note))),
        ),
      ]
      : [],
    h(
      "div",
      { class: "bar" },
      isRecorded
        ? h("a", { class: "button primary", href: `#inspect?${encodeURIComponent(entry.id)}` }, "Inspect it")
        : turnOn({ ...RECORDING, words: "Record requests, to look into them" }),
    ),
  );
}

/**
 * @param {readonly Entry[]} ended
 * @param {boolean} isRecorded
 */
function earlierOf(ended, isRecorded) {
  if (ended.length === 0) return [];
  return [
    h(
      "details",
      {},
      h("summary", {}, `Earlier requests, such as those of a client's test: ${ended.length}`),
      ...ended.slice(0, MOST_EARLIER).map((entry) => arrived(entry, isRecorded)),
    ),
  ];
}

/** @param {{ lane: string, name: string } | undefined} model */
function curlOf(model) {
  const { lane, name } = model ?? { lane: "oss", name: "sandbox" };
  const body = JSON.stringify({ model: name, messages: [{ role: "user", content: "What is a lane?" }] });
  // A gateway that somebody logs in to has keys.
  const key = hasSession.value ? ` -H "authorization: Bearer $LANEWAY_KEY"` : "";
  return `curl ${here()}/${lane}/v1/chat/completions${key} -H 'content-type: application/json' -d '${
    body.replaceAll("'", `'\\''`)
  }'`;
}

/**
 * Returns why it failed.
 * @param {{ lane: string, name: string }} model
 */
async function trying({ lane, name }) {
  const body = { model: name, messages: [{ role: "user", content: "Say hello in one sentence." }] };
  const headers = { "content-type": "application/json" };
  const path = `call/${lane}/v1/chat/completions`;
  try {
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    await response.body?.cancel();
    return undefined;
  } catch {
    return "The gateway is not responding";
  }
}
