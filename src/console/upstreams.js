// @ts-check
/// <reference lib="dom" />
/** How each upstream is. */
import { go } from "./empty.js";
import { ask, count, duration, h, LoginNeeded, order, update } from "./dom.js";

const EVERY_MS = 2_000;
const HEADS = ["Upstream", "Speaks", "State", "Latency", "Running", "Waiting", "Last error"];
const REFUSED_HEADS = ["Upstream", "Model", "Relaxation", "Kind", "Holds for", "Until", ""];

/** @typedef {{ model: string, kind: string, part: string, holdsFor: string, until: string }} Part */

export const upstreams = {
  /** @param {HTMLElement} main */
  open(main) {
    const figures = h("ul", { class: "figures", "aria-label": "This process" });
    const body = h("tbody");
    const refused = h("tbody");
    const refusedTable = h(
      "table",
      { hidden: true },
      h("caption", {}, "What models were found to refuse"),
      headOf(REFUSED_HEADS),
      refused,
    );
    const problem = h("p", { class: "error", role: "alert" });
    main.append(
      h("h1", {}, "Upstreams"),
      h("div", { class: "bar" }, go("#setup?upstream", "Add upstream"), go("#setup?models", "Add model")),
      figures,
      h("div", { class: "wide" }, h("table", {}, h("caption", {}, "As seen by this process"), headOf(HEADS), body)),
      problem,
      h("div", { class: "wide" }, refusedTable),
    );
    /** @param {{ upstream: string, model: string }} place */
    const forget = async (place) => {
      problem.textContent = "";
      try {
        await order("upstreams/forget", place);
        await refresh();
      } catch (error) {
        if (error instanceof LoginNeeded) return dispatchEvent(new HashChangeEvent("hashchange"));
        problem.textContent = /** @type {Error} */ (error).message;
      }
    };
    const refresh = async () => {
      const status = await ask("status");
      figures.replaceChildren(
        ...Object.entries({
          state: status.status,
          "running requests": count(status.requestsRunning),
          "open streams": count(status.streamsOpen),
          WebSockets: count(status.webSocketsOpen),
          "MB of memory": count(Math.round(status.memoryBytes / 1e6)),
        }).map(([name, value]) => h("li", {}, h("b", {}, value), h("span", {}, name))),
      );
      body.replaceChildren(...status.upstreams.map(rowOf));
      const rows = status.upstreams.flatMap((
        /** @type {{ name: string, refused?: Part[] }} */ { name, refused = [] },
      ) =>
        // A model is forgotten as a whole, so it has one button.
        refused.map((part, at) => refusedRow(name, part, refused[at - 1]?.model !== part.model && forget))
      );
      refusedTable.hidden = rows.length === 0;
      // The focus stays on the button that has it.
      update(refused, rows);
    };
    return { everyMs: EVERY_MS, refresh };
  },
};

/** @param {readonly string[]} heads */
function headOf(heads) {
  return h("thead", {}, h("tr", {}, ...heads.map((text) => h("th", { scope: "col" }, text || "Actions"))));
}

/**
 * @param {string} upstream
 * @param {Part} part
 * @param {false | ((place: { upstream: string, model: string }) => void)} forget nothing where the row above has the button
 */
function refusedRow(upstream, { model, kind, part, holdsFor, until }, forget) {
  const button = forget && h("button", {
    type: "button",
    "aria-label": `Forget all that ${model} of ${upstream} refuses`,
    click: () => forget({ upstream, model }),
  }, "Forget all");
  const time = new Date(until).toLocaleString("en-GB");
  return h("tr", {}, ...[upstream, model, part, kind, holdsFor, time, button || ""].map((cell) => h("td", {}, cell)));
}

/**
 * @param {{ name: string, driver: string, missingSecret?: string, missingFile?: string, resting: string[],
 *   latencyMs?: number, running?: number, waiting?: number, lastError?: { code: string, time: string } }} upstream
 */
function rowOf({ name, driver, missingSecret, missingFile, resting, latencyMs, running, waiting, lastError }) {
  const state = missingSecret !== undefined
    ? `needs the variable ${missingSecret}`
    : missingFile !== undefined
    ? `needs a secret in the file ${missingFile}`
    : resting.length > 0
    ? `circuit open: ${resting.join(", ")}`
    : "ready";
  return h(
    "tr",
    { class: state === "ready" ? "runs" : "bad" },
    h("td", {}, name),
    h("td", {}, driver),
    h(
      "td",
      { class: "status" },
      state,
      ...state.startsWith("needs") ? [" ", h("a", { href: "#setup?upstream" }, "Enter it")] : [],
    ),
    h("td", {}, duration(latencyMs)),
    h("td", {}, running ?? ""),
    h("td", {}, waiting ?? ""),
    h("td", {}, lastError ? `${lastError.code}, ${new Date(lastError.time).toLocaleString("en-GB")}` : ""),
  );
}
