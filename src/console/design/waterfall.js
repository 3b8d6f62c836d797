// @ts-check
/// <reference lib="dom" />
/** A timeline: the steps of one thing that happened, as bars on a common axis. */
import { html } from "../ui.js";
import { roundUp } from "../words.js";

/**
 * A step: a moment, or a bar from its beginning to its end. `mid`: where its second half begins, such as the first byte of an answer.
 * `isOpen`: it has not ended yet.
 * @typedef {{ from: number, mid?: number, to?: number, title: string, detail?: string, tone?: Tone, isOpen?: boolean }} Step
 * @typedef {"plain" | "good" | "bad" | "queue" | "tool"} Tone
 */

const MARKS = 4;

/** @param {number} ms @param {number} end the end of the axis */
function inWords(ms, end = Infinity) {
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${end < 4 * MARKS ? Number(ms.toFixed(1)) : Math.round(ms)} ms`;
}

/**
 * @param {{ label: string, steps: readonly Step[], legend?: readonly { tone: Tone, isFirst?: boolean, title: string }[] }} props
 *
 * `from` and `to`: in milliseconds. `legend`: the colors, in words; `isFirst`: the first half of a bar.
 */
export function Waterfall({ label, steps, legend = [] }) {
  const end = roundUp(Math.max(1, ...steps.map(({ from, to }) => to ?? from)));
  const share = (/** @type {number} */ ms) => `${(ms / end) * 100}%`;
  const marks = Array.from({ length: MARKS + 1 }, (_, index) => end * index / MARKS);
  return html`
    <ol class="waterfall" aria-label=${label}>
      <li class="axis" aria-hidden="true">
        <span class="track">
          ${marks.map((ms) => html`<span key=${ms} style=${{ left: share(ms) }}>${inWords(ms, end)}</span>`)}
        </span>
      </li>
      ${steps.map((
        { from, to, title, detail, tone = "plain", isOpen = false, mid = isOpen ? to ?? end : from },
        index,
      ) =>
        html`
          <li data-tone=${tone} data-open=${String(isOpen)} key=${index} title=${detail}>
            <span>${title}${detail && html`<br /><small class="quiet">${detail}</small>`}</span>
            <span class="track" aria-hidden="true">
              ${to === undefined && !isOpen ? html`<span class="moment" style=${{ left: share(from) }}></span>` : html`
                <span class="span first" style=${{ left: share(from), width: share(mid - from) }}></span>
                ${(!isOpen || mid < (to ?? end)) &&
                  html`<span class="span" style=${{ left: share(mid), width: share((to ?? end) - mid) }}></span>`}
              `}
            </span>
            <span class="when">${isOpen
              ? "running"
              : to === undefined || to === from
              ? inWords(from, end)
              : inWords(to - from, end)}</span>
          </li>
        `
      )}
    </ol>
    ${legend.length > 0 && html`
      <p class="waterfall-legend">${legend.map(({ tone, isFirst, title }) =>
        html`<span key=${title} data-tone=${tone}><i class=${isFirst ? "first" : ""}></i>${title}</span>`
      )}</p>
    `}
  `;
}
