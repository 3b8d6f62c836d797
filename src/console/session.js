// @ts-check
/// <reference lib="dom" />
/** One session: its figures, what fills its context, and its turns as they were read and written. */
import { html, useEffect, useMemo, useRef, useState } from "./ui.js";
import { Badge, Card, Page, Stat } from "./design/parts.js";
import { count } from "./dom.js";
import { OneMessage } from "./session_content.js";
import { useContent } from "./session_fetch.js";
import { goTo, Steps } from "./session_steps.js";
import { changesInWords, missInWords, shareName, toolsInWords, turnsBefore } from "./session_words.js";
import { exactly, inDollars, inPercent, inShort, inTime } from "./words.js";

/** @typedef {import("./session_words.js").Turn} Turn */
/** @typedef {import("./session_fetch.js").Content} Content */
/** @typedef {import("./sessions.js").Session & { data: Turn[] }} Whole */
/** @param {{ session: Whole | undefined, asked?: string }} props `asked`: the request whose turn is wanted. */
export function SessionPage({ session, asked }) {
  const turns = session?.data ?? [];
  const before = useMemo(() => turnsBefore(turns), [turns]);
  const isThere = session !== undefined;
  useEffect(() => {
    if (isThere && asked !== session.id) goTo(asked ?? "");
  }, [isThere]);
  if (!session) return html`<${Page} title="Session" />`;
  const about = [
    session.client,
    session.key && `key ${session.key}`,
    session.lane && `lane ${session.lane}`,
    session.models
      .join(", "),
  ].filter(Boolean).join(" · ");
  const back = html`<a class="button plain" href="#sessions">All sessions</a>`;
  return html`
    <${Page} title=${session.name ? `Session ${session.name}` : "Session"} about=${about} actions=${back}>
      <${Figures} session=${session} />
      <${Context} turns=${turns} />
      <${Composition} turns=${turns} />
      <${Steps} turns=${turns} before=${before} />
      <ol class="turns">
        ${turns.map((turn, index) =>
          html`<${OneTurn} key=${turn.id} turn=${turn} number=${index + 1} before=${before[index]} />`
        )}
      </ol>
      <//>
  `;
}

/** @param {{ session: Whole }} props */
function Figures({ session }) {
  const { turns, errors, inputTokens, cachedTokens, outputTokens, dollars, context, tools, began, ended } = session;
  const calls = Object.values(tools).reduce((all, times) => all + times, 0);
  return html`
    <ul class="stats" aria-label="Figures of the session">
      <${Stat} name="Turns" value=${count(turns)} more=${`in ${inTime(Date.parse(ended) - Date.parse(began))}`} />
      <${Stat} name="Errors" value=${count(errors)} tone=${errors > 0 ? "bad" : "plain"} />
      <${Stat} name="Context" value=${inShort(context)} more="tokens at the end" />
      <${Stat} name="Input" value=${inShort(inputTokens)} more=${`${inPercent(cachedTokens, inputTokens)} cached`} />
      <${Stat} name="Output" value=${inShort(outputTokens)} />
      <${Stat} name="Tool calls" value=${count(calls)} more=${toolsInWords(tools)} />
      <${Stat} name="Cost" value=${inDollars(dollars)} />
    </ul>
  `;
}

/** A bar for each turn: how much it read, how much of that from the cache, and which missed it. @param {{ turns: readonly Turn[] }} props */
function Context({ turns }) {
  const most = Math.max(1, ...turns.map(({ usage }) => usage?.inputTokens ?? 0));
  const bar = (/** @type {Turn} */ { id, usage, status, cache }, /** @type {number} */ index) => {
    const { inputTokens = 0, cachedInputTokens = 0 } = usage ?? {};
    const words = `Turn ${index + 1}: ${count(inputTokens)} tokens, ${
      inPercent(cachedInputTokens, inputTokens)
    } cached${cache?.outcome === "miss" ? ", missed the cache" : ""}${status >= 400 ? `, failed with ${status}` : ""}`;
    const part = (/** @type {number} */ tokens) => ({ "--part": `${(tokens / most) * 100}%` });
    return html`
      <li key=${id}>
        <button
          type="button"
          title=${words}
          aria-label=${words}
          data-kind=${status >= 400 ? "bad" : cache?.outcome}
          onClick=${() => goTo(id)}
        ><span class="read" style=${part(inputTokens)}></span><span class="cached" style=${part(
          cachedInputTokens,
        )}></span></button>
      </li>
    `;
  };
  return html`
    <${Card} title="Context by turn" about=${`up to ${inShort(most)} tokens`}>
      <ol class="context-bars" tabindex="0" aria-label="Turns">${turns.map(bar)}</ol>
      <ul class="legend">
        <li><span class="swatch s1"></span>from the cache</li>
        <li><span class="swatch s5"></span>read anew</li>
        <li><span class="swatch s2"></span>read anew though it was read before</li>
        <li><span class="swatch bad"></span>failed</li>
      </ul>
      <//>
  `;
}

/** The parts of the latest recorded turn. @param {{ turns: readonly Turn[] }} props */
function Composition({ turns }) {
  const latest = turns.findLast(({ isRecorded, status }) => isRecorded && status < 400);
  const content = useContent(latest, undefined, latest !== undefined);
  const shares = content?.composition ?? [];
  const all = shares.reduce((sum, { tokens }) => sum + tokens, 0);
  if (shares.length === 0) return undefined;
  return html`
    <${Card} title="What fills the context" about="of the latest turn, estimated">
      <ul class="shares">
        ${shares.map((share) =>
          html`
            <li key=${shareName(share)}>
              <span>${shareName(share)}</span>
              <span class="share-bar"><span style=${{ "--part": `${(share.tokens / all) * 100}%` }}></span></span>
              <b>${inShort(share.tokens)}</b> <span class="quiet">${inPercent(share.tokens, all)}</span>
            </li>
          `
        )}
      </ul>
      <//>
  `;
}

/** @param {{ turn: Turn, number: number, before: Turn | undefined }} props */
function OneTurn({ turn, number, before }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    // A turn is asked for when its reader comes near.
    const watch = new IntersectionObserver(([entry]) => entry?.isIntersecting && setSeen(true), {
      rootMargin: "400px",
    });
    if (place.current) watch.observe(place.current);
    return () => watch.disconnect();
  }, []);
  const content = useContent(turn, before, isSeen);
  const { id, time, status, error, model, target, durationMs, usage, cost, notes, isRecorded } = turn;
  const grown = usage && before?.usage ? usage.inputTokens - before.usage.inputTokens : undefined;
  const facts = [
    inTime(durationMs),
    usage &&
    `${inShort(usage.inputTokens)} in${
      grown === undefined ? "" : ` (${grown < 0 ? "−" : "+"}${inShort(Math.abs(grown))})`
    }`,
    usage?.cachedInputTokens && `${inPercent(usage.cachedInputTokens, usage.inputTokens)} cached`,
    usage && `${inShort(usage.outputTokens)} out`,
    cost && inDollars(cost),
    notes > 0 && `${notes} ${notes === 1 ? "note" : "notes"}`,
  ].filter(Boolean);
  return html`
    <li class="turn" id=${`turn-${id}`} tabindex="-1" ref=${place}>
      <header>
        <h3>Turn ${number}</h3>
        <span class="quiet" title=${exactly(time)}>${new Date(time).toLocaleTimeString("en-GB")}</span>
        <span class="quiet"><bdi>${model}</bdi>${model && target && " → "}<bdi>${target}</bdi></span>
        ${status >= 400 && html`<${Badge} tone="bad">${[status, error].filter(Boolean).join(" ")}<//>`}
        ${turn.cache?.outcome === "miss" && html`<${Badge} tone="warn">missed the cache<//>`}
        <span class="facts">${facts.join(" · ")}</span>
        ${isRecorded &&
          html`<a href=${`#inspect?${encodeURIComponent(id)}`} aria-label=${`Inspect turn ${number}`}>Inspect</a>`}
      </header>
      <${Changed} turn=${turn} changes=${content?.changes} />
      ${isRecorded
        ? html`
          ${before && !before.isRecorded && html`
            <p class="quiet">The turn before is not recorded: this one is shown with the whole history.</p>
          `}
          <${TurnContent} content=${content} />
        `
        : html`<p class="quiet">This turn is not recorded${
          turn.tools.length > 0 ? `. It had results of ${turn.tools.join(", ")}` : ""
        }.</p>`}
    </li>
  `;
}

/** @param {{ turn: Turn, changes: import("./session_words.js").Changes | undefined }} props */
function Changed({ turn, changes }) {
  const miss = turn.cache?.outcome === "miss" ? missInWords(turn, changes) : undefined;
  if (miss) return html`<p class="miss">${miss}</p>`;
  const words = changesInWords(changes);
  return words.length > 0 ? html`<p class="quiet">Since the turn before: ${words.join("; ")}.</p>` : undefined;
}

/** @param {{ content: Content | undefined }} props */
function TurnContent({ content }) {
  if (!content) return html`<p class="quiet">…</p>`;
  const { problem, messages = [], tools = {}, answers } = content;
  return html`
    ${problem && html`<p class="error">${problem}</p>`}
    ${messages.map((message, index) => html`<${OneMessage} key=${index} message=${message} tools=${tools} />`)}
    ${answers.map(({ problem, output, error }, index) =>
      html`
        ${problem && html`<p class="error" key=${`${index} problem`}>${problem}</p>`}
        ${error && html`<p class="error" key=${`${index} error`}>${error.code}: ${error.message}</p>`}
        ${output?.content && html`
          <${OneMessage}
            key=${index}
            message=${{ role: "assistant", content: output.content }}
            tools=${tools}
          />
        `}
      `
    )}
  `;
}
