// @ts-check
/// <reference lib="dom" />
/** Each form that a recorded request and its answer took on their way. */
import { html, useState } from "./ui.js";
import { Badge } from "./design/parts.js";
import { Body, Headers, Side, Taking, Transform, Value } from "./inspect_parts.js";
import { attemptOf } from "./timeline.js";

/** @param {{ record: any, understood: any }} props */
export function StepsView({ record, understood }) {
  const [chosen, setChosen] = useState(/** @type {number | undefined} */ (undefined));
  const { calls } = record;
  const index = chosen ?? servingOf(calls);
  return html`
    ${calls.length > 1 && html`<${Choice} calls=${calls} index=${index} onChoose=${setChosen} />`}
    <${Request} record=${record} understood=${understood} index=${index} />
    <${Answer} record=${record} understood=${understood} index=${index} />
  `;
}

/** The last call that was answered. @param {readonly { status?: number }[]} calls */
export function servingOf(calls) {
  return Math.max(0, calls.findLastIndex(({ status = 0 }) => status >= 200 && status < 300));
}

/** @param {{ calls: any[], index: number, onChoose(index: number): void }} props */
function Choice({ calls, index, onChoose }) {
  return html`
    <p class="bar">
      <label>
        Upstream call
        <select value=${String(index)} onChange=${(/** @type {any} */ { currentTarget }) =>
          onChoose(Number(currentTarget.value))}>
          ${calls.map((call, at) =>
            html`
              <option key=${at} value=${String(at)} selected=${at === index}>${`${at + 1}: ${call.target}, ${
                attemptOf(call)
              }, ${call.status ?? "none"}`}</option>
            `
          )}
        </select>
      </label>
    </p>
  `;
}

/** The request on its way to one target. @param {{ record: any, understood: any, index: number }} props */
function Request({ record: { id, client, calls, entry }, understood, index }) {
  const notes = entry?.notes ?? [];
  const call = calls[index];
  const part = `call.${index}.request`;
  const own = understood.calls[index] ?? {};
  return html`
    <h2>The request</h2>
    <div class="sides">
      <${Side} title="The client sent">
        <${Headers} list=${client.headers} />
        <${Body} body=${client.body} notes=${notes} />
        <${Taking} id=${id} part="request" body=${client.body} />
        <//>
        <${Side} title="The gateway understood">
          <${Transforms} understood=${understood} call=${call} isAsExplained=${own.isAsExplained} />
          <//>
          <${Side} title="The upstream received">
        ${call
          ? html`
            <p class="quiet">${call.url}</p>
            <${Headers} list=${call.headers} />
            <${Body} body=${call.body} notes=${notes} />
            <${Taking} id=${id} part=${part} body=${call.body} request=${{
              ...call,
              isStream: entry?.stream === true,
            }} />
          `
          : html`<p class="quiet">No upstream was called.</p>`}
      <//>
    </div>
  `;
}

/** The answer on its way back. @param {{ record: any, understood: any, index: number }} props */
function Answer({ record: { id, calls, answer, entry }, understood, index }) {
  const notes = entry?.notes ?? [];
  const call = calls[index];
  const own = understood.calls[index] ?? {};
  return html`
    <h2>The answer</h2>
    <div class="sides">
      <${Side} title="The client received">
        <${StatusLine} status=${answer.status} />
        <${Headers} list=${answer.headers} />
        <${Body} body=${answer.body} notes=${notes} />
        <${Taking} id=${id} part="answer" body=${answer.body} />
        <//>
        <${Side} title="The gateway read">
          <${Read} own=${own} notes=${notes} />
          <//>
          <${Side} title="The upstream answered">
        ${call
          ? html`
            <${StatusLine} status=${call.status} />
            <${Headers} list=${call.answerHeaders} />
            <${Body} body=${call.answer} notes=${notes} />
            <${Taking} id=${id} part=${`call.${index}.answer`} body=${call.answer} />
          `
          : html`<p class="quiet">Nothing.</p>`}
      <//>
    </div>
  `;
}

/** @param {{ status?: number }} props */
function StatusLine({ status }) {
  const tone = status === undefined ? "plain" : status >= 300 ? "bad" : "good";
  return html`
    <p>
      <${Badge} tone=${tone}>Status ${status ?? "none yet"}<//></p>
  `;
}

/** @param {{ own: any, notes: readonly string[] }} props */
function Read({ own: { answer, problem }, notes }) {
  if (problem) return html`<p class="error">${problem}</p>`;
  if (!answer) return html`<p class="quiet">There is no answer, or it was passed on unchanged.</p>`;
  return html`<${Value} title="Canonical form" value=${answer.error ?? answer.output} notes=${[
    ...notes,
    ...answer.notes ?? [],
  ]} />`;
}

/**
 * The changes by each transform, and the form that they begin with.
 * @param {{ understood: any, call?: { target: string, isFollowUp?: boolean }, isAsExplained?: boolean }} props
 */
function Transforms({ understood: { input, notes = [], problem, explanation }, call, isAsExplained }) {
  const { steps = [], targets = [] } = explanation.value ?? {};
  const own = targets.find((/** @type {any} */ one) => one.target === call?.target);
  const all = [...steps, ...own?.steps ?? []];
  const why = problem ?? explanation.problem ?? own?.error?.message;
  return html`
    ${why !== undefined && html`<p class="error">${why}</p>`}
    ${isAsExplained === false && html`
      <p class="error">
        Sent now, this call would be different: the upstream refused a part of it, or the settings have changed.
      </p>
    `}
    ${call?.isFollowUp && html`
      <p class="quiet">It follows from the answer to an earlier call, and holds more than the client sent.</p>
    `}
    ${input && html`
      <details>
        <summary>Canonical form</summary>
        <${Value} title="Canonical request" value=${input} notes=${notes} />
      </details>
    `}
    <p class="quiet">${all.length > 0
      ? "Changed for the target, step by step:"
      : "Nothing was changed for the target."}</p>
    ${all.map((step, index) => html`<${Transform} key=${index} ...${step} />`)}
  `;
}
