// @ts-check
/// <reference lib="dom" />
/** A change of the configuration by a form: shown before it is written, written, and taken back. */
import { Host, html, signal, useEffect, useLayoutEffect, useRef, useState } from "./ui.js";
import { attempt } from "./actions.js";
import { Dialog, toast } from "./design/overlays.js";
import { Button, Icon } from "./design/parts.js";
import { ask, h, LoginNeeded, order } from "./dom.js";
import { copied, diffOf } from "./file_view.js";
import { review } from "./review.js";
import { readSetup } from "./setup_api.js";
import { ago, exactly } from "./words.js";

/**
 * @typedef {import("./edits.js").Edit} Edit
 * @typedef {import("./setup_api.js").Setup} Setup
 * @typedef {{ path: string, message: string }} Problem
 * @typedef {import("./edits.js").Entries & { why?: string, version?: string, waits?: string, hasFile: boolean,
 *   isAbsent?: true, last?: { title: string, by: string, time: string }, tasks: string[],
 *   drivers: { name: string, tasks: string[], needsBaseUrl: boolean }[],
 *   providers: import("./setup_api.js").Provider[] }} Known
 * @typedef {{ title: string, edits?: Edit[], undo?: string, stamp?: string }} Change
 * @typedef {{ before?: string, text: string, version?: string, isHidden: boolean, why?: string, restart?: string,
 *   warning?: string, paths: string[] }} Plan
 *
 * `undo`, `stamp`: the version of the file whose change is taken back, as the gateway or its launcher counts it.
 */

/** The entries of the file. Absent where a program gave the gateway its configuration. */
export const known = signal(/** @type {Known | undefined} */ (undefined));
/** The last change that was written by the launcher. Only this page knows it. */
const written = signal(/** @type {{ title: string, time: string, stamp: string } | undefined} */ (undefined));

export async function readKnown() {
  try {
    const found = await ask("configuration/entries");
    known.value = found.isAbsent ? undefined : found;
  } catch (error) {
    if (error instanceof LoginNeeded) throw error;
    known.value = undefined;
  }
}

/**
 * A dialog with a form whose change is then shown and written. The form keeps what was entered.
 * @param {{ title: string, onClose(): void, onDone(): Promise<void>,
 *   form(propose: (change: Change) => Promise<Problem[]>, setup: Setup | undefined): import("./ui.js").Children }} props
 *
 * `propose` returns what is wrong with the change.
 */
export function Editing({ title, form, onClose, onDone }) {
  const place = useRef(/** @type {any} */ (null));
  const [shown, setShown] = useState(
    /** @type {{ change: Change, plan: Plan, setup?: Setup } | undefined} */ (undefined),
  );
  const [reading] = useState(() => readSetup().catch(() => undefined));
  const [setup, setSetup] = useState(/** @type {Setup | undefined} */ (undefined));
  const [version] = useState(known.value?.version);
  useEffect(() => void reading.then(setSetup), []);
  const propose = async (/** @type {Change} */ change) => {
    const plan = await order("configuration/plan", { edits: change.edits });
    if (!plan.problems) setShown({ change, plan, setup: await reading });
    return plan.problems ?? [];
  };
  const back = () => setShown(undefined);
  // The button that had the focus is gone, and the next key press may come before the picture.
  useLayoutEffect(() => {
    if (!shown) place.current?.querySelector("input, select")?.focus();
  }, [shown]);
  return html`
    <${Dialog} title=${title} kind="editing" stays onClose=${onClose}>
      <div hidden=${shown !== undefined} ref=${place}>${form(propose, setup)}</div>
      ${shown && html`
        <${Review} ...${shown} seen=${version} onBack=${back} onClose=${onClose}
          onDone=${onDone} />
      `}
      <//>
  `;
}

/**
 * The launcher restarts the gateway where that is needed, but it may want a code first.
 * @param {Change} change
 * @param {string | undefined} why the gateway cannot write the file
 * @param {Setup} [setup]
 */
function wayOf({ stamp }, why, setup) {
  if (stamp !== undefined) return "launcher";
  const isReady = setup?.canAct && (!setup.needsCode || setup.isOpen);
  if (isReady || why !== undefined && setup?.canAct) return "launcher";
  return why === undefined ? "gateway" : "hand";
}

/**
 * @param {{ change: Change, plan: Plan, setup?: Setup, seen?: string, onBack?(): void, onClose(): void, onDone(): Promise<void> }} props
 *
 * `seen`: the version of the file that the form was filled from.
 */
function Review({ change, plan, setup, seen, onBack, onClose, onDone }) {
  const [way] = useState(() => change.undo !== undefined ? "gateway" : wayOf(change, plan.why, setup));
  const place = useRef(/** @type {any} */ (null));
  useEffect(() => place.current?.focus(), []);
  const isOther = seen !== undefined && plan.version !== undefined && seen !== plan.version;
  const byLauncher = () => {
    const place = h("div");
    const answers = {
      sources: [],
      models: [],
      ...change.stamp === undefined ? { edits: change.edits } : { undo: change.stamp },
    };
    void review(place, /** @type {Setup} */ (setup), answers, {
      onWritten(done) {
        if (done?.stamp) written.value = { title: change.title, time: new Date().toISOString(), stamp: done.stamp };
        void attempt(onDone);
      },
    });
    return place;
  };
  return html`
    <div class="review-step" tabindex="-1" ref=${place}>
      ${isOther && html`
        <p class="notice">
          Somebody has changed the file since you opened this form. Your change is made in the file as it is now. Look at the lines below.
        </p>
      `}
      ${way === "launcher" && html`
        <${Host} make=${byLauncher} />
        <div class="actions">
          <${Button} onClick=${onClose}>Close<//>${onBack && html`<${Button} onClick=${onBack}>Back to the form<//>`}
        </div>
      `}
      ${way === "hand" && html`<${ByHand} plan=${plan} onBack=${onBack} onClose=${onClose} />`}
      ${way === "gateway" && html`
        <${ByGateway} change=${change} plan=${plan} onBack=${onBack} onClose=${onClose} onDone=${onDone} />
      `}
    </div>
  `;
}

/** The lines that differ. @param {{ plan: Plan }} props */
function Lines({ plan }) {
  return html`<${Host} key=${plan.text} make=${() => diffOf(plan.before ?? "", plan.text)} />`;
}

/** @param {{ change: Change, plan: Plan, onBack?(): void, onClose(): void, onDone(): Promise<void> }} props */
function ByGateway({ change, plan: first, onBack, onClose, onDone }) {
  const [plan, setPlan] = useState(first);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const { restart, warning } = plan;
  const isNothing = plan.before === plan.text;
  const write = async () => {
    setProblem("");
    setBusy(true);
    try {
      const { text, version } = plan;
      const { outcome, message } = await order("configuration/apply", {
        text,
        version,
        atRestart: restart !== undefined,
        title: change.title,
      });
      if (outcome === "conflict") await again(message);
      else if (message !== undefined) setProblem(message);
      else {
        written.value = undefined;
        toast(
          `${change.title}. ${
            outcome === "applied" ? "The gateway uses it now." : "The gateway uses it from its next start."
          }`,
        );
        onClose();
        await attempt(onDone);
      }
    } catch (error) {
      setProblem(/** @type {Error} */ (error).message);
    } finally {
      setBusy(false);
    }
  };
  /** @param {string} message */
  const again = async (message) => {
    if (change.undo !== undefined) return setProblem(message);
    const next = await order("configuration/plan", { edits: change.edits });
    if (next.problems) {
      return setProblem([message, ...next.problems.map((/** @type {Problem} */ one) => one.message)].join(" "));
    }
    setPlan(next);
    setProblem(
      "Nothing was written, because somebody has changed the file in the meantime. Below is your change in the file as it is now.",
    );
  };
  return html`
    <p class="error" role="alert">${problem}</p>
    ${isNothing ? html`<p>The file already says all of that: nothing has to be written.</p>` : html`
      <${Lines} plan=${plan} />
      <p>${effectOf(restart)} ${warning && `${warning}.`}</p>
    `}
    <div class="actions">
      ${!isNothing && html`
        <${Button} kind="primary" disabled=${isBusy} onClick=${write}>
          ${restart !== undefined
            ? "Save for the next start"
            : change.undo === undefined
            ? "Write this change"
            : "Take it back"}
          <//>
      `}
      ${onBack && html`<${Button} onClick=${onBack}>Back to the form<//>`}
      <${Button} onClick=${onClose}>Cancel<//>
    </div>
  `;
}

/** @param {string | undefined} restart */
function effectOf(restart) {
  if (restart === undefined) return "The gateway uses it at once, without a restart.";
  return `It needs a restart of the gateway: ${restart.replace(/\.$/, "")}.`;
}

/** @param {{ plan: Plan, onBack?(): void, onClose(): void }} props */
function ByHand({ plan, onBack, onClose }) {
  return html`
    <p class="notice">${plan.why}</p>
    <p>Make this change in the file yourself:</p>
    <${Lines} plan=${plan} />
    ${plan.isHidden
      ? html`<p class="quiet">The file has secrets that are not shown here, so copy only the lines that change.</p>`
      : html`<${Host} make=${() => copied(plan.text, "The whole file with the change")} />`}
    <div class="actions">
      ${onBack && html`<${Button} onClick=${onBack}>Back to the form<//>`}<${Button} onClick=${onClose}>Close<//>
    </div>
  `;
}

/** The last change and its way back, and whether the gateway uses the file. @param {{ onDone(): Promise<void> }} props */
export function LastChange({ onDone }) {
  const [undoing, setUndoing] = useState(/** @type {Change | undefined} */ (undefined));
  const { last, version, waits, why } = known.value ?? {};
  const shown = last && why === undefined ? { ...last, undo: version } : written.value;
  if (!shown && !waits && !undoing) return undefined;
  const undo = () => setUndoing({ ...shown, title: takenBack(shown?.title ?? "") });
  return html`
    ${waits && html`
      <p class="notice" role="status">
        The gateway is not using the latest version of its file. ${waits.replace(/\.$/, "")}.
        ${" "}${!waits.includes("errors") && "Restart the gateway to use it."}
      </p>
    `}
    ${shown && html`
      <div class="last-change" role="group" aria-label="The last change">
        <${Icon} name="rotate-ccw" />
        <span>
          ${shown.title} <span class="quiet" title=${exactly(shown.time)}>${ago(shown.time)}${"by" in shown &&
            ` by ${shown.by}`}</span>
        </span>
        <${Button} onClick=${undo}>Undo this change …<//>
      </div>
    `}
    ${undoing && html`<${Undo} change=${undoing} onClose=${() => setUndoing(undefined)} onDone=${onDone} />`}
  `;
}

const BACK = "Taken back: ";
/** @param {string} title */
const takenBack = (title) => title.startsWith(BACK) ? title.slice(BACK.length) : BACK + title;

/** @param {{ change: Change, onClose(): void, onDone(): Promise<void> }} props */
function Undo({ change, onClose, onDone }) {
  const [found, setFound] = useState(/** @type {{ plan?: Plan, setup?: Setup, problem?: string }} */ ({}));
  useEffect(() => {
    const find = async () => {
      if (change.stamp !== undefined) return { plan: /** @type {any} */ ({}), setup: await readSetup() };
      const plan = await order("configuration/plan", { undo: change.undo });
      return plan.problems ? { problem: plan.problems[0].message } : { plan };
    };
    void find().then(setFound, ({ message }) => setFound({ problem: message }));
  }, []);
  const { plan, setup, problem } = found;
  return html`
    <${Dialog} title="Undo the last change" kind="editing" onClose=${onClose}>
      ${problem && html`<p class="error" role="alert">${problem}</p>`}
      ${plan && html`<${Review} change=${change} plan=${plan} setup=${setup} onClose=${onClose} onDone=${onDone} />`}
      <//>
  `;
}
