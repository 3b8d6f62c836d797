// @ts-check
/// <reference lib="dom" />
/** The next request of the playground as a program. */
import { LANGUAGES } from "../code_button.js";
import { textsOf } from "../request_texts.js";
import { Dialog, toast } from "../design/overlays.js";
import { Button, Segments, Tabs } from "../design/parts.js";
import { messageIn, send } from "../dom.js";
import { html, useEffect, useState } from "../ui.js";
import { requestOf } from "./conversation.js";
import { sides } from "./settings.js";

/** The variable that holds the key. */
const VARIABLE = "LANEWAY_KEY";
/** The gateway's own address, which may end with a path. */
const address = () => new URL("../", location.href.split("#")[0]).href;

/** @param {readonly import("./conversation.js").Turn[]} turns @param {number} id */
async function written(turns, id) {
  const side = sides.value.find((one) => one.id === id);
  if (!side) throw new Error("This model is not asked any more");
  const response = await send("playground/request", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(requestOf(side, turns)),
  });
  if (!response.ok) throw new Error(await messageIn(response));
  const { path, body, notes } = await response.json();
  const text = JSON.stringify(body);
  const bytes = new TextEncoder().encode(text).length;
  /** @type {[string, string][]} */
  const headers = [["content-type", "application/json"], ["authorization", "Bearer ***"]];
  const request = {
    method: "POST",
    url: address() + path,
    headers,
    body: { text, bytes, kept: bytes },
    isStream: true,
  };
  return { notes, texts: await textsOf(request, { variable: VARIABLE, isOwnKey: true }) };
}

/** @param {{ turns: readonly import("./conversation.js").Turn[], onClose(): void }} props */
export function AsCode({ turns, onClose }) {
  const [side, setSide] = useState(sides.value[0]?.id ?? 0);
  const [language, setLanguage] = useState("curl");
  const [asked, setAsked] = useState(/** @type {any} */ (undefined));
  useEffect(() => {
    let isGone = false;
    const show = (/** @type {any} */ value) => !isGone && setAsked(value);
    Promise.resolve().then(() => written(turns, side)).then(show, (error) => show({ problem: error.message }));
    return () => void (isGone = true);
  }, [side]);
  const code = asked?.texts?.[language] ?? "";
  const copy = async () => {
    const isCopied = await navigator.clipboard?.writeText(code).then(() => true, () => false);
    if (isCopied) toast("Copied");
    else toast("The browser does not allow it. Select the text and copy it", "info");
  };
  const view = html`<pre class="play-code" tabindex="0">${code}</pre>`;
  return html`
    <${Dialog} kind="roomy" title="As code" onClose=${onClose} actions=${code &&
      html`<${Button} kind="primary" icon="copy" onClick=${copy}>Copy<//>`}>
      ${sides.value.length > 1 && html`
        <${Segments} label="Model" value=${String(side)} onChoose=${(/** @type {string} */ id) => setSide(Number(id))}
          options=${sides.value.map(({ id, model, wire }) => ({
            value: String(id),
            title: `${model || "no model"} · ${wire}`,
          }))} />
      `}
      ${asked?.problem && html`<p class="error" role="alert">${asked.problem}</p>`}
      ${code && html`
        <${Tabs} label="Language" chosen=${language} onChoose=${setLanguage}
          tabs=${LANGUAGES.map(({ value, title }) => ({ id: value, title, view }))} />
        <p class="quiet">The key is read from the variable <code>${VARIABLE}</code>.</p>
      `}
      ${asked?.notes?.length > 0 &&
        html`<ul>${asked.notes.map((/** @type {string} */ note) => html`<li key=${note}>${note}</li>`)}</ul>`}
    <//>
  `;
}
