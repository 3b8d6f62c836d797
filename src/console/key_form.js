// @ts-check
/// <reference lib="dom" />
/** The name and the permissions of a key, as a form. */
import { html, useState } from "./ui.js";
import { Button, Field } from "./design/parts.js";

/** @typedef {import("./keys.js").Key} Key */

/** @type {readonly [name: string, label: string][]} */
const QUOTAS = [
  ["requestsPerMinute", "Requests per minute"],
  ["tokensPerMinute", "Tokens per minute"],
  ["tokensPerDay", "Tokens per day"],
  ["concurrentRequests", "Concurrent requests"],
];
const PERIODS = ["day", "week", "month", "total"];
const UNPRICED = ["refuse", "allow"];
/** @type {readonly [value: string, words: string][]} */
const CONTINUATION = [
  ["", "as the model says"],
  ["off", "nowhere"],
  ["same", "at the same model"],
  ["any", "at any target"],
];

/**
 * @param {{ known: { lanes: string[], teams: string[] }, own?: Key, onSubmit(facts: Key): Promise<void>, onCancel(): void }} props
 *
 * `own`: the key that is to be limited; a new one without it. `onSubmit` throws the reason that is shown.
 */
export function KeyForm({ known, own, onSubmit, onCancel }) {
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (/** @type {any} */ event) => {
    event.preventDefault();
    setProblem("");
    setBusy(true);
    try {
      await onSubmit(factsIn(new FormData(event.currentTarget), own));
    } catch (error) {
      setProblem(/** @type {Error} */ (error).message);
    } finally {
      setBusy(false);
    }
  };
  const number = { type: "number", min: "1", step: "1", placeholder: "no limit" };
  // A lane that the configuration has no more is shown, so that it can be taken away.
  const lanes = [...new Set([...known.lanes, ...own?.lanes ?? []])];
  return html`
    <form class="fields" onSubmit=${submit}>
      <${Input} label="Name" name="name" required maxlength="200" defaultValue=${own
        ?.name} readonly=${own !== undefined} />
      <${Input} label="Models, by name or with *" name="models" placeholder="all" defaultValue=${own?.models?.join(
        " ",
      )} />
      <fieldset>
        <legend>Lanes (all if none is checked)</legend>
        ${lanes.map((lane) =>
          html`
            <label class="check" key=${lane}>
              <input type="checkbox" name="lane" value=${lane} defaultChecked=${own?.lanes?.includes(lane)} />${lane}
            </label>
          `
        )}
      </fieldset>
      <${Input} label="Expires" name="expires" type="datetime-local" defaultValue=${localTime(own?.expires)} />
      ${known.teams.length > 0 && html`
        <${Select} label="Team" name="team" values=${["", ...known.teams]} chosen=${own?.team ?? ""} />
      `}
      ${QUOTAS.map(([name, label]) =>
        html`<${Input} key=${name} label=${label} name=${name} ...${number} defaultValue=${own?.quota?.[name]} />`
      )}
      <${BudgetFields} budget=${own?.budget} />
      <${Select} label="Where broken answers go on" name="continuation" values=${CONTINUATION} chosen=${own
        ?.continuation ?? ""} />
      <label class="check">
        <input type="checkbox" name="files" defaultChecked=${own?.files !== false} />Files: may upload and name them
      </label>
      <label class="check">
        <input type="checkbox" name="operator" defaultChecked=${own?.operator} />Operator: full access to this console
      </label>
      <p class="error" role="alert">${problem}</p>
      <div class="bar">
        <${Button} kind="primary" type="submit" disabled=${isBusy}>${own ? "Save" : "Create"}<//>
        <${Button} onClick=${onCancel}>Cancel<//>
      </div>
    </form>
  `;
}

/** The fields of a budget, which a key and a team have alike. @param {{ budget?: Key["budget"] }} props */
export function BudgetFields({ budget }) {
  const amount = { type: "number", min: "0", step: "any", placeholder: "no budget" };
  return html`
    <${Input} label="Budget in dollars" name="dollars" ...${amount} defaultValue=${budget?.dollars} />
    <${Select} label="Budget period" name="period" values=${PERIODS} chosen=${budget?.period ?? "month"} />
    <${Select}
      label="Models without a price"
      name="unpriced"
      values=${UNPRICED}
      chosen=${budget?.unpriced ?? "refuse"}
    />
  `;
}

/**
 * @param {FormData} form
 * @param {Key["budget"]} [former] settings that the form does not show are kept
 * @returns {Key["budget"]}
 */
export function budgetIn(form, former) {
  const dollars = String(form.get("dollars") ?? "");
  if (dollars === "") return undefined;
  const { unpriced: _, ...kept } = former ?? {};
  const how = form.get("unpriced") === "allow" ? { unpriced: "allow" } : {};
  return { ...kept, dollars: Number(dollars), period: String(form.get("period")), ...how };
}

/** @param {{ label: string, [name: string]: unknown }} props */
export function Input({ label, ...rest }) {
  return html`<${Field} label=${label}>${(/** @type {any} */ own) =>
    html`<input autocomplete="off" ...${rest} ...${own} />`}<//>`;
}

/** @param {{ label: string, name: string, values: readonly (string | readonly [value: string, words: string])[], chosen: string }} props */
function Select({ label, name, values, chosen }) {
  const options = values.map((one) => {
    const [value, words] = typeof one === "string" ? [one, one || "none"] : one;
    return html`<option key=${value} value=${value} selected=${value === chosen}>${words}</option>`;
  });
  return html`<${Field} label=${label}>${(/** @type {any} */ own) =>
    html`<select name=${name} ...${own}>${options}</select>`}<//>`;
}

/**
 * @param {FormData} form
 * @param {Key | undefined} own
 * @returns {Key}
 */
function factsIn(form, own) {
  const text = (/** @type {string} */ name) => String(form.get(name) ?? "");
  const number = (/** @type {string} */ name) => text(name) === "" ? undefined : Number(text(name));
  const lanes = form.getAll("lane").map(String);
  const models = text("models").split(/[\s,]+/).filter(Boolean);
  const expires = text("expires");
  return /** @type {Key} */ (present({
    name: own ? own.name : text("name").trim(),
    lanes: lanes.length > 0 ? lanes : undefined,
    models: models.length > 0 ? models : undefined,
    // Nobody's clock shows the seconds: a time that was left alone stays as it was.
    expires: expires === localTime(own?.expires) ? own?.expires : expires ? new Date(expires).toISOString() : undefined,
    quota: present(Object.fromEntries(QUOTAS.map(([name]) => [name, number(name)]))),
    budget: budgetIn(form, own?.budget),
    team: text("team") || undefined,
    continuation: text("continuation") || undefined,
    files: form.has("files") ? undefined : false,
    operator: form.has("operator") || undefined,
  }));
}

/**
 * Without what is undefined; nothing where nothing is left.
 * @param {Record<string, unknown>} fields
 */
function present(fields) {
  const found = Object.entries(fields).filter(([, value]) => value !== undefined);
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

/**
 * As the field shows it, in the browser's own time.
 * @param {string | undefined} time
 */
function localTime(time) {
  if (time === undefined) return "";
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
