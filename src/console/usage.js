// @ts-check
/// <reference lib="dom" />
/** The usage of keys, and what is left of their budgets. */
import { ask, count, h, NotThere } from "./dom.js";
import { empty, go } from "./empty.js";
import { USAGE } from "./switches.js";
import { turnOn } from "./turn_on.js";

const EVERY_MS = 10_000;

export const usage = {
  /** @param {HTMLElement} main */
  open(main) {
    const days = h(
      "select",
      {},
      ...[1, 7, 30, 90].map((value) =>
        h("option", { value, selected: value === 7 }, value === 1 ? "day" : `${value} days`)
      ),
    );
    const by = h("select", {}, ...["key", "model", "day"].map((value) => h("option", { value }, value)));
    const used = h("tbody");
    const head = h("thead");
    const budgets = h("div");
    /** @type {any} */
    let answer;
    const none = h("div");
    const draw = () => {
      if (!answer) return;
      drawAll(answer, by.value, { head, used, budgets });
      table.hidden = answer.data.length === 0;
      if (answer.data.length > 0) none.replaceChildren();
      else if (none.childElementCount === 0) none.append(nothingUsed());
    };
    const refresh = async () => {
      const wanted = days.value;
      const found = await ask(`usage?days=${wanted}`).catch((error) => {
        if (!(error instanceof NotThere)) throw error;
      });
      bar.hidden = table.hidden = found === undefined;
      if (!found) {
        if (none.childElementCount === 0) none.append(notRecorded());
        return;
      }
      // Another choice was made meanwhile, whose answer may have come first.
      if (wanted !== days.value) return;
      answer = found;
      draw();
    };
    by.addEventListener("change", draw);
    days.addEventListener("change", () => void refresh().catch(() => {}));
    const bar = h("div", { class: "bar" }, h("label", {}, "Period", days), h("label", {}, "Group by", by));
    const table = h(
      "div",
      { class: "wide" },
      h("table", {}, h("caption", {}, "Requests, tokens and dollars"), head, used),
    );
    main.append(h("h1", {}, "Usage"), bar, none, table, budgets);
    return { everyMs: EVERY_MS, refresh };
  },
};

function notRecorded() {
  return empty(
    "Usage is not recorded. With it on, this page sums up requests, tokens and dollars by key, model and day.",
    turnOn({ ...USAGE, isMain: true }),
  );
}

function nothingUsed() {
  return empty(
    "Nothing was used in this period. Requests, tokens and dollars will be summed up here.",
    go("#setup?client", "Connect a client", true),
    go("#playground", "Try a prompt"),
  );
}

/**
 * @param {{ data: { key: string, model: string, day: string, requests: number, inputTokens: number, outputTokens: number, dollars?: string }[],
 *   budgets?: { budget: string, period: string, dollars: string, spent: string, left: string, resets?: string }[] }} answer
 * @param {string} by
 * @param {{ head: HTMLElement, used: HTMLElement, budgets: HTMLElement }} places
 */
function drawAll({ data, budgets: states }, by, { head, used, budgets }) {
  head.replaceChildren(rowOf("th", [by, "requests", "input tokens", "output tokens", "dollars"]));
  /** @type {Map<string, { requests: number, input: number, output: number, dollars: number, isPriced: boolean }>} */
  const sums = new Map();
  for (const row of data) {
    const name = by === "model" ? row.model : by === "day" ? row.day : row.key;
    const sum = sums.get(name) ?? { requests: 0, input: 0, output: 0, dollars: 0, isPriced: false };
    sums.set(name, {
      requests: sum.requests + row.requests,
      input: sum.input + row.inputTokens,
      output: sum.output + row.outputTokens,
      dollars: sum.dollars + Number(row.dollars ?? 0),
      isPriced: sum.isPriced || row.dollars !== undefined,
    });
  }
  used.replaceChildren(
    ...Array.from(
      sums,
      ([name, { requests, input, output, dollars, isPriced }]) =>
        rowOf("td", [name, count(requests), count(input), count(output), isPriced ? dollars.toFixed(6) : "–"]),
    ),
  );
  budgets.replaceChildren(
    ...states && states.length > 0
      ? [
        h("h2", {}, "Budgets"),
        h(
          "div",
          { class: "wide" },
          h(
            "table",
            {},
            h("caption", {}, "Left in each period"),
            h("thead", {}, rowOf("th", ["budget", "dollars", "spent", "left", "period"])),
            h(
              "tbody",
              {},
              ...states.map((one) => rowOf("td", [one.budget, one.dollars, one.spent, one.left, one.period])),
            ),
          ),
        ),
      ]
      : [],
  );
}

/**
 * @param {"td" | "th"} tag
 * @param {readonly string[]} cells
 */
function rowOf(tag, cells) {
  const [middle, last] = [[1, 2, 3], cells.length - 1];
  return h(
    "tr",
    {},
    ...cells.map((cell, index) =>
      h(tag, {
        class: middle.includes(index) || index === last ? "number" : undefined,
        scope: tag === "th" ? "col" : undefined,
      }, cell)
    ),
  );
}
