// @ts-check
/// <reference lib="dom" />
/** The turns of a session that its reader looks for: those that grew the context most, and those that missed the cache. */
import { html } from "./ui.js";
import { Card } from "./design/parts.js";
import { count } from "./dom.js";
import { useContent } from "./session_fetch.js";
import { addedInWords, missInWords } from "./session_words.js";
import { inShort } from "./words.js";

/** @typedef {import("./session_words.js").Turn} Turn */
/** @typedef {{ turn: Turn, before: Turn | undefined, number: number, grown: number }} Step */

/** The most turns of each list. */
const MOST = 5;

/** Shows a turn to whoever asked for it. @param {string} id */
export function goTo(id) {
  const turn = document.getElementById(`turn-${id}`);
  turn?.scrollIntoView({ block: "start" });
  turn?.focus({ preventScroll: true });
}

/** @param {{ turns: readonly Turn[], before: readonly (Turn | undefined)[] }} props */
export function Steps({ turns, before }) {
  const steps = turns.map((turn, index) => {
    const earlier = before[index];
    const grown = turn.usage && earlier?.usage ? turn.usage.inputTokens - earlier.usage.inputTokens : 0;
    return { turn, before: earlier, number: index + 1, grown };
  });
  const grown = steps.filter((step) => step.grown > 0).sort((one, other) => other.grown - one.grown).slice(0, MOST);
  const missed = steps.filter(({ turn }) => turn.cache?.outcome === "miss");
  if (grown.length === 0 && missed.length === 0) return undefined;
  return html`
    <div class="charts">
      <${Card} title="What grew the context" about="the largest steps from one turn to the next">
        <ol class="turn-list">${grown.map((step) => html`<${Grown} key=${step.turn.id} ...${step} />`)}</ol>
        <//>
        <${Card} title="Missed the cache" about=${`${count(missed.length)} of ${count(turns.length)} turns`}>
        ${missed.length === 0 && html`<p class="quiet">No turn read again what was read before.</p>`}
        <ol class="turn-list">
          ${missed.slice(-MOST).map((step) => html`<${Missed} key=${step.turn.id} ...${step} />`)}
        </ol>
      <//>
    </div>
  `;
}

/** @param {{ id: string, number: number }} props */
function ToTurn({ id, number }) {
  return html`<button type="button" class="link" onClick=${() => goTo(id)}>Turn ${number}</button>`;
}

/** @param {Step} props */
function Grown({ turn, before, number, grown }) {
  const content = useContent(turn, before, true);
  return html`
    <li>
      <${ToTurn} id=${turn.id} number=${number} /> <b>+${inShort(grown)} tokens</b>
      <span class="quiet">${content && addedInWords(content)}</span>
    </li>
  `;
}

/** @param {Step} props */
function Missed({ turn, before, number }) {
  const content = useContent(turn, before, true);
  return html`
    <li><${ToTurn} id=${turn.id} number=${number} /> <span>${missInWords(turn, content?.changes)}</span></li>
  `;
}
