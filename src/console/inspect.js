// @ts-check
/// <reference lib="dom" />
/** Requests that were recorded, and one of them on all its way. */
import { ask, count, duration, h, queryInAddress, update } from "./dom.js";
import { empty, go } from "./empty.js";
import { curlOf } from "./curl.js";
import { bodyOf, copyButton, headers, side, stepOf, valueOf } from "./inspect_side.js";
import { factsOf } from "./facts.js";
import { replay } from "./replay.js";
import { RECORDING } from "./switches.js";
import { turnOn } from "./turn_on.js";
import { attemptOf, stepsOf, timeline } from "./timeline.js";

const EVERY_MS = 2_000;
const HEADS = ["Time", "Key", "Path", "Model → target", "Status", "Duration", "Calls", "kB"];

export const inspect = {
  /** @param {HTMLElement} main */
  open(main) {
    const id = queryInAddress();
    main.append(h("h1", {}, "Inspect"));
    return id ? openOne(main, id) : openList(main);
  },
};

/** @param {HTMLElement} main */
function openList(main) {
  const state = h("p", { class: "quiet" });
  const body = h("tbody");
  const head = h("thead", {}, h("tr", {}, ...HEADS.map((text) => h("th", { scope: "col" }, text))));
  const list = h(
    "div",
    { class: "wide" },
    h("table", {}, h("caption", {}, "Recorded requests, latest first"), head, body),
  );
  const none = h("div");
  main.append(state, none, list);
  let drawn = "";
  return {
    everyMs: EVERY_MS,
    async refresh() {
      const { bounds, bytes, passed, data } = await ask("records");
      state.textContent = bounds
        ? `The latest ${
          count(bounds.requests)
        } requests are kept in memory, including what clients and models write: ` +
          `${(bytes / 1e6).toFixed(1)} of ${count(bounds.megabytes)} MB.` +
          (passed > 0
            ? ` ${count(passed)} were not recorded: more than ${count(bounds.perMinute)} a minute arrived.`
            : "")
        : "";
      list.hidden = data.length === 0;
      if (data.length > 0) none.replaceChildren();
      else if (none.dataset.is !== String(bounds !== undefined)) {
        none.dataset.is = String(bounds !== undefined);
        none.replaceChildren(bounds ? noneYet() : notRecorded());
      }
      const text = JSON.stringify(data);
      if (text === drawn) return;
      drawn = text;
      const href = document.activeElement?.getAttribute("href");
      body.replaceChildren(...data.map(rowOf));
      // The focus of the keyboard stays on its row.
      const links = [...body.querySelectorAll("a")];
      links.find((link) => link.getAttribute("href") === href)?.focus({ preventScroll: true });
    },
  };
}

function notRecorded() {
  return empty(
    "Nothing is recorded. With recording on, this page shows each request as the client sent it, as the gateway understood it, and as the upstream received it.",
    turnOn({ ...RECORDING, isMain: true }),
  );
}

function noneYet() {
  return empty(
    "Requests are recorded from now on. Each will be listed here.",
    go("#playground", "Try a prompt", true),
    go("#setup?client", "Connect a client"),
  );
}

/** @param {any} entry */
function rowOf({ id, time, key, path, model, target, status, error, durationMs, calls, bytes }) {
  const clock = new Date(time).toLocaleTimeString("en-GB");
  const isOver = durationMs !== undefined;
  return h(
    "tr",
    { class: !isOver ? "runs" : status >= 400 ? "bad" : undefined },
    h("td", {}, h("a", { href: `#inspect?${encodeURIComponent(id)}`, "aria-label": `Request at ${clock}` }, clock)),
    h("td", { class: "text" }, key ?? ""),
    h("td", { class: "text" }, path),
    h("td", { class: "text" }, [model, target].filter(Boolean).join(" → ")),
    h("td", { class: "status" }, isOver ? [status, error].filter(Boolean).join(" ") : "running"),
    h("td", {}, duration(durationMs)),
    h("td", {}, calls),
    h("td", {}, (bytes / 1000).toFixed(1)),
  );
}

/**
 * @param {HTMLElement} main
 * @param {string} id
 */
function openOne(main, id) {
  const place = h("div");
  const again = h("div");
  const back = h("p", {}, h("a", { href: "#inspect" }, "All recorded requests"));
  main.append(back, h("h2", {}, `Request ${id}`), place, again);
  let isWhole = false;
  /** @type {any[]} */
  let [record, understood] = [];
  /** @type {number | undefined} */
  let chosen;
  const draw = () => update(place, drawn(record, understood, chosen, choose));
  const choose = (/** @type {number} */ index) => {
    chosen = index;
    draw();
  };
  return {
    everyMs: EVERY_MS,
    async refresh() {
      if (isWhole) return;
      const query = `?id=${encodeURIComponent(id)}`;
      [record, understood] = await Promise.all([ask(`record${query}`), ask(`record/understood${query}`)]);
      draw();
      isWhole = record.entry !== undefined;
      if (isWhole) again.replaceChildren(replaying(record, understood));
    },
  };
}

/**
 * @param {any} record
 * @param {any} understood
 */
function replaying({ id, answer }, { calls }) {
  const output = calls.findLast((/** @type {any} */ { answer }) => answer?.output)?.answer.output;
  const first = output ? valueOf(output) : bodyOf(answer.body);
  const leaving = new AbortController();
  addEventListener("hashchange", () => leaving.abort(), { once: true });
  const open = async () => {
    const form = replay(id, { first, signal: leaving.signal });
    place.replaceChildren(await form.catch(({ message }) => h("p", { class: "error", role: "alert" }, message)));
  };
  const place = h("div", {}, h("button", { type: "button", click: open }, "Edit and send again …"));
  return h("section", { "aria-label": "Replay" }, h("h2", {}, "Replay"), place);
}

/**
 * @param {any} record
 * @param {any} understood
 * @param {number | undefined} chosen the call that is shown; the one that served, where nobody has chosen
 * @param {(index: number) => void} onChoose
 * @returns {HTMLElement[]}
 */
function drawn(record, understood, chosen, onChoose) {
  const { client, calls, entry } = record;
  const notes = entry?.notes ?? [];
  const serving = Math.max(0, calls.findLastIndex((/** @type {any} */ { status }) => status >= 200 && status < 300));
  const shown = chosen ?? serving;
  const choice = h(
    "select",
    { change: (/** @type {any} */ { currentTarget }) => onChoose(Number(currentTarget.value)) },
    ...calls.map((/** @type {any} */ call, /** @type {number} */ index) =>
      h(
        "option",
        { value: index, selected: index === shown },
        `${index + 1}: ${call.target}, ${attemptOf(call)}, ${call.status ?? "none"}`,
      )
    ),
  );
  return [
    h("details", {}, h("summary", {}, `${client.method} ${client.path}`), factsOf(entry ?? {})),
    h("h2", {}, "Timeline"),
    timeline(stepsOf(record)),
    h("h2", {}, notes.length > 0 ? "Notes" : "Nothing was dropped, clamped or changed"),
    h("ul", {}, ...notes.map((/** @type {string} */ note) => h("li", {}, note))),
    h("p", { class: "bar", hidden: calls.length < 2 }, h("label", {}, "Upstream call", choice)),
    h("div", {}, ...sides(record, understood, shown)),
  ];
}

/**
 * The request on its way to one target, and the answer on its way back.
 * @param {any} record
 * @param {any} understood
 * @param {number} index
 * @returns {HTMLElement[]}
 */
function sides({ id, client, calls, answer, entry }, understood, index) {
  const notes = entry?.notes ?? [];
  const call = calls[index];
  const own = understood.calls[index] ?? {};
  const here = { ...client, url: new URL(`..${client.path}`, location.href).href };
  const part = `call.${index}`;
  return [
    h("h2", {}, "The request"),
    h(
      "div",
      { class: "sides" },
      side(
        "The client sent",
        headers(client.headers),
        bodyOf(client.body, notes),
        taking(here, id, "request", "LANEWAY_KEY"),
      ),
      side("The gateway understood", ...transformsOf(understood, call, own.isAsExplained)),
      call
        ? side(
          "The upstream received",
          h("p", { class: "quiet" }, call.url),
          headers(call.headers),
          bodyOf(call.body, notes),
          taking(call, id, `${part}.request`, "UPSTREAM_KEY"),
        )
        : side("The upstream received", h("p", { class: "quiet" }, "No upstream was called.")),
    ),
    h("h2", {}, "The answer"),
    h(
      "div",
      { class: "sides" },
      side(
        "The client received",
        statusOf(answer.status),
        headers(answer.headers),
        bodyOf(answer.body, notes),
        saving(answer.body, id, "answer"),
      ),
      side("The gateway read", ...answerOf(own, notes)),
      call
        ? side(
          "The upstream answered",
          statusOf(call.status),
          headers(call.answerHeaders),
          bodyOf(call.answer, notes),
          saving(call.answer, id, `${part}.answer`),
        )
        : side("The upstream answered", h("p", { class: "quiet" }, "Nothing.")),
    ),
  ];
}

/** @param {number | undefined} status */
function statusOf(status) {
  return h("p", { class: status !== undefined && status >= 300 ? "error" : "quiet" }, `Status ${status ?? "none yet"}`);
}

/**
 * The changes by each transform, and the form that they begin with.
 * @param {any} understood
 * @param {{ target: string, isFollowUp?: boolean } | undefined} call
 * @param {boolean | undefined} isAsExplained
 * @returns {HTMLElement[]}
 */
function transformsOf({ input, notes = [], problem, explanation }, call, isAsExplained) {
  const { steps = [], targets = [] } = explanation.value ?? {};
  const own = targets.find((/** @type {any} */ one) => one.target === call?.target);
  const all = [...steps, ...own?.steps ?? []];
  const why = problem ?? explanation.problem ?? own?.error?.message;
  return [
    ...why === undefined ? [] : [h("p", { class: "error" }, why)],
    ...isAsExplained === false
      ? [
        h(
          "p",
          { class: "error" },
          "Sent now, this call would be different: the upstream refused a part of it, or the settings have changed.",
        ),
      ]
      : [],
    ...call?.isFollowUp
      ? [
        h(
          "p",
          { class: "quiet" },
          "It follows from the answer to an earlier call, and holds more than the client sent.",
        ),
      ]
      : [],
    ...input ? [h("details", {}, h("summary", {}, "Canonical form"), valueOf(input, notes))] : [],
    h(
      "p",
      { class: "quiet" },
      all.length > 0 ? "Changed for the target, step by step:" : "Nothing was changed for the target.",
    ),
    ...all.map(stepOf),
  ];
}

/**
 * @param {any} call
 * @param {string[]} notes
 * @returns {HTMLElement[]}
 */
function answerOf({ answer, problem }, notes) {
  if (problem) return [h("p", { class: "error" }, problem)];
  if (!answer) return [h("p", { class: "quiet" }, "There is no answer, or it was passed on unchanged.")];
  return [valueOf(answer.error ?? answer.output, [...notes, ...answer.notes ?? []])];
}

/**
 * How to take a request away.
 * @param {any} request
 * @param {string} id
 * @param {string} part
 * @param {string} variable
 */
function taking(request, id, part, variable) {
  const bar = saving(request.body, id, part);
  bar.append(copyButton("As curl", () => curlOf(request, variable)));
  return bar;
}

/**
 * @param {import("./inspect_side.js").Body} body
 * @param {string} id
 * @param {string} part
 */
function saving({ text, bytes }, id, part) {
  if (text === undefined || bytes === 0) return h("p", { class: "bar" });
  const href = `api/record/text?id=${encodeURIComponent(id)}&part=${part}`;
  return h("p", { class: "bar" }, copyButton("Raw", () => text), h("a", { href, download: true }, "Save"));
}
