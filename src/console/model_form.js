// @ts-check
/// <reference lib="dom" />
/** The form for a model: its name, its lane, and the targets that answer for it, in their order. */
import { html, useState } from "./ui.js";
import { known } from "./change.js";
import { byField, editsFor, filled, isSame, removal, valueAt } from "./edits.js";
import { ChangeForm, Choice, Input, numberIn, NumberInput } from "./form_parts.js";
import { rowOf, Targets } from "./target_rows.js";
import { AsText } from "./upstream_form.js";

/**
 * @typedef {import("./edits.js").Fields} Fields
 * @typedef {import("./change.js").Known} Known
 * @typedef {import("./target_rows.js").Target} Target
 * @typedef {{ lane: string, name: string, task: string, targets: Target[], contextLength: string, maxOutputTokens: string,
 *   displayName: string, input: string, output: string, cached: string, hedge: string, isDefault: boolean }} Form
 */

/** The name that stands for all that are not listed. */
export const ANY = "*";
const SHOWN =
  /^(name|lane|task|targets.*|contextLength|maxOutputTokens|displayName|price\.(input|output|cached)|hedgeAfterMs)$/;

/** @type {(value: unknown) => string} */
const textOf = (value) => value === undefined || value === null ? "" : String(value);

/** @param {Known} facts @param {{ lane: string, name: string, upstream?: string }} asked @returns {Form} */
function formOf({ own, whole }, { lane, name, upstream = Object.keys(whole.upstreams)[0] ?? "" }) {
  const models = valueAt(whole.lanes, [lane, "models"]) ?? {};
  const all = valueAt(models, [name]) ?? {};
  const { contextLength, maxOutputTokens, displayName, price = {}, hedgeAfterMs } =
    valueAt(own.lanes, [lane, "models", name]) ?? {};
  return {
    lane,
    name,
    task: all.task ?? "chat",
    targets: (all.targets ?? [{ upstream, model: "" }]).map(rowOf),
    contextLength: textOf(contextLength),
    maxOutputTokens: textOf(maxOutputTokens),
    displayName: textOf(displayName),
    input: textOf(price.input),
    output: textOf(price.output),
    cached: textOf(price.cached),
    hedge: textOf(hedgeAfterMs),
    isDefault: all.targets !== undefined && isSame(models[ANY]?.targets, all.targets),
  };
}

/** @param {Form} form @param {Fields} own @param {Fields} whole */
function entryOf(
  { task, targets, contextLength, maxOutputTokens, displayName, input, output, cached, hedge },
  own,
  whole,
) {
  const rows = targets.map(({ own: rest, upstream, model, weight }) =>
    filled({ ...rest, upstream, model: model.trim(), weight: numberIn(weight) }) ?? {}
  );
  return {
    ...own,
    task: task === whole.task ? own.task : task,
    targets: isSame(rows, whole.targets) ? own.targets : rows,
    contextLength: numberIn(contextLength),
    maxOutputTokens: numberIn(maxOutputTokens),
    displayName: displayName.trim() || undefined,
    price: filled({ ...own.price, input: numberIn(input), output: numberIn(output), cached: numberIn(cached) }),
    hedgeAfterMs: numberIn(hedge),
  };
}

/**
 * The edits for the model, and for the name that stands for all others.
 * @param {Form} form
 * @param {Known} facts
 * @param {boolean} wasDefault
 */
function editsOf(form, facts, wasDefault) {
  const at = ["lanes", form.lane, "models", form.name];
  const [own, whole] = [valueAt(facts.own, at), valueAt(facts.whole, at) ?? {}];
  const entry = /** @type {Fields} */ (filled(entryOf(form, own ?? {}, whole)) ?? {});
  const edits = own || Object.keys(whole).length === 0
    ? editsFor(at, own, entry)
    : Object.entries(entry).map(([field, value]) => ({ at: [...at, field], value }));
  if (form.name === ANY) return edits;
  const star = ["lanes", form.lane, "models", ANY];
  const targets = entry.targets ?? whole.targets;
  const task = entry.task ?? whole.task;
  if (!form.isDefault) return wasDefault ? [...edits, removal(facts, star)] : edits;
  const now = valueAt(facts.own, star);
  return [...edits, ...editsFor(star, now, { ...now, task, targets })];
}

/** @param {Form} form @param {Known} facts @param {boolean} isNew @returns {import("./change.js").Problem[]} */
function wrongIn({ lane, name, targets }, { whole }, isNew) {
  const say = (/** @type {string} */ field, /** @type {string} */ message) => ({
    path: `lanes.${lane}.models.${name}.${field}`,
    message,
  });
  const there = valueAt(whole.lanes, [lane, "models"]) ?? {};
  const isTaken = isNew && Object.hasOwn(there, name);
  return [
    ...name === "" ? [say("name", "A model needs a name: clients ask for it by this name.")] : [],
    ...isTaken ? [say("name", "The lane has a model of this name already.")] : [],
    ...targets.flatMap(({ model }, at) =>
      model.trim() === "" ? [say(`targets[${at}].model`, "Write how the upstream calls the model.")] : []
    ),
  ];
}

/**
 * @param {{ model?: { lane: string, name: string }, upstream?: string,
 *   propose(change: import("./change.js").Change): Promise<import("./change.js").Problem[]>, onClose(): void, onRemove?(): void }} props
 *
 * `model`: the one that is changed. `upstream`: the first target's, for a new one.
 */
export function ModelForm({ model, upstream, propose, onClose, onRemove }) {
  const [facts] = useState(() => /** @type {Known} */ (known.value));
  const lanes = Object.keys(facts.whole.lanes);
  const [first] = useState(() => formOf(facts, { lane: lanes[0] ?? "oss", name: "", upstream, ...model }));
  const [form, setForm] = useState(first);
  const [problems, setProblems] = useState(/** @type {import("./change.js").Problem[]} */ ([]));
  const isNew = model === undefined;
  const trimmed = { ...form, name: form.name.trim() };
  const at = ["lanes", trimmed.lane, "models", trimmed.name];
  const { fields, others } = byField(problems, at);
  const set = (/** @type {keyof Form} */ field) => (/** @type {any} */ value) =>
    setForm((now) => ({ ...now, [field]: value }));
  const whole = valueAt(facts.whole, at) ?? {};
  const submit = async () => {
    const wrong = wrongIn(trimmed, facts, isNew);
    if (wrong.length > 0) return setProblems(wrong);
    const title = `Model “${trimmed.name}” was ${isNew ? "added" : "changed"}`;
    setProblems(await propose({ title, edits: editsOf(trimmed, facts, first.isDefault) }));
  };
  const above = Object.entries(fields).filter(([path]) => !SHOWN.test(path));
  const unused = [...others, ...above.map(([path, message]) => path === "" ? message : `${path}: ${message}`)];
  return html`
    <${ChangeForm} onSubmit=${submit} others=${unused} onClose=${onClose} extra=${html`<${AsText} at=${
      model ? at : ["lanes"]
    } onRemove=${onRemove} />`}>
      <div class="pair">
        <${Input}
          label="Name"
          value=${form.name}
          onInput=${set("name")}
          readonly=${!isNew}
          problem=${fields.name}
          hint=${form.name.includes(ANY)
            ? "It stands for all names that match and are not listed."
            : "Clients ask for the model by this name."}
        />
        <${Choice}
          label="Lane"
          value=${form.lane}
          onInput=${set("lane")}
          options=${(isNew ? lanes : [form.lane]).map((lane) => [lane, lane])}
          hint=${`Clients find it below /${form.lane}.`}
        />
      </div>
      <${Targets} targets=${form.targets} onChange=${set("targets")} facts=${facts} fields=${fields} />
      <div class="pair">
        <${Choice}
          label="Task"
          value=${form.task}
          onInput=${set("task")}
          options=${facts.tasks.map((task) => [task, task])}
          problem=${fields.task}
        />
        <${NumberInput}
          label="Context window, in tokens"
          value=${form.contextLength}
          onInput=${set("contextLength")}
          placeholder=${textOf(whole.contextLength) || "not known"}
          problem=${fields.contextLength}
        />
      </div>
      ${form.name !== ANY && html`
        <label class="check">
          <input
            type="checkbox"
            checked=${form.isDefault}
            onChange=${(/** @type {any} */ { target }) => set("isDefault")(target.checked)}
          />
          Default: it also answers for every name that the lane does not list
        </label>
      `}
      <${More} form=${form} set=${set} whole=${whole} fields=${fields} />
    <//>
  `;
}

/** @param {{ form: Form, set(field: keyof Form): (value: string) => void, whole: Fields, fields: Record<string, string> }} props */
function More({ form, set, whole, fields }) {
  const { price = {} } = whole;
  const dollars = (/** @type {"input" | "output" | "cached"} */ part, /** @type {string} */ label) =>
    html`
      <${NumberInput}
        label=${label}
        value=${form[part]}
        onInput=${set(part)}
        placeholder=${textOf(price[part]) || "not known"}
        problem=${fields[`price.${part}`]}
      />
    `;
  const isOpen = [form.displayName, form.maxOutputTokens, form.input, form.output, form.cached, form.hedge].some(
    Boolean,
  );
  return html`
    <details class="more" open=${isOpen}>
      <summary>Price and limits</summary>
      <div class="pair three">
        ${dollars("input", "$ per million input tokens")} ${dollars("output", "$ per million output tokens")}
        ${dollars("cached", "$ per million cached tokens")}
      </div>
      <div class="pair three">
        <${NumberInput}
          label="Longest answer, in tokens"
          value=${form.maxOutputTokens}
          onInput=${set("maxOutputTokens")}
          placeholder=${textOf(whole.maxOutputTokens) || "no limit"}
          problem=${fields.maxOutputTokens}
        />
        <${NumberInput}
          label="Ask a second one after (ms)"
          value=${form.hedge}
          onInput=${set("hedge")}
          placeholder=${textOf(whole.hedgeAfterMs) || "never"}
          problem=${fields.hedgeAfterMs}
        />
        <${Input}
          label="Name for people"
          value=${form.displayName}
          onInput=${set("displayName")}
          placeholder=${whole.displayName ?? form.name}
          problem=${fields.displayName}
        />
      </div>
    </details>
  `;
}
