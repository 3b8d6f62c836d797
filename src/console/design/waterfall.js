// @ts-check
/// <reference lib="dom" />
/** A timeline: the steps of one thing that happened, as bars on a common axis. */
import { html } from "../ui.js";
import { roundUp } from "./chart.js";

/** @typedef {{ from: number, to?: number, title: string, detail?: string, tone?: "plain" | "good" | "bad" }} Step */

const MARKS = 4;

/** @param {number} ms */
function inWords(ms) {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** @param {{ label: string, steps: readonly Step[] }} props `from` and `to`: in milliseconds */
export function Waterfall({ label, steps }) {
  const end = roundUp(Math.max(1, ...steps.map(({ from, to }) => to ?? from)));
  const share = (/** @type {number} */ ms) => `${(ms / end) * 100}%`;
  return html`
    <ol class="waterfall" aria-label=${label}>
      <li class="axis" aria-hidden="true">
        <span></span>
        <span class="track">
          ${Array.from(
            { length: MARKS + 1 },
            (_, index) => html`<span key=${index}>${inWords(end * index / MARKS)}</span>`,
          )}
        </span>
        <span></span>
      </li>
      ${steps.map(({ from, to, title, detail, tone = "plain" }, index) =>
        html`
          <li data-tone=${tone} key=${index} title=${detail}>
            <span>${title}${detail && html`<br /><small class="quiet">${detail}</small>`}</span>
            <span class="track" aria-hidden="true">
              <span class="span" style=${{ left: share(from), width: share((to ?? from) - from) }}></span>
            </span>
            <span class="when">${to === undefined || to === from ? inWords(from) : inWords(to - from)}</span>
          </li>
        `
      )}
    </ol>
  `;
}
