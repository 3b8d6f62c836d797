// @ts-check
/// <reference lib="dom" />
/** The name and the permissions of a key, as a form. */
import { h } from "./dom.js";

/** @typedef {import("./keys.js").Key} Key */

/** @type {readonly [name: string, label: string][]} */
const QUOTAS = [
  ["requestsPerMinute", "Requests per minute"],
  ["tokensPerMinute", "Tokens per minute"],
  ["tokensPerDay", "Tokens per day"],
  ["concurrentRequests", "Concurrent requests"],
];

/**
 * Opens the form. `key`: the one that is to be limited; a new one without it.
 * @param {HTMLDialogElement} dialog
 * @param {{ lanes: string[], teams: string[] }} known
 * @param {Key | undefined} key
 * @param {(facts: Key) => Promise<void>} onSubmit throws what is shown
 */
export function keyForm(dialog, known, key, onSubmit) {
  const name = h("input", {
    required: true,
    maxlength: 200,
    autocomplete: "off",
    value: key?.name,
    readonly: key !== undefined,
  });
  const lanes = checkboxes(known.lanes, key?.lanes);
  const models = h("input", { autocomplete: "off", placeholder: "all", value: key?.models?.join(" ") });
  const expires = h("input", { type: "datetime-local", value: localTime(key?.expires) });
  const quotas = QUOTAS.map(([field, label]) => ({
    field,
    label,
    input: h("input", { type: "number", min: 1, step: 1, placeholder: "no limit", value: key?.quota?.[field] }),
  }));
  const dollars = h("input", {
    type: "number",
    min: 0,
    step: "any",
    placeholder: "no budget",
    value: key?.budget?.dollars,
  });
  const period = select(["day", "week", "month", "total"], key?.budget?.period ?? "month");
  const team = select(["", ...known.teams], key?.team ?? "");
  const continuation = select(["", "off", "same", "any"], key?.continuation ?? "");
  const operator = h("input", { type: "checkbox", checked: key?.operator });
  const problem = h("p", { class: "error", role: "alert" });
  const save = h("button", { type: "submit" }, key ? "Save" : "Create");
  const cancel = h("button", { type: "button", click: () => dialog.close() }, "Cancel");
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    problem.textContent = "";
    save.disabled = true;
    try {
      await onSubmit(
        /** @type {Key} */ (present({
          name: key ? name.value : name.value.trim(),
          lanes: lanes.chosen(),
          models: words(models.value),
          // Nobody's clock shows the seconds: a time that was left alone stays as it was.
          expires: expires.value === localTime(key?.expires)
            ? key?.expires
            : expires.value
            ? new Date(expires.value).toISOString()
            : undefined,
          quota: present(Object.fromEntries(quotas.map(({ field, input }) => [field, number(input.value)]))),
          budget: dollars.value === ""
            ? undefined
            : { ...key?.budget, dollars: Number(dollars.value), period: period.value },
          team: team.value || undefined,
          continuation: continuation.value || undefined,
          operator: operator.checked || undefined,
        })),
      );
      dialog.close();
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message;
    } finally {
      save.disabled = false;
    }
  };
  /** @type {(text: string, input: HTMLElement) => HTMLElement} */
  const label = (text, input) => h("label", {}, text, input);
  dialog.replaceChildren(
    h("h2", {}, key ? `Edit key "${key.name}"` : "New key"),
    h(
      "form",
      { class: "fields", submit },
      label("Name", name),
      lanes.element,
      label("Models, by name or with *", models),
      label("Expires", expires),
      ...quotas.map(({ label: text, input }) => label(text, input)),
      label("Budget in dollars", dollars),
      label("Budget period", period),
      ...known.teams.length > 0 ? [label("Team", team)] : [],
      label("Where answers that break off go on", continuation),
      h("label", { class: "check" }, operator, "Operator: full access to this console"),
      problem,
      h("div", { class: "bar" }, save, cancel),
    ),
  );
  dialog.showModal();
}

/**
 * @param {readonly string[]} names
 * @param {readonly string[] | undefined} chosen
 */
function checkboxes(names, chosen) {
  // A lane that the configuration has no more is shown, so that it can be taken away.
  const all = [...new Set([...names, ...chosen ?? []])];
  const boxes = all.map((name) => ({ name, box: h("input", { type: "checkbox", checked: chosen?.includes(name) }) }));
  return {
    element: h(
      "fieldset",
      {},
      h("legend", {}, "Lanes (all if none is checked)"),
      ...boxes.map(({ name, box }) => h("label", { class: "check" }, box, name)),
    ),
    chosen() {
      const names = boxes.filter(({ box }) => box.checked).map(({ name }) => name);
      return names.length > 0 ? names : undefined;
    },
  };
}

/**
 * @param {readonly string[]} values
 * @param {string} chosen
 */
function select(values, chosen) {
  return h("select", {}, ...values.map((value) => h("option", { value, selected: value === chosen }, value || "none")));
}

/** @param {string} text */
function words(text) {
  const found = text.split(/[\s,]+/).filter(Boolean);
  return found.length > 0 ? found : undefined;
}

/** @param {string} text */
function number(text) {
  return text === "" ? undefined : Number(text);
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
