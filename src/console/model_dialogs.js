// @ts-check
/// <reference lib="dom" />
/** The dialogs that add a model, change it or remove it. */
import { html, signal, useState } from "./ui.js";
import { attempt } from "./actions.js";
import { Editing, known, readKnown } from "./change.js";
import { isSame, removal, valueAt } from "./edits.js";
import { ChangeForm, KeysNaming } from "./form_parts.js";
import { ANY, ModelForm } from "./model_form.js";

/**
 * @typedef {import("./change.js").Change} Change
 * @typedef {import("./change.js").Problem} Problem
 * @typedef {{ lane: string, name: string }} Model
 * @typedef {{ kind: "add", upstream?: string } | { kind: "edit" | "remove" } & Model} Asked
 */

/** The dialog that is open. */
export const asked = signal(/** @type {Asked | undefined} */ (undefined));

/** Opens a dialog with the file as it is now. @param {Asked} next */
export const open = (next) =>
  attempt(async () => {
    await readKnown();
    asked.value = next;
  });

const close = () => void (asked.value = undefined);

/** @param {{ onDone(): Promise<void> }} props `onDone`: called once the file was written */
export function ModelDialogs({ onDone }) {
  const { value } = asked;
  if (!value) return undefined;
  const [title, form] = partsOf(value);
  return html`<${Editing} title=${title} form=${form} onClose=${close} onDone=${onDone} />`;
}

/** @param {Asked} value @returns {[title: string, form: (propose: unknown) => unknown]} */
function partsOf(value) {
  if (value.kind === "add") {
    return [
      "Add model",
      (propose) => html`<${ModelForm} upstream=${value.upstream} propose=${propose} onClose=${close} />`,
    ];
  }
  const model = { lane: value.lane, name: value.name };
  const remove = () => void (asked.value = { kind: "remove", ...model });
  return value.kind === "edit"
    ? [
      `Edit model “${value.name}”`,
      (propose) => html`<${ModelForm} model=${model} onRemove=${remove} propose=${propose} onClose=${close} />`,
    ]
    : [`Remove model “${value.name}”?`, (propose) => html`<${RemoveForm} model=${model} propose=${propose} />`];
}

/** @param {{ model: Model, propose(change: Change): Promise<Problem[]> }} props */
function RemoveForm({ model: { lane, name }, propose }) {
  const [facts] = useState(() => /** @type {import("./change.js").Known} */ (known.value));
  const [problems, setProblems] = useState(/** @type {Problem[]} */ ([]));
  const models = valueAt(facts.whole.lanes, [lane, "models"]) ?? {};
  const isDefault = name !== ANY && isSame(models[ANY]?.targets, models[name]?.targets);
  const at = ["lanes", lane, "models", name];
  const submit = async () =>
    setProblems(await propose({ title: `Model “${name}” was removed`, edits: [removal(facts, at)] }));
  const others = problems.map(({ path, message }) => path === "" ? message : `${path}: ${message}`);
  const rest = models[ANY] !== undefined && name !== ANY
    ? `Clients that ask for it get the targets of “${ANY}”, which stands for every name that is not listed.`
    : valueAt(facts.whole.lanes, [lane, "upstreams", models[name]?.task]) !== undefined
    ? "Clients that ask for it are then answered by the upstream for models that the lane does not list."
    : "Clients that ask for it get an error: there is no such model.";
  return html`
    <${ChangeForm} onSubmit=${submit} others=${others} onClose=${close}>
      <p>${rest}</p>
      ${isDefault && html`<p>It is the default now, and the default stays: remove “${ANY}” as well to end it.</p>`}
      <${KeysNaming} models=${[name]} />
      <//>
  `;
}
