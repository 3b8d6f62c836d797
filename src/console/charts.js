// @ts-check
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** Small charts of the last minutes, with the numbers behind them as a table. */
import { h } from "./dom.js";
import { COLUMN_MS } from "./entries.js";

/**
 * @typedef {{ name: string, total: string, values: readonly number[], more?: readonly number[], inWords(value: number): string }} Series
 *
 * `total`: the figure above the chart. `more`: a second line, which is at least the first.
 */

const [WIDTH, HEIGHT] = [100, 32];

/** The charts side by side. */
export class Charts {
  #list = h("ul", { class: "figures", "aria-label": "The last five minutes" });
  #table = h("tbody");
  #heads = h("tr");
  #details = h(
    "details",
    { class: "numbers", toggle: () => this.#drawTable() },
    h("summary", {}, "Charts as a table"),
    h(
      "div",
      { class: "wide" },
      h("table", {}, h("caption", {}, "In ten-second steps"), h("thead", {}, this.#heads), this.#table),
    ),
  );
  element = h("div", {}, this.#list, this.#details);
  /** @type {readonly Series[]} */
  #series = [];
  #now = 0;

  /**
   * @param {readonly { name: string, value: string }[]} figures without a chart
   * @param {readonly Series[]} series
   * @param {number} now
   */
  draw(figures, series, now) {
    this.#series = series;
    this.#now = now;
    this.#list.replaceChildren(
      ...figures.map(({ name, value }) => h("li", {}, h("b", {}, value), h("span", {}, name))),
      ...series.map(chartOf),
    );
    this.#drawTable();
  }

  #drawTable() {
    if (!this.#details.open) return;
    this.#heads.replaceChildren(
      h("th", { scope: "col" }, "Until"),
      ...this.#series.map(({ name }) => h("th", { scope: "col", class: "number" }, name)),
    );
    const length = this.#series[0]?.values.length ?? 0;
    const rows = Array.from({ length }, (_, index) => {
      const until = new Date(this.#now - index * COLUMN_MS).toLocaleTimeString("en-GB");
      const cells = this.#series.map(({ values, more, inWords }) =>
        [values, ...more ? [more] : []].map((list) => inWords(list[length - 1 - index] ?? 0)).join(" · ")
      );
      return h("tr", {}, h("th", { scope: "row" }, until), ...cells.map((cell) => h("td", { class: "number" }, cell)));
    });
    this.#table.replaceChildren(...rows);
  }
}

/** @param {Series} series */
function chartOf({ name, total, values: all, more: allMore, inWords }) {
  // The last column is not over yet, and would always look like a fall.
  const [values, more] = [all.slice(0, -1), allMore?.slice(0, -1)];
  const most = Math.max(...values, ...more ?? []);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  set(svg, {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": `${name}: at most ${inWords(most)}, now ${inWords(values.at(-1) ?? 0)}`,
  });
  if (more) svg.append(lineOf(more, most, "second"));
  svg.append(lineOf(values, most, "first"));
  return h(
    "li",
    {},
    h("b", {}, total),
    h("span", {}, name),
    svg,
    h("small", {}, most > 0 ? `up to ${inWords(most)}` : " "),
  );
}

/**
 * @param {readonly number[]} values
 * @param {number} most
 * @param {string} name
 */
function lineOf(values, most, name) {
  const points = values.map((value, index) => {
    const x = (index / Math.max(1, values.length - 1)) * WIDTH;
    return `${x.toFixed(1)},${(HEIGHT - 1 - (value / (most || 1)) * (HEIGHT - 3)).toFixed(1)}`;
  });
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  set(line, { points: points.join(" "), class: name, "vector-effect": "non-scaling-stroke" });
  return line;
}

/**
 * @param {Element} element
 * @param {Record<string, string>} attributes
 */
function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}
