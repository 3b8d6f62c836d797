// @ts-check
/// <reference lib="dom" />
/** The figures and charts of usage. */
import { html, useMemo, useState } from "./ui.js";
import { Chart } from "./design/chart.js";
import { Card, Segments, Stat } from "./design/parts.js";
import { exactly, inDollars, inPercent, inShort, inTime } from "./words.js";
import { changeOf, DIMENSIONS, errorLines, linesOf, measureOf, MEASURES, tokenLines } from "./usage_view.js";

/** @typedef {import("./usage_view.js").Answer} Answer */
/** @typedef {import("./usage_view.js").Total} Total */

const TIMES = [{ value: "durationMs", title: "Whole" }, { value: "firstEventMs", title: "First event" }];

/** @param {{ answer: Answer }} props */
export function Figures({ answer: { total, before } }) {
  const tokens = ({ inputTokens = 0, outputTokens = 0 }) => inputTokens + outputTokens;
  const dollars = (/** @type {Total | undefined} */ sums) => Number(sums?.dollars ?? 0);
  const then = before?.total;
  /** @type {(text: string, of: (sums: Total) => number | null, inWords: (value: number) => string) => unknown} */
  const more = (text, of, inWords) => {
    const earlier = then && of(then);
    const change = changeOf(of(total), earlier);
    return change ? html`<span class="change">${change}</span>, was ${inWords(earlier ?? 0)}` : text;
  };
  const { requests, errors, durationMs, firstEventMs, cacheHits, notes, relaxations } = total;
  return html`
    <ul class="stats" aria-label="Figures of this time">
      <${Stat} name="Requests" value=${inShort(requests)} more=${more("", (sums) => sums.requests, inShort)} />
      <${Stat} name="Errors" value=${inShort(errors)} tone=${errors > 0 ? "bad" : "plain"} more=${more(
        inPercent(errors, requests),
        (sums) => sums.errors,
        inShort,
      )} />
      <${Stat} name="Duration" value=${inTime(durationMs.p50 ?? undefined)} more=${more(
        `95 %: ${inTime(durationMs.p95 ?? undefined)}`,
        (sums) => sums.durationMs.p50,
        inTime,
      )} />
      <${Stat} name="First event" value=${inTime(firstEventMs.p50 ?? undefined)} more=${more(
        `95 %: ${inTime(firstEventMs.p95 ?? undefined)}`,
        (sums) => sums.firstEventMs.p50,
        inTime,
      )} />
      <${Stat} name="Tokens" value=${inShort(tokens(total))} more=${more(
        `${inPercent(total.cachedTokens, total.inputTokens)} cached`,
        tokens,
        inShort,
      )} />
      <${Stat} name="Cost" value=${inDollars(total.dollars)} more=${more(
        total.unpriced > 0 ? `${inShort(total.unpriced)} without a price` : "",
        dollars,
        inDollars,
      )} />
      <${Stat} name="Cache hits" value=${inPercent(cacheHits, requests)} more=${more(
        `${inShort(cacheHits)} requests`,
        (sums) => sums.cacheHits,
        inShort,
      )} />
      <${Stat} name="Notes" value=${inShort(notes)} more=${more(
        `${inShort(relaxations)} ${relaxations === 1 ? "relaxation" : "relaxations"}`,
        (sums) => sums.notes,
        inShort,
      )} />
    </ul>
  `;
}

/** @param {{ answer: Answer, measure: string, onMeasure(id: string): void, onRange(from: number, to: number): void }} props */
export function UsageCharts({ answer, measure, onMeasure, onRange }) {
  const [times, setTimes] = useState("durationMs");
  const chosen = measureOf(measure);
  const lines = useMemo(() => linesOf(answer, chosen), [answer, chosen]);
  const before = useMemo(
    () => answer.before && chosen.isSum ? chosen.of(answer.before.values) : undefined,
    [answer, chosen],
  );
  const own = /** @type {Record<string, string>} */ (DIMENSIONS)[answer.by ?? ""]?.toLowerCase();
  const options = MEASURES.map(({ id, title }) => html`<option key=${id} value=${id}>${title}</option>`);
  const choice = html`
    <label class="choice">Show
      <select value=${measure} onChange=${(/** @type {any} */ { currentTarget }) => onMeasure(currentTarget.value)}>
        ${options}
      </select>
    </label>
  `;
  const { durationMs, firstEventMs } = answer.values;
  const own3 = times === "durationMs" ? durationMs : firstEventMs;
  const latency = useMemo(() => [
    { name: "Median", values: own3.p50 },
    { name: "95 %", values: own3.p95 },
    { name: "99 %", values: own3.p99 },
  ], [own3]);
  const tokens = useMemo(() => tokenLines(/** @type {any} */ (answer.values)), [answer]);
  const errors = useMemo(() => errorLines(answer.values), [answer]);
  const shared = { times: answer.times, stepMs: answer.stepMs, onRange };
  const timeChoice = html`<${Segments} label="Durations" options=${TIMES} value=${times} onChoose=${setTimes} />`;
  return html`
    <${Card} title=${own ? `${chosen.title} by ${own}` : chosen.title} about=${stepInWords(
      answer.stepMs,
    )} actions=${choice}>
      <${Chart}
        ...${shared}
        title=${chosen.title}
        series=${lines}
        inWords=${chosen.inWords}
        isStacked=${chosen.isSum === true}
        before=${before}
      />
      <//>
      <div class="charts">
        <${Card} title="Latency" actions=${timeChoice}>
          <${Chart} ...${shared} title="Latency" series=${latency} inWords=${inTime} />
          <//>
          <${Card} title="Tokens by kind">
            <${Chart} ...${shared} title="Tokens by kind" series=${tokens} inWords=${inShort} isStacked />
            <//>
            <${Card} title="Errors by kind">
              <${Chart} ...${shared} title="Errors by kind" series=${errors} inWords=${inShort} isStacked />
              <//>
              </div>
              <${Numbers} answer=${answer} lines=${lines} inWords=${chosen.inWords} title=${chosen
                .title} onRange=${onRange} />
  `;
}

/** @param {number} ms */
function stepInWords(ms) {
  const [count, unit] = ms >= 86_400_000
    ? [ms / 86_400_000, "day"]
    : ms >= 3_600_000
    ? [ms / 3_600_000, "hour"]
    : [ms / 60_000, "minute"];
  return count === 1 ? `each ${unit}` : `each ${count} ${unit}s`;
}

/** The chart for whoever reads numbers. @param {any} props */
function Numbers({ answer: { times, stepMs }, lines, inWords, title, onRange }) {
  const [isOpen, setOpen] = useState(false);
  const row = (/** @type {number} */ time, /** @type {number} */ at) =>
    html`
      <tr key=${time}>
        <th scope="row">
          <button type="button" class="link" title="Show this time alone" onClick=${() =>
            onRange(time, time + stepMs)}>${exactly(time)}</button>
        </th>
        ${lines.map((/** @type {any} */ { name, values }) =>
          html`<td class="number" key=${name}>${values[at] === null ? "–" : inWords(values[at] ?? 0)}</td>`
        )}
      </tr>
    `;
  const table = () =>
    html`
      <div class="card flush">
        <div class="data" tabindex="0" role="region" aria-label="The chart's numbers">
          <table>
            <caption>${title}</caption>
            <thead>
              <tr>
                <th scope="col">From</th>
                ${lines.map((/** @type {any} */ { name }) =>
                  html`<th scope="col" class="number" key=${name}>${name}</th>`
                )}
              </tr>
            </thead>
            <tbody>${times.map(row).reverse()}</tbody>
          </table>
        </div>
      </div>
    `;
  return html`
    <details open=${isOpen} onToggle=${(/** @type {any} */ { currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Chart as a table</summary>
      ${isOpen && table()}
    </details>
  `;
}
