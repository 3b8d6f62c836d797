// @ts-check
/// <reference lib="dom" />
/** Requests as they run and end. */
import { ask, count, duration, h, sparkline } from "./dom.js";

const EVERY_MS = 1_000;
/** How many that ended are listed. */
const MOST_ROWS = 5_000;
/** How many rows are drawn at once. */
const DRAWN = 200;
/** The charts' columns, and how long each is. */
const [COLUMNS, COLUMN_MS] = [30, 10_000];

/**
 * @typedef {{ number?: number, id: string, time: string, path: string, key?: string, lane?: string, protocol?: string,
 *   model?: string, target?: string, provider?: string, attempts?: number, stream?: boolean, status?: number, error?: string,
 *   firstEventMs?: number, durationMs?: number, elapsedMs?: number, cost?: string, notes?: string[], client?: string,
 *   usage?: { inputTokens: number, outputTokens: number } }} Entry
 */

/** @type {Entry[]} */
const ended = [];
let next = 0;
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
  title: "Live",
  /** @param {HTMLElement} main */
  open(main) {
    const filter = h("input", {
      type: "search",
      placeholder: "model, key, client, status …",
      value: filterInAddress(),
    });
    const onlyErrors = h("input", { type: "checkbox" });
    const pause = h("button", { type: "button", "aria-pressed": "false" }, "Pause");
    const figures = h("ul", { class: "figures", "aria-label": "The last five minutes" });
    const body = h("tbody");
    const caption = h("caption", {}, "Requests, the latest first");
    const dialog = h("dialog");
    let isPaused = false;
    /** @type {Entry[]} */
    let running = [];
    const draw = () =>
      drawRows(
        body,
        caption,
        [...running, ...ended],
        { text: filter.value, onlyErrors: onlyErrors.checked },
        (entry) => show(dialog, entry),
      );
    filter.addEventListener("input", () => {
      history.replaceState(null, "", filter.value ? `#live?${encodeURIComponent(filter.value)}` : "#live");
      draw();
    });
    onlyErrors.addEventListener("change", draw);
    pause.addEventListener("click", () => {
      isPaused = !isPaused;
      pause.setAttribute("aria-pressed", String(isPaused));
      pause.textContent = isPaused ? "Go on" : "Pause";
    });
    main.append(
      h("h1", {}, "Live"),
      figures,
      h("div", { class: "bar" }, h("label", {}, "Filter", filter), h("label", {}, "Errors only", onlyErrors), pause),
      h(
        "div",
        { class: "wide" },
        h(
          "table",
          {},
          caption,
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ...HEADS.map((head) => h("th", { scope: "col", class: NUMBERS.has(head) ? "number" : undefined }, head)),
            ),
          ),
          body,
        ),
      ),
      dialog,
    );
    draw();
    return {
      everyMs: EVERY_MS,
      async refresh() {
        asked ??= ask(`live?since=${next}`).finally(() => asked = undefined);
        const answer = await asked;
        // A gateway that was started anew counts from 0.
        if (answer.next < next) ended.length = 0;
        // Where the page is opened anew meanwhile, two take the same answer.
        const latest = ended[0]?.number ?? -1;
        ended.unshift(
          ...answer.ended.filter((/** @type {{ number: number }} */ { number }) => number > latest).reverse(),
        );
        next = answer.next;
        ended.length = Math.min(ended.length, MOST_ROWS);
        running = answer.running.toReversed();
        if (isPaused) return;
        drawFigures(figures, answer.now, running.length);
        draw();
      },
    };
  },
};

function filterInAddress() {
  try {
    return decodeURIComponent(location.hash.split("?")[1] ?? "");
  } catch {
    return "";
  }
}

/**
 * @param {HTMLElement} body
 * @param {HTMLElement} caption
 * @param {readonly Entry[]} entries
 * @param {{ text: string, onlyErrors: boolean }} filter
 * @param {(entry: Entry) => void} onShow
 */
function drawRows(body, caption, entries, { text, onlyErrors }, onShow) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isWanted = (/** @type {Entry} */ entry) => {
    if (onlyErrors && !((entry.status ?? 0) >= 400)) return false;
    if (words.length === 0) return true;
    const all = [
      entry.client,
      entry.key,
      entry.lane,
      entry.model,
      entry.target,
      entry.status,
      entry.error,
      entry.protocol,
      entry.id,
    ]
      .join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  };
  const wanted = entries.filter(isWanted);
  caption.textContent = `Requests, the latest first: ${count(wanted.length)}${
    wanted.length > DRAWN ? `, of which ${DRAWN} are shown` : ""
  }`;
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.id : undefined;
  body.replaceChildren(...wanted.slice(0, DRAWN).map((entry) => rowOf(entry, onShow)));
  if (focused) {
    for (const button of body.querySelectorAll("button")) {
      if (button.dataset.id === focused) button.focus();
    }
  }
}

/**
 * @param {Entry} entry
 * @param {(entry: Entry) => void} onShow
 */
function rowOf(entry, onShow) {
  const {
    id,
    time,
    client,
    key,
    lane,
    model,
    target,
    status,
    error,
    firstEventMs,
    durationMs,
    elapsedMs,
    usage,
    cost,
    notes,
  } = entry;
  const runs = status === undefined;
  const open = h("button", {
    type: "button",
    "data-id": id,
    "aria-label": `Request of ${clock(time)}: details`,
    click: () => onShow(entry),
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
    h("td", { class: "number" }, duration(durationMs ?? elapsedMs)),
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
 */
function show(dialog, entry) {
  const { notes = [], usage, ...facts } = entry;
  const rows = Object.entries({ ...facts, ...usage }).flatMap(([name, value]) =>
    value === undefined ? [] : [h("dt", {}, name), h("dd", {}, String(value))]
  );
  dialog.replaceChildren(
    h("h2", {}, `Request ${entry.id}`),
    h("dl", {}, ...rows),
    h("h2", {}, notes.length > 0 ? "What was dropped, clamped or changed" : "Nothing was dropped, clamped or changed"),
    h("ul", {}, ...notes.map((note) => h("li", {}, note))),
    h("form", { method: "dialog" }, h("button", {}, "Close")),
  );
  dialog.showModal();
}

/**
 * @param {HTMLElement} list
 * @param {number} now
 * @param {number} running
 */
function drawFigures(list, now, running) {
  const recent = ended.filter(({ time }) => now - Date.parse(time) < COLUMNS * COLUMN_MS);
  /** @param {(entry: Entry) => number} of */
  const columns = (of) => {
    const sums = new Array(COLUMNS).fill(0);
    for (const entry of recent) {
      const column = COLUMNS - 1 - Math.floor(Math.max(0, now - Date.parse(entry.time)) / COLUMN_MS);
      if (column >= 0) sums[column] += of(entry);
    }
    return sums;
  };
  /** @param {(entry: Entry) => number} of */
  const sum = (of) => recent.reduce((total, entry) => total + of(entry), 0);
  const slowest = recent.map(({ durationMs = 0 }) => durationMs).sort((one, other) => one - other);
  const median = slowest[Math.floor(slowest.length / 2)];
  const isError = (/** @type {Entry} */ { status = 0 }) => status >= 400 ? 1 : 0;
  const tokens = (/** @type {Entry} */ { usage }) => usage ? usage.inputTokens + usage.outputTokens : 0;
  const dollars = (/** @type {Entry} */ { cost }) => Number(cost ?? 0);
  const figure = (
    /** @type {string} */ name,
    /** @type {string} */ value,
    /** @type {number[] | undefined} */ values,
  ) => h("li", {}, h("b", {}, value), h("span", {}, name), ...values ? [sparkline(values)] : []);
  list.replaceChildren(
    figure("running", count(running), undefined),
    figure("requests in 5 minutes", count(recent.length), columns(() => 1)),
    figure("median duration", duration(median) || "–", columns(({ durationMs = 0 }) => durationMs)),
    figure("errors in 5 minutes", count(sum(isError)), columns(isError)),
    figure("tokens in 5 minutes", count(sum(tokens)), columns(tokens)),
    figure(
      "dollars in 5 minutes",
      recent.some(({ cost }) => cost !== undefined) ? sum(dollars).toFixed(4) : "–",
      columns(dollars),
    ),
  );
}
