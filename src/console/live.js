// @ts-check
/// <reference lib="dom" />
/** Requests as they run and end. */
import { Charts } from "./charts.js";
import { empty, go } from "./empty.js";
import { ask, count, duration, h, queryInAddress } from "./dom.js";
import { COLUMN_MS, Entries, latestFirst, quantile } from "./entries.js";
import { factsOf } from "./facts.js";
import { Rows } from "./rows.js";

const EVERY_MS = 1_000;

/** @typedef {import("./entries.js").Entry} Entry */

const entries = new Entries();
/** @type {Promise<any> | undefined} */
let asked;

const HEADS = [
  "Time",
  "Client",
  "Key",
  "Lane",
  "Model → target",
  "Status",
  "First event",
  "Duration",
  "Tokens",
  "Tokens/s",
  "Dollars",
  "Notes",
];
const NUMBERS = new Set(["First event", "Duration", "Tokens", "Tokens/s", "Dollars", "Notes"]);

export const live = {
  /** @param {HTMLElement} main */
  open(main) {
    const filter = h("input", {
      type: "search",
      placeholder: "model, key, client, status …",
      value: queryInAddress(),
    });
    const onlyErrors = h("input", { type: "checkbox" });
    const pause = h("button", { type: "button", "aria-pressed": "false" }, "Pause");
    const charts = new Charts();
    const dialog = h("dialog");
    /** @type {Rows<Entry>} */
    const rows = new Rows({
      heads: HEADS.map((text) => ({ text, isNumber: NUMBERS.has(text) })),
      keyOf: ({ feed, id }) => `${feed} ${id}`,
      rowOf: (entry) => rowOf(entry, () => show(dialog, entry, isRecorded)),
    });
    const none = h("div", { hidden: true }, noRequests());
    let isPaused = false;
    let isAsked = false;
    let isRecorded = false;
    /** @type {Entry[]} */
    let running = [];
    const draw = () => {
      const isWanted = wantedBy(filter.value, onlyErrors.checked);
      const wanted = [...running, ...entries.ended].filter(isWanted);
      rows.caption.textContent = `Requests, latest first: ${count(wanted.length)}`;
      const isEmpty = isAsked && running.length === 0 && entries.ended.length === 0;
      none.hidden = !isEmpty;
      charts.element.hidden = bar.hidden = isEmpty;
      rows.show(wanted);
    };
    filter.addEventListener("input", () => {
      history.replaceState(null, "", filter.value ? `#live?${encodeURIComponent(filter.value)}` : "#live");
      draw();
    });
    onlyErrors.addEventListener("change", draw);
    pause.addEventListener("click", () => {
      isPaused = !isPaused;
      pause.setAttribute("aria-pressed", String(isPaused));
      pause.textContent = isPaused ? "Resume" : "Pause";
    });
    const bar = h(
      "div",
      { class: "bar" },
      h("label", {}, "Filter", filter),
      h("label", { class: "check" }, onlyErrors, "Errors only"),
      pause,
      go("#setup?client", "Connect a client"),
    );
    main.append(
      h("h1", {}, "Live"),
      none,
      charts.element,
      bar,
      rows.element,
      dialog,
    );
    draw();
    return {
      everyMs: EVERY_MS,
      async refresh() {
        asked ??= ask(`live?${entries.query}`).finally(() => asked = undefined);
        const answer = await asked;
        entries.take(answer);
        isRecorded = answer.isRecorded === true;
        isAsked = true;
        const { feed } = answer;
        running = latestFirst(answer.running.toReversed()).map((/** @type {Entry} */ entry) => ({ ...entry, feed }));
        if (isPaused) return;
        drawCharts(charts, answer.now, running.length);
        draw();
      },
    };
  },
};

function noRequests() {
  return empty(
    "No request has arrived since the gateway started. Each will be listed here while it runs, with its model, tokens, duration and cost.",
    go("#setup?client", "Connect a client", true),
    go("#playground", "Try a prompt"),
  );
}

/**
 * The texts that are searched for the words of the filter.
 * @type {WeakMap<Entry, string>}
 */
const texts = new WeakMap();

/** @param {Entry} entry */
function textOf(entry) {
  const { client, key, lane, model, target, status, error, protocol, id } = entry;
  const text = texts.get(entry) ??
    [client, key, lane, model, target, status, error, protocol, id].join(" ").toLowerCase();
  texts.set(entry, text);
  return text;
}

/**
 * @param {string} text
 * @param {boolean} onlyErrors
 * @returns {(entry: Entry) => boolean}
 */
function wantedBy(text, onlyErrors) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (entry) => {
    if (onlyErrors && !((entry.status ?? 0) >= 400)) return false;
    return words.length === 0 || words.every((word) => textOf(entry).includes(word));
  };
}

/**
 * @param {Entry} entry
 * @param {() => void} onShow
 */
function rowOf(entry, onShow) {
  const { time, client, key, lane, model, target, status, error, firstEventMs, usage, cost, notes } = entry;
  const runs = status === undefined;
  const open = h("button", {
    type: "button",
    "aria-label": `Request at ${clock(time)}: details`,
    click: onShow,
  }, clock(time));
  const names = [model, target].filter(Boolean).join(" → ");
  return h(
    "tr",
    { class: runs ? "runs" : status >= 400 ? "bad" : undefined },
    h("td", {}, open),
    h("td", { class: "text", title: client }, client ?? ""),
    h("td", { class: "text" }, key ?? ""),
    h("td", {}, lane ?? ""),
    h("td", { class: "text", title: names }, names),
    h("td", { class: "status" }, runs ? "running" : [status, error].filter(Boolean).join(" ")),
    h("td", { class: "number" }, duration(firstEventMs)),
    h("td", { class: "number" }, duration(entry.durationMs ?? entry.elapsedMs)),
    h("td", { class: "number" }, usage ? `${count(usage.inputTokens)} + ${count(usage.outputTokens)}` : ""),
    h("td", { class: "number" }, speed(entry)),
    h("td", { class: "number" }, cost ?? ""),
    h("td", { class: "number" }, notes?.length ?? ""),
  );
}

/** @param {string} time */
function clock(time) {
  return new Date(time).toLocaleTimeString("en-GB");
}

/** @param {Entry} entry */
function speed({ usage, durationMs = 0, firstEventMs = 0 }) {
  const seconds = (durationMs - firstEventMs) / 1000;
  return usage && usage.outputTokens > 1 && seconds > 0.05 ? (usage.outputTokens / seconds).toFixed(0) : "";
}

/**
 * @param {HTMLDialogElement} dialog
 * @param {Entry} entry
 * @param {boolean} isRecorded whether the page Inspect may have it
 */
function show(dialog, entry, isRecorded) {
  const { notes = [] } = entry;
  dialog.replaceChildren(
    h("h2", {}, `Request ${entry.id}`),
    factsOf(entry),
    h("h2", {}, notes.length > 0 ? "What was dropped, clamped or changed" : "Nothing was dropped, clamped or changed"),
    h("ul", {}, ...notes.map((note) => h("li", {}, note))),
    ...isRecorded ? [h("p", {}, h("a", { href: `#inspect?${encodeURIComponent(entry.id)}` }, "Inspect"))] : [],
    h("form", { method: "dialog" }, h("button", {}, "Close")),
  );
  dialog.showModal();
}

/**
 * @param {Charts} charts
 * @param {number} now
 * @param {number} running
 */
function drawCharts(charts, now, running) {
  const columns = entries.columns(now);
  const durations = columns.flatMap((sums) => sums?.durations ?? []);
  const perSecond = (/** @type {number} */ value) => `${Number((value * 1000 / COLUMN_MS).toFixed(1))}/s`;
  const dollars = (/** @type {number} */ value) => value.toFixed(4);
  const inTime = (/** @type {number | undefined} */ value) => duration(value) || "–";
  const sum = (/** @type {number[]} */ values) => values.reduce((all, value) => all + value, 0);
  const requests = columns.map((sums) => sums?.requests ?? 0);
  const errors = columns.map((sums) => sums?.errors ?? 0);
  const tokens = columns.map((sums) => sums?.tokens ?? 0);
  const spent = columns.map((sums) => sums?.dollars ?? 0);
  const latency = (/** @type {number} */ share) => columns.map((sums) => quantile(sums?.durations ?? [], share) ?? 0);
  charts.draw([{ name: "running", value: count(running) }], [
    { name: "requests", total: count(sum(requests)), values: requests, inWords: perSecond },
    {
      name: "median duration; dashed: 95 %",
      total: inTime(quantile(durations, 0.5)),
      values: latency(0.5),
      more: latency(0.95),
      inWords: inTime,
    },
    { name: "errors", total: count(sum(errors)), values: errors, inWords: count },
    { name: "tokens", total: count(sum(tokens)), values: tokens, inWords: count },
    { name: "dollars", total: dollars(sum(spent)), values: spent, inWords: dollars },
  ], now);
}
