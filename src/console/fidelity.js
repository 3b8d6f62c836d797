// @ts-check
/// <reference lib="dom" />
/** The fields that each wire keeps on the way to a model, and those of the answers that come back. */
import { chatModels } from "./chat_models.js";
import { ask, count, h } from "./dom.js";
import { keeping } from "./side.js";

const EVERY_MS = 60_000;

/** @typedef {{ field: string, is: string, words: string }} Row */

/** The words for each kind of row. */
const KINDS = [
  ["carried", "carried unchanged"],
  ["mapped", "carried in another form"],
  ["answered", "done by the gateway itself"],
  ["idle", "left out; nothing is lost"],
  ["dropped", "dropped, with a note"],
  ["refused", "refused"],
  ["failed", "failed"],
  ["silent", "lost"],
];

export const fidelity = {
  /** @param {HTMLElement} main */
  open(main) {
    const models = h("select");
    const clients = h("select");
    const kind = h(
      "select",
      {},
      h("option", { value: "" }, "all"),
      ...KINDS.map(([value, text]) => h("option", { value }, text)),
    );
    const state = h("p", { class: "quiet", role: "status" });
    const tables = h("div");
    /** @type {{ requests: Row[], answers: Row[] } | undefined} */
    let shown;
    /** Raised with each question: an answer to an earlier one is not shown. */
    let turn = 0;
    const draw = () => shown && drawTables(tables, shown, kind.value);
    const look = async () => {
      if (!models.value || !clients.value) return;
      const mine = ++turn;
      state.textContent = "Sending each field through the gateway …";
      const [lane, ...rest] = models.value.split("/");
      const query = new URLSearchParams({ lane: lane ?? "", model: rest.join("/"), client: clients.value });
      try {
        const answer = await ask(`fidelity?${query}`);
        if (mine !== turn) return;
        shown = answer;
        state.textContent = `${answer.target} speaks ${answer.wire}. No model was called.`;
        draw();
      } catch (error) {
        if (mine !== turn) return;
        tables.replaceChildren();
        state.textContent = /** @type {Error} */ (error).message;
      }
    };
    for (const select of [models, clients]) select.addEventListener("change", () => void look());
    kind.addEventListener("change", draw);
    main.append(
      h("h1", {}, "Fidelity"),
      h(
        "p",
        { class: "quiet" },
        "What happens to each field that clients are known to send. The running gateway finds it out with its own configuration.",
      ),
      h(
        "div",
        { class: "bar" },
        h("label", {}, "Model", models),
        h("label", {}, "Client's wire", clients),
        h("label", {}, "Show", kind),
      ),
      state,
      tables,
    );
    return {
      everyMs: EVERY_MS,
      async refresh() {
        if (models.options.length > 0) return;
        const [{ all }, known] = await Promise.all([chatModels(), ask("fidelity")]);
        if (all.length === 0) {
          state.replaceChildren("No lane has a model. ", h("a", { href: "#setup?models" }, "Add model"));
          return;
        }
        models.replaceChildren(...all.map((name) => h("option", {}, name)));
        clients.replaceChildren(...known.clients.map((/** @type {string} */ name) => h("option", {}, name)));
        keeping("fidelity model", models);
        keeping("fidelity client", clients);
        await look();
      },
    };
  },
};

/**
 * @param {HTMLElement} place
 * @param {{ requests: Row[], answers: Row[] }} tables
 * @param {string} kind
 */
function drawTables(place, { requests, answers }, kind) {
  const all = [...requests, ...answers];
  const figures = KINDS.flatMap(([name, text]) => {
    const found = all.filter(({ is }) => is === name).length;
    return found > 0 ? [h("li", {}, h("b", {}, count(found)), h("span", {}, text ?? ""))] : [];
  });
  place.replaceChildren(
    h("ul", { class: "figures", "aria-label": "Fields" }, ...figures),
    tableOf("What the client sends", "At the upstream", requests, kind),
    tableOf("What the upstream answers", "At the client", answers, kind),
  );
}

/**
 * @param {string} title
 * @param {string} where
 * @param {readonly Row[]} rows
 * @param {string} kind
 */
function tableOf(title, where, rows, kind) {
  const wanted = rows.filter(({ is }) => kind === "" || is === kind);
  return h(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": title },
    h(
      "table",
      { class: "fields" },
      h("caption", {}, `${title}: ${count(wanted.length)} fields`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Field"), h("th", { scope: "col" }, where))),
      h("tbody", {}, ...wanted.map(rowOf)),
    ),
  );
}

/** @param {Row} row */
function rowOf({ field, is, words }) {
  const parts = words.replaceAll("**", "").split("`").map((part, index) => index % 2 ? h("code", {}, part) : part);
  const state = is === "dropped" || is === "refused" || is === "silent" || is === "failed" ? "bad" : undefined;
  return h(
    "tr",
    { class: state },
    h("th", { scope: "row" }, h("code", {}, field)),
    h("td", { class: "status" }, ...parts),
  );
}
