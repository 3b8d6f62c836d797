// @ts-check
/// <reference lib="dom" />
/** The dialogs that add an upstream, change it, test it or remove it. */
import { html, signal, useEffect, useState } from "./ui.js";
import { Editing, known, readKnown } from "./change.js";
import { Dialog } from "./design/overlays.js";
import { Button } from "./design/parts.js";
import { order } from "./dom.js";
import { removal, usesOf, withoutUpstream } from "./edits.js";
import { ChangeForm, KeysNaming, Result } from "./form_parts.js";
import { attempt } from "./actions.js";
import { UpstreamForm } from "./upstream_form.js";

/**
 * @typedef {import("./change.js").Change} Change
 * @typedef {import("./change.js").Problem} Problem
 * @typedef {{ kind: "add" } | { kind: "edit" | "remove" | "test", name: string }} Asked
 */

/** The dialog that is open. */
export const asked = signal(/** @type {Asked | undefined} */ (undefined));

/** Opens a dialog with the file as it is now. @param {Asked} next */
export const open = (next) =>
  attempt(async () => {
    if (next.kind !== "test") await readKnown();
    asked.value = next;
  });

const close = () => void (asked.value = undefined);

/** @param {{ name: string }} props */
export function Actions({ name }) {
  const { value } = known;
  if (!value) return undefined;
  if (!Object.hasOwn(value.whole.upstreams, name)) return html`<span class="dim">no longer in the file</span>`;
  const button = (/** @type {"edit" | "remove" | "test"} */ kind, /** @type {string} */ words) =>
    html`<${Button} roomy=${kind !== "edit"} aria-label=${`${words} upstream “${name}”`} onClick=${() =>
      open({ kind, name })}>${words}<//>`;
  return html`<span class="row-actions">${button("test", "Test")} ${button("edit", "Edit")} ${
    button("remove", "Remove")
  }</span>`;
}

/** @param {{ onDone(): Promise<void> }} props `onDone`: called once the file was written */
export function UpstreamDialogs({ onDone }) {
  const { value } = asked;
  if (!value) return undefined;
  const ways = { onClose: close, onDone };
  if (value.kind === "test") return html`<${Test} name=${value.name} />`;
  if (value.kind === "remove") return html`<${Remove} name=${value.name} ...${ways} />`;
  const upstream = value.kind === "edit" ? value.name : undefined;
  const remove = upstream === undefined ? undefined : () => void (asked.value = { kind: "remove", name: upstream });
  const form = (/** @type {unknown} */ propose, /** @type {unknown} */ setup) =>
    html`<${UpstreamForm} upstream=${upstream} onRemove=${remove} propose=${propose} setup=${setup} onClose=${close} />`;
  return html`
    <${Editing} title=${upstream === undefined
      ? "Add upstream"
      : `Edit upstream “${upstream}”`} form=${form} ...${ways} />
  `;
}

/** @param {{ name: string }} props */
function Test({ name }) {
  const [found, setFound] = useState(/** @type {import("./form_parts.js").Tested | undefined} */ (undefined));
  const test = () => {
    setFound(undefined);
    void order("upstreams/test", { upstream: name }).then(
      setFound,
      ({ message: reason }) => setFound({ ok: false, reason }),
    );
  };
  useEffect(test, []);
  const actions = html`
    <${Button} onClick=${test} disabled=${!found}>Test again<//><${Button} onClick=${close}>Close<//>
  `;
  return html`
    <${Dialog} title=${`Test of upstream “${name}”`} onClose=${close} actions=${actions}>
      <div role="status">${found
        ? html`<${Result} found=${found} />`
        : html`<p class="busy">Asking for its list of models …</p>`}</div>
      <//>
  `;
}

/** @param {{ name: string, onClose(): void, onDone(): Promise<void> }} props */
function Remove({ name, onClose, onDone }) {
  const form = (/** @type {(change: Change) => Promise<Problem[]>} */ propose) =>
    html`<${RemoveForm} name=${name} propose=${propose} onClose=${onClose} />`;
  return html`<${Editing} title=${`Remove upstream “${name}”?`} form=${form} onClose=${onClose} onDone=${onDone} />`;
}

/** @param {{ name: string, propose(change: Change): Promise<Problem[]>, onClose(): void }} props */
function RemoveForm({ name, propose, onClose }) {
  const [facts] = useState(() => /** @type {import("./change.js").Known} */ (known.value));
  const [isWhole, setWhole] = useState(true);
  const [problems, setProblems] = useState(/** @type {Problem[]} */ ([]));
  const { models, tasks } = usesOf(facts, name);
  const isUsed = models.length + tasks.length > 0;
  const submit = async () => {
    const edits = isWhole ? withoutUpstream(facts, name) : [removal(facts, ["upstreams", name])];
    setProblems(await propose({ title: `Upstream “${name}” was removed`, edits }));
  };
  const others = problems.map(({ path, message }) => path === "" ? message : `${path}: ${message}`);
  return html`
    <${ChangeForm} onSubmit=${submit} others=${others} onClose=${onClose}>
      ${!isUsed && html`<p>No model and no lane sends requests to it.</p>`}
      ${models.length > 0 && html`
        <p>${models.length === 1 ? "This model sends" : `These ${models.length} models send`} requests to it:</p>
        <ul class="uses" tabindex="0" aria-label="Models">
          ${models.map(({ lane, name, rest }) =>
            html`
              <li key=${`${lane} ${name}`}>
                <b>${name}</b> in lane ${lane}:${" "}
                ${rest.length === 0
                  ? "it has no other target"
                  : `${rest.length === 1 ? "another target is" : `${rest.length} other targets are`} left`}
              </li>
            `
          )}
        </ul>
      `}
      ${tasks.map(({ lane, task }) =>
        html`<p key=${lane + task}>Lane ${lane} sends the models that it does not list to it (${task}).</p>`
      )}
      <${KeysNaming} models=${models.filter(({ rest }) => rest.length === 0).map(({ name }) => name)} />
      ${isUsed && html`
        <label class="check">
          <input type="checkbox" checked=${isWhole} onChange=${(/** @type {any} */ { target }) =>
            setWhole(target.checked)} />
          Take it out of these, too. Models without another target are removed.
        </label>
      `}
      <//>
  `;
}
