// @ts-check
/// <reference lib="dom" />
/** Conversations with up to four models, side by side. */
import { attempt, later } from "./actions.js";
import { chatModels } from "./chat_models.js";
import { toast } from "./design/overlays.js";
import { Button, ButtonLink, Icon, IconButton, Page } from "./design/parts.js";
import { send } from "./dom.js";
import { Answer } from "./play/answer.js";
import { Composer, Files } from "./play/composer.js";
import { askAll, askChanged, removeSide, removeTurn, running, startAnew, stopAll, turns } from "./play/conversation.js";
import { bytesIn } from "./play/files.js";
import { Panel } from "./play/panel.js";
import { addSide, changeSide, controlsOf, MOST_SIDES, nextSide, offered, settings, sides } from "./play/settings.js";
import { addressWith, openPreset } from "./play/share.js";
import { Markdown } from "./design/markdown.js";
import { html, screen, signal, useLayoutEffect, useRef, useState } from "./ui.js";

const AsCode = later(async () => (await import("./play/code.js")).AsCode);

const EVERY_MS = 60_000;
/** The settings in the address that were taken over last. */
let opened = "";

/** @typedef {import("./play/conversation.js").Part} Part */
/** @typedef {import("./play/conversation.js").Turn} Turn */

const prompt = signal("");
const files = signal(/** @type {readonly Part[]} */ ([]));
const problem = signal("");
const names = signal(/** @type {readonly string[]} */ ([]));
const isOnlySandbox = signal(false);
/** The turns of which the code is shown. */
const coded = signal(/** @type {readonly Turn[] | undefined} */ (undefined));

export const playground = screen({
  title: "Playground",
  everyMs: EVERY_MS,
  open() {
    const query = settingsInAddress();
    // A session that had ended and is renewed opens the page again.
    if (query !== "" && query !== opened) {
      opened = query;
      try {
        prompt.value = openPreset(query);
        startAnew();
      } catch (error) {
        toast(/** @type {Error} */ (error).message, "bad");
      }
    }
    // Nobody sees what comes after the page is left.
    return { view: html`<${Playground} />`, refresh, close: stopAll };
  },
});

/** As they are written there. */
const settingsInAddress = () => location.hash.split("?")[1] ?? "";

async function refresh() {
  const [known, response] = await Promise.all([chatModels(), send("playground/wires", {})]);
  if (response.ok) offered.value = await response.json();
  names.value = known.names;
  isOnlySandbox.value = known.isOnlySandbox;
  const [wire = ""] = offered.value.wires;
  const [first = ""] = known.names;
  for (const side of sides.value) {
    const isKnown = offered.value.wires.includes(side.wire);
    if (!isKnown || side.model === "" && side === sides.value[0]) {
      changeSide(side.id, {
        wire: isKnown ? side.wire : wire,
        model: side.model || (side === sides.value[0] ? first : ""),
      });
    }
  }
}

/** The message as it is written now. */
function draft() {
  const text = prompt.value.trim();
  return [...files.value, ...text ? [{ type: "text", text }] : []];
}

/** @param {readonly Part[]} content */
function problemWith(content) {
  if (content.length === 0) return "Write a message first";
  if (sides.value.some(({ model }) => !model.includes("/"))) return "Choose a model first: lane/model";
  try {
    controlsOf(settings.value);
    return "";
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

function ask() {
  const content = draft();
  problem.value = problemWith(content);
  if (problem.value !== "" || running.value.size > 0) return;
  prompt.value = "";
  files.value = [];
  askAll(content);
}

async function share() {
  const { address, isWithout } = addressWith(prompt.value);
  history.replaceState(null, "", address);
  opened = settingsInAddress();
  const isCopied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  const done = isCopied ? "The link was copied" : "The address of this page is the link";
  toast(isWithout ? `${done}. Secrets of tools were left out` : `${done}. It holds the settings, not the conversation`);
}

function Playground() {
  const isRunning = running.value.size > 0;
  const actions = html`
    <${Button} icon="external-link" onClick=${() => void attempt(share)}>Share<//>
    <${Button} icon="square-terminal" onClick=${showCode}>As code<//>
    <${Button} icon="plus" disabled=${turns.value.length === 0} onClick=${startAnew}>New conversation<//>
  `;
  return html`
    <${Page} title="Playground" about="Requests from here are your own: your key's limits and budgets apply."
      actions=${actions}>
      ${isOnlySandbox.value && html`
        <p class="notice">Only the sandbox answers now: the other models need a key or a server.
          ${" "}<a href="#setup?upstream">Add upstream</a></p>
      `}
      <datalist id="play-models">${names.value.map((name) => html`<option key=${name} value=${name} />`)}</datalist>
      <div class="play">
        <div class="play-main">
          <${Sides} />
          <${Conversation} />
          <${Composer}
            label="Message"
            text=${prompt.value}
            files=${files.value}
            taken=${turns.value.reduce((sum, { content }) => sum + bytesIn(content), 0)}
            problem=${problem.value}
            onText=${(/** @type {string} */ text) => prompt.value = text}
            onFiles=${(/** @type {readonly Part[]} */ list) => files.value = list}
            onSend=${ask}
          >
            <span class="quiet keys">Ctrl+Enter</span>
            ${isRunning && html`<${Button} onClick=${stopAll}>Stop all<//>`}
            <${Button} kind="primary" type="submit" disabled=${isRunning}>Send<//>
          <//>
        </div>
        <aside aria-label="Settings">
          <details class="play-settings" open=${matchMedia("(min-width: 70.01rem)").matches}>
            <summary>Settings for all models</summary>
            <${Panel} />
          </details>
        </aside>
      </div>
      ${coded.value && html`<${AsCode} turns=${coded.value} onClose=${() => coded.value = undefined} />`}
    <//>
  `;
}

function showCode() {
  const content = draft();
  const example = content.length > 0 ? content : turns.value.length === 0 ? [{ type: "text", text: "Hello" }] : [];
  coded.value = example.length > 0 ? [...turns.value, { id: 0, content: example, answers: {} }] : turns.value;
}

/** The models that are asked. */
function Sides() {
  const all = sides.value;
  return html`
    <div class="play-sides" role="group" aria-label="Models">
      ${all.map(({ id, model, wire }, at) =>
        html`
          <div class="play-side" key=${id}>
            <input
              aria-label=${`Model ${at + 1}`}
              list="play-models"
              placeholder="lane/model"
              autocomplete="off"
              title=${model}
              value=${model}
              onInput=${(/** @type {any} */ { currentTarget }) => changeSide(id, { model: currentTarget.value })}
            />
            <span class="quiet">via</span>
            <select
              aria-label=${`API of model ${at + 1}`}
              title="The API by which the model is asked"
              onChange=${(/** @type {any} */ { currentTarget }) => changeSide(id, { wire: currentTarget.value })}
            >
              ${offered.value.wires.map((one) =>
                html`<option key=${one} value=${one} selected=${one === wire}>${one}</option>`
              )}
            </select>
            ${all.length > 1 && html`
              <${IconButton} icon="x" label=${`Remove model ${at + 1}`} onClick=${() => removeSide(id)} />
            `}
          </div>
        `
      )}
      ${all.length < MOST_SIDES && html`
        <${Button} icon="plus" onClick=${() => addSide(nextSide(all, names.value, offered.value.wires))}>
          Compare with another model
        <//>
      `}
    </div>
  `;
}

function Conversation() {
  if (turns.value.length > 0) {
    return html`<ol class="play-turns">${
      turns.value.map((turn, at) => html`<${OneTurn} key=${turn.id} turn=${turn} number=${at + 1} />`)
    }</ol>`;
  }
  return html`
    <div class="empty">
      <${Icon} name="messages-square" size=${28} />
      <h2>No message yet</h2>
      <p class="quiet">
        Each message goes to all models above. Their answers will stand here, side by side, with their time, tokens and cost.
      </p>
      <div class="actions">
        <${ButtonLink} icon="plus" href="#setup?models">Add model to the gateway<//></div>
    </div>
  `;
}

/** @param {{ turn: Turn, number: number }} props */
function OneTurn({ turn: { id, content, answers }, number }) {
  const [isEdited, setEdited] = useState(false);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (id === turns.value.at(-1)?.id) place.current?.scrollIntoView({ block: "start" });
  }, []);
  const texts = content.filter((part) => part.type === "text" && !isFile(part));
  return html`
    <li class="play-turn" ref=${place} aria-label=${`Message ${number}`}>
      <div class=${isEdited ? "play-turn" : "message"} data-role=${isEdited ? undefined : "user"}>
        <header>
          <h2>Message ${number}</h2>
          ${!isEdited && html`
            <span class="actions">
              <${IconButton} icon="pencil" label=${`Edit message ${number}`} onClick=${() => setEdited(true)} />
              <${IconButton} icon="x" label=${`Remove message ${number}`} onClick=${() => removeTurn(id)} />
            </span>
          `}
        </header>
        ${isEdited ? html`<${Edited} id=${id} content=${content} onEnd=${() => setEdited(false)} />` : html`
          <${Files} files=${content.filter(isFile)} />
          ${texts.map(({ text }, at) => html`<${Markdown} key=${at} text=${text} />`)}
        `}
      </div>
      <div class="play-answers">
        ${sides.value.map((side, at) =>
          html`
            <${Answer} key=${side.id} turn=${id} side=${side.id} steps=${answers[side.id] ??
              []} title=${`Answer ${number} of model ${at + 1}`} />
          `
        )}
      </div>
    </li>
  `;
}

/** A file of text is a text that begins with its name. @param {Part} part */
function isFile({ type, text = "" }) {
  return type === "file" || /^File [^\n]+:\n\n/.test(text);
}

/** @param {{ id: number, content: readonly Part[], onEnd(): void }} props */
function Edited({ id, content, onEnd }) {
  const [text, setText] = useState(content.filter((part) => !isFile(part)).map((part) => part.text).join("\n\n"));
  const [kept, setKept] = useState(content.filter(isFile));
  const [wrong, setWrong] = useState("");
  const save = () => {
    const changed = [...kept, ...text.trim() ? [{ type: "text", text: text.trim() }] : []];
    const found = problemWith(changed);
    setWrong(found);
    if (found === "") askChanged(id, changed);
  };
  return html`
    <${Composer} label="Edited message" text=${text} files=${kept} problem=${wrong} onText=${setText}
      onFiles=${setKept} onSend=${save}>
      <${Button} onClick=${onEnd}>Cancel<//>
      <${Button} kind="primary" type="submit">Send again<//>
    <//>
  `;
}
