// @ts-check
/// <reference lib="dom" />
/** A key whose secret is replaced or that ends, and a secret that was just made. */
import { html, useRef, useState } from "./ui.js";
import { attempt } from "./actions.js";
import { Dialog, toast } from "./design/overlays.js";
import { Button, ButtonLink } from "./design/parts.js";
import { order } from "./dom.js";
import { exactly } from "./words.js";

/**
 * @typedef {{ name: string, key: string, formerUntil?: string }} Made
 * @typedef {{ name: string, onClose(): void, onMade(made: Made): void, refresh(): Promise<void> }} Props
 */

/** @param {Props} props */
export function Revoke({ name, onClose, refresh }) {
  const revoke = async () => {
    onClose();
    await attempt(async () => {
      await order("keys/revoke", { name });
      toast(`Key "${name}" is revoked.`);
      await refresh();
    });
  };
  const actions = html`
    <${Button} autofocus onClick=${onClose}>Cancel<//><${Button} kind="danger" onClick=${revoke}>Revoke<//>
  `;
  return html`
    <${Dialog} title=${`Revoke key "${name}"?`} onClose=${onClose} actions=${actions}>
      <p>Requests with it are refused within a second. This cannot be undone.</p>
      <//>
  `;
}

const HOUR_MS = 3_600_000;
/** How long the former secret may stay valid. */
const KEPT = [["0", "It ends at once"], ["1", "1 hour"], ["24", "1 day"], ["168", "7 days"]];

/** @param {Props} props */
export function Rotate({ name, onClose, onMade, refresh }) {
  const [hours, setHours] = useState("24");
  const rotate = async () => {
    onClose();
    await attempt(async () => {
      onMade(await order("keys/rotate", { name, keepMs: Number(hours) * HOUR_MS }));
      await refresh();
    });
  };
  const actions = html`
    <${Button} onClick=${onClose}>Cancel<//><${Button} kind="primary" onClick=${rotate}>Make a new secret<//>
  `;
  return html`
    <${Dialog} title=${`Rotate key "${name}"`} onClose=${onClose} actions=${actions}>
      <p>The key gets a new secret. Its name, limits and usage stay. Change its clients while both secrets are valid.</p>
      <label class="field">
        The former secret stays valid for
        <select value=${hours} onChange=${(/** @type {any} */ { target }) => setHours(target.value)}>
          ${KEPT.map(([value, title]) => html`<option key=${value} value=${value}>${title}</option>`)}
        </select>
      </label>
      <//>
  `;
}

/** The only time that it is shown. @param {{ made: Made, onDone(): void }} props */
export function Secret({ made: { name, key, formerUntil }, onDone }) {
  const [copied, setCopied] = useState("");
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const isCopied = copied === key;
  const copy = async () => {
    field.current?.select();
    await navigator.clipboard?.writeText(key).then(() => setCopied(key), () => {});
  };
  return html`
    <div class="bar secret" role="group" aria-label="The new key">
      <label>
        Key "${name}": copy it now, it will not be shown again
        <input ref=${field} readonly value=${key} size="60" autocomplete="off" spellcheck="false" />
      </label>
      <${Button} icon=${isCopied ? "check" : "copy"} onClick=${copy}>${isCopied ? "Copied" : "Copy"}<//>
      <${ButtonLink} href="#setup?client">Connect a client<//>
      <${Button} onClick=${onDone}>Done<//>
      ${formerUntil && html`<span class="quiet">The former secret is valid until ${exactly(formerUntil)}.</span>`}
    </div>
  `;
}
