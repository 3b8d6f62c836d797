// @ts-check
/// <reference lib="dom" />
/** The charts of Live for a time that goes back further than the requests which the page knows: from the sums that are kept. */
import { html, useEffect, useState } from "./ui.js";
import { ButtonLink, Card, EmptyState } from "./design/parts.js";
import { ask, NotThere } from "./dom.js";
import { programOf } from "./filter.js";
import { USAGE } from "./switches.js";
import { TurnOn } from "./turn_on.js";
import { Figures, UsageCharts } from "./usage_charts.js";
import { DIMENSIONS } from "./usage_view.js";

const EVERY_MS = 10_000;

/** @typedef {import("./filter.js").Condition} Condition */

/** Conditions of requests that sums do not have. */
const UNKNOWN = new Set(["status", "error", "session"]);

/**
 * A question to the sums: a range, with the conditions that they can be told apart by.
 * @param {{ range: string, span?: { from: number, to: number }, words: readonly string[], conditions: readonly Condition[] }} choice
 */
export function asked({ range, span, words, conditions }) {
  const query = new URLSearchParams(span ? { from: String(span.from), to: String(span.to) } : { range });
  for (const { field, value } of conditions) {
    if (Object.hasOwn(DIMENSIONS, field)) query.append(field, field === "client" ? programOf(value) : value);
  }
  return { query: query.toString(), isPart: words.length > 0 || conditions.some(({ field }) => UNKNOWN.has(field)) };
}

/** @param {{ query: string, isPart: boolean, onRange(from: number, to: number): void }} props `isPart`: some conditions cannot hold here. */
export function History({ query, isPart, onRange }) {
  const [answer, setAnswer] = useState(/** @type {import("./usage_view.js").Answer | undefined} */ (undefined));
  const [problem, setProblem] = useState(/** @type {Error | undefined} */ (undefined));
  const [measure, setMeasure] = useState("requests");
  useEffect(() => {
    let isGone = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const load = async () => {
      const found = await ask(`series?${query}`).catch((/** @type {Error} */ error) => error);
      if (isGone) return;
      setProblem(found instanceof Error ? found : undefined);
      if (!(found instanceof Error)) setAnswer(found);
      timer = setTimeout(load, EVERY_MS);
    };
    void load();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [query]);
  if (problem instanceof NotThere) return html`<${NotKept} />`;
  return html`
    ${problem && html`<p class="error" role="alert">${problem.message}</p>`}
    ${answer && html`
      <${Figures} answer=${answer} />
      <${UsageCharts} answer=${answer} measure=${measure} onMeasure=${setMeasure} onRange=${onRange} />
    `}
    <p class="quiet">
      ${isPart && "Words, status, error and session are conditions of the list only. "}
      <a href=${`#usage?${query}`}>Group and compare these sums in Usage</a>
    </p>
  `;
}

function NotKept() {
  const actions = html`
    <${TurnOn} ...${USAGE} isMain />
    <${ButtonLink} href="#live">The last 5 minutes<//>
  `;
  return html`
    <${Card}>
      <${EmptyState} icon="chart-column" title="Nothing is kept for so long" action=${actions}>
        This page knows the last 15 minutes. With usage recorded, its charts go back up to 90 days.
      <//>
    <//>
  `;
}
