// @ts-check
/// <reference lib="dom" />
/** The answer of one model: its parts, its calls of tools, and what it took. */
import { CodeBlock } from "../design/code.js";
import { Badge, Button, Field, Icon } from "../design/parts.js";
import { count } from "../dom.js";
import { Folded, OnePart, previewOf } from "../session_content.js";
import { html, useState } from "../ui.js";
import { inDollars, inTime } from "../words.js";
import { askSide, callsIn, giveResults, keyOf, running } from "./conversation.js";
import { isObject, settings } from "./settings.js";

/** @typedef {import("./conversation.js").Step} Step */
/** @typedef {import("./conversation.js").Part} Part */

/** @type {Readonly<Record<Step["state"], { word: string, tone: string }>>} */
const STATES = {
  waiting: { word: "Waiting …", tone: "info" },
  answering: { word: "Answering …", tone: "info" },
  done: { word: "Done", tone: "good" },
  stopped: { word: "Stopped", tone: "warn" },
  failed: { word: "Failed", tone: "bad" },
};

/** The ends of answers. Two of them say nothing new. @type {Readonly<Record<string, string>>} */
const ENDS = { stop: "", "tool-calls": "", length: "the limit of tokens", "content-filter": "a filter of contents" };

/** @param {{ reason: string, raw?: string }} finish */
const endOf = ({ reason, raw }) => ENDS[reason] ?? raw ?? reason;

/** @param {{ turn: number, side: number, title: string, steps: readonly Step[] }} props */
export function Answer({ turn, side, title, steps }) {
  const last = steps.at(-1);
  const isRunning = running.value.has(keyOf(turn, side));
  const stop = () => running.value.get(keyOf(turn, side))?.abort();
  const { word, tone } = last ? STATES[last.state] : { word: "Not asked", tone: "plain" };
  return html`
    <section class="play-answer" aria-label=${title}>
      <header>
        <h3>${last?.model ?? title}</h3>
        ${last && html`<span class="quiet">${last.wire}</span>`}
        <span role="status"><${Badge} tone=${tone}>${word}<//></span>
        <span class="actions">
          ${isRunning
            ? html`<${Button} kind="ghost" onClick=${stop}>Stop<//>`
            : html`<${Button} kind="ghost" icon="rotate-ccw" onClick=${() => void askSide(turn, side)}>${
              last ? "Retry" : "Ask"
            }<//>`}
        </span>
      </header>
      ${steps.map((step, at) =>
        html`<${OneStep} key=${at} step=${step} isLast=${at === steps.length - 1} onResults=${(
          /** @type {Step["results"]} */ results,
        ) => void giveResults(turn, side, results)} />`
      )}
    </section>
  `;
}

/** @param {{ step: Step, isLast: boolean, onResults(results: Step["results"]): void }} props */
function OneStep({ step, isLast, onResults }) {
  const { parts, state, results, error } = step;
  const calls = callsIn(step);
  const isOpen = isLast && state === "done" && calls.length > 0;
  const lost = step.head?.lost ?? [];
  const isThinking = state === "answering" && parts.at(-1)?.type === "reasoning";
  return html`
    ${lost.length > 0 && html`<p class="play-lost">Changed for this API: ${lost.join("; ")}</p>`}
    <div class="message" data-role="assistant">
      ${parts.map((part, at) => html`<${Shown} key=${at} part=${part} isWhole=${state === "done"} />`)}
      ${isThinking && html`<p class="quiet">The model is thinking …</p>`}
    </div>
    ${isOpen
      ? html`<${Results} calls=${calls} onSend=${onResults} />`
      : Object.entries(results).map(([id, { text, isError }]) =>
        html`
          <${Folded} key=${id} title=${`Result of ${calls.find((call) => call.id === id)?.name ?? id}`}
            icon="corner-down-left" tone=${isError ? "bad" : undefined} preview=${previewOf(text)}>
            <pre class="result" tabindex="0">${text}</pre>
            <//>
        `
      )}
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <${Facts} step=${step} />
  `;
}

/** @param {{ part: Part, isWhole: boolean }} props */
function Shown({ part, isWhole }) {
  if (part.type === "tool-call") return html`<${Call} call=${part} />`;
  // A thought without words is for the model's host alone.
  if (part.type === "reasoning" && part.text === "") return undefined;
  const json = isWhole && part.type === "text" && settings.value.form !== "text" ? valueIn(part.text) : undefined;
  if (json !== undefined) return html`<${CodeBlock} title="Answer" value=${json} />`;
  return html`<${OnePart} part=${part} tools=${{}} />`;
}

/** @param {string} text @returns {unknown} */
function valueIn(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The arguments of a call under their names, with what the schema says of them. @param {{ call: Part }} props */
function Call({ call: { name, input } }) {
  const tool = settings.value.tools.find((one) => one.name === name);
  const properties = tool?.type === "function" && isObject(tool.parameters.properties)
    ? tool.parameters.properties
    : {};
  const value = valueIn(input);
  const about = (/** @type {string} */ key) =>
    Object.hasOwn(properties, key) ? properties[key]?.description : undefined;
  return html`
    <${Folded} title=${name} icon="plug" preview=${previewOf(input)}>
      ${isObject(value) && Object.keys(value).length > 0
        ? html`<dl class="play-arguments">${
          Object.entries(value).map(([key, one]) =>
            html`
              <dt key=${`${key} name`} title=${about(key)}>${key}</dt>
              <dd key=${key}>${typeof one === "string" ? one : JSON.stringify(one)}</dd>
            `
          )
        }</dl>`
        : html`<pre class="result" tabindex="0">${input}</pre>`}
    <//>
  `;
}

/** A form for the results of calls. @param {{ calls: readonly Part[], onSend(results: Step["results"]): void }} props */
function Results({ calls, onSend }) {
  const presets = new Map(settings.value.tools.map((tool) => [tool.name, tool.type === "function" ? tool.preset : ""]));
  const [results, setResults] = useState(() => /** @type {Record<string, import("./conversation.js").Result>} */ (
    Object.fromEntries(calls.map(({ id, name }) => [id, { text: presets.get(name) ?? "" }]))
  ));
  const put = (/** @type {string} */ id, /** @type {object} */ change) =>
    setResults({ ...results, [id]: { text: "", ...results[id], ...change } });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    onSend(results);
  };
  return html`
    <form class="play-results" onSubmit=${submit}>
      ${calls.map(({ id, name }) =>
        html`
          <div key=${id}>
            <${Field} label=${`Result of ${name}`}>${(/** @type {any} */ own) =>
              html`
                <textarea ...${own} rows="2" value=${results[id]
                  ?.text} placeholder="What the tool brought: text or JSON"
                  onInput=${(/** @type {any} */ { currentTarget }) =>
                    put(id, { text: currentTarget.value })}></textarea>
              `}<//>
            <label class="check"><input type="checkbox" checked=${results[id]?.isError === true} onChange=${(
              /** @type {any} */ { currentTarget },
            ) => put(id, { isError: currentTarget.checked })} /> The tool failed</label>
          </div>
        `
      )}
      <div><${Button} kind="primary" type="submit">${calls.length === 1
        ? "Send the result"
        : "Send the results"}<//></div>
    </form>
  `;
}

/** @param {{ step: Step }} props */
function Facts({ step: { firstMs, totalMs, finish, entry, head, state } }) {
  if (state === "waiting" || state === "answering") return undefined;
  const usage = entry?.usage ?? finish?.usage;
  const seconds = ((totalMs ?? 0) - (firstMs ?? totalMs ?? 0)) / 1_000;
  const speed = usage?.outputTokens > 1 && seconds > 0.05 ? (usage.outputTokens / seconds).toFixed(0) : undefined;
  const more = (/** @type {number | undefined} */ tokens, /** @type {string} */ word) =>
    tokens ? ` (${count(tokens)} ${word})` : "";
  const facts = [
    ["First event", firstMs !== undefined && inTime(firstMs)],
    ["Whole answer", totalMs !== undefined && inTime(totalMs)],
    ["Tokens per second", speed],
    ["Tokens in", usage && count(usage.inputTokens) + more(usage.cachedInputTokens, "cached")],
    ["Tokens out", usage && count(usage.outputTokens) + more(usage.reasoningTokens, "reasoning")],
    ["Cost", entry?.cost !== undefined && inDollars(entry.cost) + (entry.costEstimated ? ", estimated" : "")],
    ["Answered by", entry?.target ?? head?.target],
    ["Ended by", finish && endOf(finish.finish)],
  ];
  const notes = entry?.notes ?? [];
  const page = head?.isRecorded ? "inspect" : "live";
  return html`
    <footer>
      <ul class="play-facts" aria-label="Figures">${facts.map(([name, value]) =>
        value && html`<li key=${name}><span class="quiet">${name}</span> ${value}</li>`
      )}</ul>
      ${notes.length > 0 && html`
        <details>
          <summary>${notes.length === 1 ? "1 note" : `${notes.length} notes`}</summary>
          <ul>${notes.map((/** @type {string} */ note) => html`<li key=${note}>${note}</li>`)}</ul>
        </details>
      `}
      ${head?.id && html`
        <a href=${`#${page}?${
          encodeURIComponent(head.id)
        }`}><${Icon} name="telescope" size=${14} /> Open in ${page === "inspect" ? "Inspect" : "Live"}</a>
      `}
    </footer>
  `;
}
