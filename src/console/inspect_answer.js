// @ts-check
/// <reference lib="dom" />
/** The answer as its reader saw it, beside the frames that built it. */
import { html, useEffect, useMemo, useRef, useState } from "./ui.js";
import { Badge, Button, EmptyState } from "./design/parts.js";
import { ask, count } from "./dom.js";
import { Body } from "./inspect_parts.js";
import { OneMessage, OnePart } from "./session_content.js";

/**
 * @typedef {{ event?: string, text: string, parts: number[], isEnd?: boolean }} Frame
 * @typedef {{ asked?: import("./session_content.js").Message[], tools?: Record<string, string>, problem?: string, isOpen?: boolean,
 *   output?: any, error?: { code: string, message: string }, frames?: Frame[], total?: number }} Read
 *
 * Frames of one kind that follow each other and build the same part. `from`: the number of the first.
 * @typedef {{ from: number, name: string, part: number | undefined, isEnd: boolean, frames: Frame[] }} Run
 */

/** More frames of a run are drawn on demand. */
const MOST_DRAWN = 50;

/** @type {Readonly<Record<string, string>>} */
const ENDINGS = {
  stop: "The model had finished",
  length: "Cut off at the limit for output",
  "tool-calls": "It waits for the results of tools",
  "content-filter": "Stopped by a filter for content",
  paused: "Paused: it goes on if it is sent back",
  other: "For another reason",
};

/** @param {{ record: any }} props */
export function AnswerView({ record }) {
  const { read, problem, again } = useRead(record);
  const [isRawShown, setRawShown] = useState(() => matchMedia("(min-width: 75rem)").matches);
  const [lit, setLit] = useState(/** @type {number | undefined} */ (undefined));
  const runs = useMemo(() => runsOf(read?.frames ?? []), [read]);
  if (problem) {
    return html`
      <p class="error" role="alert">${problem}</p>
      <${Button} onClick=${again}>Try again<//>
    `;
  }
  if (!read) return html`<p class="quiet" role="status">Reading the answer …</p>`;
  const light = (/** @type {number | undefined} */ part) => setLit(part === lit ? undefined : part);
  return html`
    <div class="answer-view" data-raw=${String(isRawShown)}>
      <section class="card" aria-label="As its reader saw it">
        <header class="card-head">
          <h2>As its reader saw it</h2>
          <div class="actions">
            <${Button} aria-pressed=${String(isRawShown)} onClick=${() => setRawShown(!isRawShown)}>${read.frames
              ? "Raw frames"
              : "Raw answer"}<//>
          </div>
        </header>
        <${Reading} read=${read} runs=${runs} lit=${lit} onLight=${light} />
      </section>
      ${isRawShown &&
        (read.frames
          ? html`<${Frames} read=${read} runs=${runs} lit=${lit} onLight=${light} />`
          : html`<${Raw} body=${record.answer.body} />`)}
    </div>
  `;
}

/** The answers that were read, so that another view and back costs nothing. @type {WeakMap<object, Read>} */
const known = new WeakMap();

/**
 * The answer, which is asked for again while it grows.
 * @param {any} record
 * @returns {{ read?: Read, problem?: string, again(): void }}
 */
function useRead(record) {
  const [state, setState] = useState(/** @type {{ read?: Read, problem?: string }} */ ({ read: known.get(record) }));
  const [times, setTimes] = useState(0);
  useEffect(() => {
    if (known.has(record)) return;
    let isGone = false;
    ask(`record/answer?id=${encodeURIComponent(record.id)}`).then(
      (read) => {
        known.set(record, read);
        if (!isGone) setState({ read });
      },
      // The reading that was shown before stays.
      (error) => !isGone && setState(({ read }) => read ? { read } : { problem: error.message }),
    );
    return () => void (isGone = true);
  }, [record, times]);
  return { ...state, again: () => setTimes(times + 1) };
}

/** @typedef {{ read: Read, runs: readonly Run[], lit: number | undefined, onLight(part: number | undefined): void }} Props */

/** @param {Props} props */
function Reading({ read, runs, lit, onLight }) {
  const { asked = [], tools = {}, output, error, isOpen, problem } = read;
  const content = output?.content ?? [];
  if (asked.length + content.length === 0 && !error) {
    return html`
      <${EmptyState} icon="messages-square" title=${isOpen ? "No answer yet" : "Nothing to read"}>
        ${problem ??
          (isOpen
            ? "It is shown here as it comes."
            : "This answer is no conversation. Its bytes are in the view Step by step.")}
      <//>
    `;
  }
  return html`
    <div class="reading">
      <h3 class="visually-hidden">The conversation</h3>
      ${asked.map((message, index) => html`<${OneMessage} key=${index} message=${message} tools=${tools} />`)}
      ${content.length > 0 && html`
        <div class="message" data-role="assistant">
          <h4>Assistant</h4>
          ${content.map((/** @type {any} */ part, /** @type {number} */ index) =>
            html`
              <div class="read-part" key=${index} data-lit=${String(index === lit)}>
                <${OnePart} part=${{ ...part, isUnfolded: true }} tools=${tools} />
                <${FramesOf} part=${index} runs=${runs} lit=${lit} onLight=${onLight} />
              </div>
            `
          )}
        </div>
      `}
      ${problem && html`<p class="error">${problem}</p>`}
      ${error && html`<p class="error">${error.code}: ${error.message}</p>`}
      <${Ending} read=${read} />
    </div>
  `;
}

/** The button that shows the frames of a part. @param {{ part: number } & Omit<Props, "read">} props */
function FramesOf({ part, runs, lit, onLight }) {
  const own = runs.filter((run) => run.part === part);
  const [first, last] = [own[0], own.at(-1)];
  if (!first || !last) return undefined;
  const end = last.from + last.frames.length - 1;
  const name = end > first.from ? `Frames ${first.from}–${end}` : `Frame ${first.from}`;
  return html`
    <button type="button" class="link" aria-pressed=${String(part === lit)} onClick=${() =>
      onLight(part)}>${name}</button>
  `;
}

/** Why it ended, and what it took. @param {{ read: Read }} props */
function Ending({ read: { output, error, isOpen } }) {
  const { finish, usage, model } = output ?? {};
  if (!finish) {
    if (isOpen) {
      return html`
        <p>
          <${Badge} tone="info">still running<//></p>
      `;
    }
    return error || !output ? undefined : html`
      <p>
        <${Badge} tone="warn">broke off before its end<//></p>
    `;
  }
  const { reason, raw, stopSequence } = finish;
  const why = [ENDINGS[reason] ?? reason, raw && `(${raw})`, stopSequence && `at ${JSON.stringify(stopSequence)}`];
  const parts = [
    `${count(usage.inputTokens)} in`,
    usage.cachedInputTokens && `${count(usage.cachedInputTokens)} of them cached`,
    `${count(usage.outputTokens)} out`,
    usage.reasoningTokens && `${count(usage.reasoningTokens)} of them reasoning`,
  ];
  return html`
    <dl class="ending">
      <dt>End</dt><dd>${why.filter(Boolean).join(" ")}</dd>
      <dt>Tokens</dt><dd>${parts.filter(Boolean).join(", ")}</dd>
      ${model && html`
        <dt>Model</dt>
        <dd>${model}</dd>
      `}
    </dl>
  `;
}

/** @param {{ body: import("./inspect_parts.js").RecordedBody }} props */
function Raw({ body }) {
  return html`
    <section class="card" aria-label="Raw answer">
      <header class="card-head">
        <h2>Raw answer</h2>
      </header>
      <${Body} body=${body} />
    </section>
  `;
}

/** @param {readonly Frame[]} frames @returns {Run[]} */
export function runsOf(frames) {
  /** @type {Run[]} */
  const runs = [];
  for (const [index, frame] of frames.entries()) {
    const [name, part, isEnd] = [nameOf(frame), frame.parts.at(-1), frame.isEnd === true];
    const last = runs.at(-1);
    if (last && last.name === name && last.part === part && last.isEnd === isEnd) last.frames.push(frame);
    else runs.push({ from: index + 1, name, part, isEnd, frames: [frame] });
  }
  return runs;
}

/** @param {Frame} frame */
function nameOf({ event, text }) {
  if (event !== undefined) return event;
  if (text.startsWith(":")) return "comment";
  return /^\{"type":"([\w.-]{1,60})"/.exec(text)?.[1] ?? "data";
}

/** @type {Readonly<Record<string, string>>} */
const PARTS = {
  text: "text",
  reasoning: "reasoning",
  refusal: "refusal",
  "tool-call": "tool call",
  file: "file",
  hosted: "hosted tool",
};

/** @param {Props} props */
function Frames({ read: { frames = [], total = 0, output }, runs, lit, onLight }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const list = place.current;
    const first = list?.querySelector('[data-lit="true"]');
    // Only the list moves, and not the page.
    if (list && first) list.scrollTop += first.getBoundingClientRect().top - list.getBoundingClientRect().top - 8;
  }, [lit]);
  const about = total > frames.length ? `the first ${count(frames.length)} of ${count(total)}` : count(total);
  return html`
    <section class="card frames-card" aria-label="Raw frames">
      <header class="card-head">
        <h2>Raw frames</h2><span class="quiet">${about}, as the client received them</span>
      </header>
      <ol class="frames" ref=${place} tabindex="0" aria-label="Frames">
        ${runs.map((run) =>
          html`<${OneRun} key=${run.from} run=${run} kind=${kindOf(run, output)} isLit=${
            run.part !== undefined && run.part === lit
          } onLight=${onLight} />`
        )}
      </ol>
    </section>
  `;
}

/** The kind of the part that a run builds. @param {Run} run @param {any} output */
function kindOf({ part, isEnd }, output) {
  if (part === undefined) return isEnd ? "end" : "";
  return PARTS[output?.content[part]?.type] ?? "part";
}

/** @param {{ run: Run, kind: string, isLit: boolean, onLight(part: number | undefined): void }} props */
function OneRun({ run: { from, name, part, frames }, kind, isLit, onLight }) {
  const [isOpen, setOpen] = useState(frames.length === 1);
  const [most, setMost] = useState(MOST_DRAWN);
  const end = from + frames.length - 1;
  return html`
    <li data-lit=${String(isLit)}>
      <details open=${isOpen} onToggle=${(/** @type {any} */ { currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span class="quiet">${end > from ? `${from}–${end}` : from}</span> <b>${name}</b>${" "}
          ${frames.length > 1 && html`<span class="quiet">×${count(frames.length)}</span>`}
        </summary>
        ${isOpen && frames.slice(0, most).map((frame, index) => html`<pre key=${index}>${frame.text || " "}</pre>`)}
        ${isOpen && frames.length > most &&
          html`
            <p>
              <${Button} onClick=${() => setMost(most * 4)}>${count(frames.length - most)} more<//></p>
          `}
      </details>
      ${kind !== "" && (part === undefined ? html`<span class="quiet">${kind}</span>` : html`
        <button type="button" class="link" aria-pressed=${String(
          isLit,
        )} aria-label=${`Show the ${kind} that frame ${from} is of`}
          onClick=${() => onLight(part)}>${kind}</button>
      `)}
    </li>
  `;
}
