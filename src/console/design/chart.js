// @ts-check
/// <reference lib="dom" />
/** A chart over time, with axes, a legend, and the numbers of the moment that the pointer is at. */
import { roundUp } from "../words.js";
import { html, useEffect, useRef, useState } from "../ui.js";

/**
 * @typedef {{ name: string, values: readonly (number | null)[], total?: string, isBad?: boolean }} Series
 * @typedef {{ left: number, top: number, index: number }} Tip
 */

const HEIGHT = 152;

/** The library is loaded with the first chart. @type {Promise<any> | undefined} */
let library;

/** @param {string} name */
function colorOf(name) {
  // The canvas knows no `light-dark()`: an element resolves it.
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const FILLED = 0.12;

/** @param {string} color */
function faint(color) {
  return color.startsWith("rgb(") ? color.replace("rgb(", "rgba(").replace(")", `, ${FILLED})`) : "transparent";
}

/**
 * @param {{ title: string, times: readonly number[], series: readonly Series[], inWords(value: number): string,
 *   stepMs?: number, isStacked?: boolean, before?: readonly (number | null)[], onRange?(from: number, to: number): void }} props
 *
 * `times`: in milliseconds, the earliest first. `inWords`: a value with its unit. `stepMs`: the length of a step, if the steps are long.
 * `isStacked`: each step is a bar, in which the series stand on each other. `before`: the sums of as many steps before, as a line.
 * `onRange`: called with a range that was chosen by dragging.
 */
export function Chart(props) {
  const { title, times, series, inWords, stepMs, isStacked, before, onRange } = props;
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  const latest = useRef(props);
  latest.current = props;
  const [tip, setTip] = useState(/** @type {Tip | undefined} */ (undefined));
  const names = series.map(({ name }) => name).join("\n");
  const shape = JSON.stringify([names, stepMs, isStacked, before !== undefined, onRange !== undefined]);
  useEffect(() => {
    let isGone = false;
    const element = /** @type {HTMLElement} */ (place.current);
    const make = async () => {
      const { default: UPlot } = await (library ??= import("uplot"));
      if (isGone) return;
      plot.current?.destroy();
      plot.current = new UPlot(optionsOf(UPlot, latest, element.clientWidth, setTip), dataOf(latest.current), element);
    };
    const again = () => void make().catch(() => void (library = undefined));
    again();
    const sized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    sized.observe(element);
    // A canvas does not follow the colors of the page.
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", again);
    const root = new MutationObserver(again);
    root.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      isGone = true;
      sized.disconnect();
      root.disconnect();
      scheme.removeEventListener("change", again);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => plot.current?.setData(dataOf(props)), [times, series, before]);
  const most = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const now = series.map(({ name, values }) => `${name} ${inWords(values.at(-1) ?? 0)}`).join(", ");
  return html`
    <figure class="chart" role="group" aria-label=${title}>
      <div class="plot" ref=${place} role="img" aria-label=${`${title}: at most ${inWords(most)}, now ${now}`}></div>
      <ul class="legend">
        ${series.map(({ name, total, isBad }, index) =>
          html`
            <li key=${name}><span class=${swatchOf(isBad, index)}></span>${name}${total && html`
              <b>${total}</b>
            `}</li>
          `
        )}
        ${before && html`<li key="before"><span class="swatch before"></span>${BEFORE}</li>`}
      </ul>
      ${tip && times[tip.index] !== undefined &&
        html`<${TipBox} ...${{ tip, times, series, inWords, stepMs, before }} />`}
    </figure>
  `;
}

/** @param {any} props */
function TipBox({ tip: { left, top, index }, times, series, inWords, stepMs, before }) {
  const isRight = left > 240;
  const style = { transform: `translate(${isRight ? `calc(${left - 12}px - 100%)` : `${left + 12}px`}, ${top}px)` };
  return html`
    <div class="tip" style=${style} aria-hidden="true">
      <div class="quiet">${momentOf(times[index], stepMs)}</div>
      ${series.map((/** @type {Series} */ { name, values, isBad }, /** @type {number} */ at) =>
        html`
          <div key=${name}><span class=${swatchOf(
            isBad,
            at,
          )}></span>${name}<b>${values[index] === null || values[index] === undefined
            ? "–"
            : inWords(values[index])}</b></div>
        `
      )}
      ${before && html`
        <div key="before"><span class="swatch before"></span>${BEFORE}<b>${inWords(before[index] ?? 0)}</b></div>
      `}
    </div>
  `;
}

/**
 * A time as exactly as its step is long.
 * @param {number} time
 * @param {number | undefined} stepMs
 */
function momentOf(time, stepMs) {
  if (stepMs === undefined) return new Date(time).toLocaleTimeString("en-GB");
  if (stepMs >= DAY_MS) return dateOf(time);
  return new Date(time).toLocaleString("en-GB", {
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  });
}

/**
 * @param {boolean | undefined} isBad
 * @param {number} index
 */
function swatchOf(isBad, index) {
  return `swatch ${isBad ? "bad" : `s${index + 1}`}`;
}

/** @param {{ times: readonly number[], series: readonly Series[], isStacked?: boolean, before?: readonly (number | null)[] }} props */
function dataOf({ times, series, isStacked, before }) {
  const seconds = times.map((time) => time / 1_000);
  const more = before ? [before] : [];
  if (!isStacked) return [seconds, ...series.map(({ values }) => values), ...more];
  // The bar of a series hides those of the series below it, so the highest one is drawn first.
  const heights = series.map((_, at) =>
    times.map((_, index) => series.slice(0, at + 1).reduce((sum, { values }) => sum + (values[index] ?? 0), 0))
  );
  return [seconds, ...heights.reverse(), ...more];
}

/**
 * @param {any} UPlot
 * @param {{ current: any }} latest
 * @param {number} width
 * @param {(tip: Tip | undefined) => void} onTip
 */
function optionsOf(UPlot, latest, width, onTip) {
  const { series, isStacked, stepMs = 0, before, onRange } = latest.current;
  const isDaily = stepMs >= DAY_MS;
  const [quiet, line] = [colorOf("quiet"), colorOf("line")];
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const axis = { stroke: quiet, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
  const words = (/** @type {any} */ _, /** @type {number[]} */ values) =>
    values.map((value) => shortened(latest.current.inWords(value)));
  const lineOf = (/** @type {Series} */ { name, isBad }, /** @type {number} */ index) => {
    const stroke = colorOf(isBad ? "bad" : `series-${index + 1}`);
    const points = { show: false };
    if (isStacked) return { label: name, width: 0, fill: stroke, points, paths: UPlot.paths.bars({ size: [0.7, 48] }) };
    const fill = index === 0 ? faint(stroke) : undefined;
    // A long step without requests has no duration, and is no reason to end a line.
    if (stepMs > 0) {
      return {
        label: name,
        stroke,
        width: 1.75,
        fill,
        points: { size: 4, fill: stroke, filter: alone },
        spanGaps: true,
      };
    }
    return { label: name, stroke, width: 1.75, fill, points: { show: false, size: 4, fill: stroke, filter: alone } };
  };
  const lines = series.map(lineOf);
  const earlier = { label: BEFORE, stroke: quiet, width: 1.25, dash: [4, 4], points: { show: false } };
  const half = stepMs / 2_000;
  const wholeSteps = (
    /** @type {any} */ _,
    /** @type {number} */ first,
    /** @type {number} */ last,
  ) => [first - half, last + half];
  return {
    width,
    height: HEIGHT,
    // The last label stands around its mark.
    padding: [10, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: onRange !== undefined, y: false, setScale: false } },
    scales: {
      x: isStacked ? { range: wholeSteps } : {},
      y: { range: (/** @type {any} */ _, /** @type {any} */ __, /** @type {number} */ most) => [0, roundUp(most)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        ...isDaily ? { splits: daysOf, values: dates } : { space: 50, incrs: BETWEEN, values: clocks },
      },
      { ...axis, size: 62, space: 30, values: words },
    ],
    series: [{}, ...isStacked ? lines.reverse() : lines, ...before ? [earlier] : []],
    hooks: {
      setSelect: [(/** @type {any} */ plot) => {
        const { left, width } = plot.select;
        if (width <= 0) return;
        const [from, to] = [left, left + width].map((at) => plot.posToVal(at, "x") * 1_000 + stepMs / 2);
        plot.setSelect({ left: 0, width: 0 }, false);
        latest.current.onRange?.(Math.round(from ?? 0), Math.round(to ?? 0));
      }],
      setCursor: [(/** @type {any} */ { cursor: { idx, left, top }, over }) => {
        const isOver = idx !== null && idx !== undefined && left >= 0;
        onTip(isOver ? { index: idx, left: left + over.offsetLeft, top: Math.max(0, top) } : undefined);
      }],
    },
  };
}

/**
 * @param {any} _
 * @param {readonly number[]} seconds
 * @param {number} __
 * @param {number} ___
 * @param {number} step
 */
function clocks(_, seconds, __, ___, step) {
  const isLong = (seconds.at(-1) ?? 0) - (seconds[0] ?? 0) >= DAY_S;
  return seconds.map((second) => {
    const date = new Date(second * 1_000);
    if (step >= DAY_S || isLong && isMidnight(date)) {
      return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
    }
    const exact = step < 60 ? /** @type {const} */ ("2-digit") : undefined;
    return date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: exact });
  });
}

/** A value at an axis, where zeros after the point say nothing: "10 s". Money keeps its cents. @param {string} words */
function shortened(words) {
  return words.startsWith("$") ? words : words.replace(/(\.\d*?)0+(?!\d)/, "$1").replace(/\.(?!\d)/, "");
}

/**
 * The values between two gaps, which no line shows.
 * @param {any} plot
 * @param {number} at
 * @param {boolean} areAllShown
 */
function alone({ data }, at, areAllShown) {
  if (areAllShown) return undefined;
  const values = data[at];
  const isGap = (/** @type {number} */ index) => values[index] === null || values[index] === undefined;
  return [...values.keys()].filter((index) => !isGap(index) && isGap(index - 1) && isGap(index + 1));
}

/** @param {Date} date */
function isMidnight(date) {
  return date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
}

const DAY_S = 86_400;
/** The times between two labels, in seconds: also two minutes, so that a narrow chart has more than one. */
const BETWEEN = [
  ...[1, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60),
  ...[1, 2, 3, 4, 6, 8, 12].map((hours) => hours * 3_600),
  ...[1, 2, 3, 7, 14, 30].map((days) => days * DAY_S),
];
const DAY_MS = DAY_S * 1_000;
/** The name of the line of the time before. */
const BEFORE = "the time before";

/** The days that have a label: as many as there is room for. @param {{ data: number[][], width: number }} plot */
function daysOf({ data: [days = []], width }) {
  const step = Math.ceil(days.length / Math.max(1, Math.floor(width / 70)));
  return days.filter((_, index) => (days.length - 1 - index) % step === 0);
}

/** @type {(plot: any, days: readonly number[]) => string[]} */
const dates = (_, days) => days.map((day) => dateOf(day * 1_000));

/** @param {number} time */
function dateOf(time) {
  return new Date(time).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}
