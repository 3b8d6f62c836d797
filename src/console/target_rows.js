// @ts-check
/// <reference lib="dom" />
/** The targets of a model in their order, as rows of a form. */
import { html, useState } from "./ui.js";
import { Button, IconButton } from "./design/parts.js";
import { order } from "./dom.js";

/**
 * @typedef {{ upstream: string, model: string, weight: string, own: Record<string, any> }} Target
 *
 * `own`: with what the form does not show.
 */

/** @type {(target: Record<string, any>) => Target} */
export const rowOf = (own) => ({
  upstream: String(own.upstream ?? ""),
  model: String(own.model ?? ""),
  weight: String(own.weight ?? ""),
  own,
});

/** The models of each upstream, as it has listed them. @type {Map<string, Promise<string[]>>} */
const listed = new Map();

/** @param {string} upstream */
function modelsOf(upstream) {
  const found = listed.get(upstream) ??
    order("upstreams/test", { upstream }).then(({ models = [] }) => models).catch(() => []);
  listed.set(upstream, found);
  return found;
}

/** @param {{ targets: Target[], onChange(targets: Target[]): void, facts: import("./change.js").Known, fields: Record<string, string> }} props */
export function Targets({ targets, onChange, facts, fields }) {
  const [proposed, setProposed] = useState(/** @type {Record<string, string[]>} */ ({}));
  const upstreams = Object.keys(facts.whole.upstreams);
  const change = (/** @type {number} */ at, /** @type {Partial<Target>} */ more) =>
    onChange(targets.map((one, index) => index === at ? { ...one, ...more } : one));
  const swap = (/** @type {number} */ at) =>
    onChange(
      targets.toSpliced(at - 1, 2, /** @type {Target} */ (targets[at]), /** @type {Target} */ (targets[at - 1])),
    );
  const propose = (/** @type {string} */ upstream) =>
    void modelsOf(upstream).then((models) => setProposed((now) => ({ ...now, [upstream]: models })));
  const problem = (/** @type {number} */ at) =>
    Object.entries(fields).find(([path]) => path.startsWith(`targets[${at}]`))?.[1];
  return html`
    <fieldset class="rows">
      <legend>Targets: the first one answers, the next ones if it fails</legend>
      ${targets.map((target, at) =>
        html`
          <div class="row" key=${at}>
            <label>
              <span>Upstream</span>
              <select
                aria-label=${`Upstream of target ${at + 1}`}
                onChange=${(/** @type {any} */ { target }) => change(at, { upstream: target.value })}
              >
                ${[...new Set([...upstreams, target.upstream])].map((one) =>
                  html`<option key=${one} value=${one} selected=${one === target.upstream}>${one}</option>`
                )}
              </select>
            </label>
            <label>
              <span>Model there</span>
              <input
                aria-label=${`Model of target ${at + 1}`}
                placeholder="the model's name there"
                autocomplete="off"
                spellcheck="false"
                list=${`models-of-${at}`}
                value=${target.model}
                onFocus=${() => propose(target.upstream)}
                onInput=${(/** @type {any} */ { target }) => change(at, { model: target.value })}
              />
            </label>
            <datalist id=${`models-of-${at}`}>
              ${(proposed[target.upstream] ?? []).map((one) => html`<option key=${one} value=${one} />`)}
            </datalist>
            <label class="short">
              <span>Weight</span>
              <input
                type="number"
                min="0"
                aria-label=${`Weight of target ${at + 1}`}
                title="Its share of new conversations, relative to the other weights"
                placeholder="none"
                value=${target.weight}
                onInput=${(/** @type {any} */ { target }) => change(at, { weight: target.value })}
              />
            </label>
            <${IconButton} icon="arrow-up" label=${`Move target ${at + 1} up`} disabled=${at === 0} onClick=${() =>
              swap(at)} />
            <${IconButton}
              icon="x"
              label=${`Remove target ${at + 1}`}
              disabled=${targets.length === 1}
              onClick=${() => onChange(targets.toSpliced(at, 1))}
            />
          </div>
                    ${problem(at) && html`<small class="error" role="alert">${problem(at)}</small>`}
        `
      )}
      ${fields.targets && html`<small class="error">${fields.targets}</small>`}
      <${Button} icon="plus" onClick=${() =>
        onChange([...targets, rowOf({ upstream: targets.at(-1)?.upstream, model: "" })])}>
        Add a target
        <//>
    </fieldset>
  `;
}
