// @ts-check
/// <reference lib="dom" />
/** The gateway's figures, and the checks of the command `doctor`, which run when the page opens or when they are asked for. */
import { batch, html, screen, signal } from "./ui.js";
import { Badge, Button, Card, EmptyState, Icon, Page, Stat } from "./design/parts.js";
import { ask, count } from "./dom.js";
import { Fixes } from "./health_fixes.js";
import { findingsNow } from "./health_now.js";
import { lines } from "./setup_api.js";
import { ago, exactly, inBytes, inSpan } from "./words.js";

const EVERY_MS = 5_000;

/**
 * @typedef {"error" | "warning" | "note" | "skipped" | "ok"} Level
 * @typedef {{ level: Level, check: string, subject: string, message: string, cure?: string,
 *   settings?: import("../canonical/json.ts").JsonObject, forget?: { upstream: string, model: string } }} Finding
 * @typedef {{ findings: readonly Finding[], isOver: boolean }} Result
 */

/** @type {Readonly<Record<Level, { words: string, tone: import("./design/parts.js").Tone, icon: string }>>} */
const LEVELS = {
  error: { words: "Problem", tone: "bad", icon: "circle-alert" },
  warning: { words: "Warning", tone: "warn", icon: "triangle-alert" },
  note: { words: "Note", tone: "info", icon: "info" },
  skipped: { words: "Not checked", tone: "plain", icon: "ellipsis" },
  ok: { words: "Good", tone: "good", icon: "circle-check" },
};
const ORDER = /** @type {Level[]} */ (Object.keys(LEVELS));

/** @type {Readonly<Record<string, { title: string, about: string }>>} */
const PARTS = {
  configuration: { title: "Configuration", about: "the file and its secrets" },
  upstreams: { title: "Upstreams", about: "each is asked for its models, which costs nothing" },
  models: { title: "Models", about: "each gets a few small requests, which its upstream may charge for" },
  clients: { title: "Clients", about: "those on the gateway's machine that were connected to it" },
  machine: { title: "This machine", about: "permissions, port, store and open files" },
  login: { title: "Login", about: "the provider of logins and tokens" },
};
/** The words for parts in which nothing was found. @type {Readonly<Record<string, string>>} */
const NOTHING = {
  clients: "No client on that machine was connected with a page or a command.",
  upstreams: "There is no upstream that can be asked.",
};
const ON_OPEN = Object.keys(PARTS).filter((part) => part !== "models");

const facts = signal(/** @type {import("./health_now.js").Facts | undefined} */ (undefined));
const results = signal(/** @type {Readonly<Record<string, Result>>} */ ({}));
const failure = signal("");
const checkedAt = signal(0);
/** @type {import("@preact/signals").Signal<AbortController | undefined>} */
const running = signal(/** @type {AbortController | undefined} */ (undefined));

export const health = screen({
  title: "Health",
  everyMs: EVERY_MS,
  open() {
    batch(() => {
      facts.value = undefined;
      results.value = {};
      failure.value = "";
    });
    state = "opened";
    const close = () => {
      state = "closed";
      stop();
    };
    return { view: html`<${HealthPage} />`, refresh, close };
  },
});

/** @type {"closed" | "opened" | "begun"} */
let state = "closed";

async function refresh() {
  const now = await ask("health");
  facts.value = now;
  if (state !== "opened" || now.why !== undefined) return;
  state = "begun";
  void check(ON_OPEN);
}

function stop() {
  running.value?.abort();
  running.value = undefined;
}

/** @param {string} part @param {readonly Finding[]} added @param {boolean} isOver */
function take(part, added, isOver) {
  const findings = [...results.value[part]?.findings ?? [], ...added];
  results.value = { ...results.value, [part]: { findings, isOver } };
}

/** @param {readonly string[]} parts @param {{ subject: string, lane: string, model: string }} [only] the only model to test */
async function check(parts, only) {
  stop();
  const own = new AbortController();
  // The findings on other models hold.
  const others = only ? results.value.models?.findings.filter(({ subject }) => subject !== only.subject) : [];
  const begun = { findings: others ?? [], isOver: false };
  const { subject: _, ...narrowed } = only ?? {};
  batch(() => {
    running.value = own;
    failure.value = "";
    results.value = { ...results.value, ...Object.fromEntries(parts.map((part) => [part, begun])) };
  });
  try {
    for await (const line of lines("health/examine", { parts, ...narrowed }, own.signal)) {
      if (running.value !== own) return;
      if (line.failure) failure.value = line.failure;
      else if (Object.hasOwn(PARTS, line.part)) take(line.part, line.findings, line.isOver);
    }
    if (running.value === own) checkedAt.value = Date.now();
  } catch (error) {
    if (running.value === own) failure.value = /** @type {Error} */ (error).message;
  }
  if (running.value !== own) return;
  running.value = undefined;
  // A part that was not checked to its end would look as if it were good.
  results.value = Object.fromEntries(Object.entries(results.value).filter(([, { isOver }]) => isOver));
}

function HealthPage() {
  const { value } = facts;
  const isRunning = running.value !== undefined;
  const again = () => check([...ON_OPEN, ...results.value.models ? ["models"] : []]);
  const actions = value && value.why === undefined &&
    (isRunning
      ? html`<${Button} icon="x" onClick=${stopByHand}>Stop<//>`
      : html`<${Button} kind="primary" icon="rotate-ccw" onClick=${again}>Check again<//>`);
  return html`
    <${Page}
      title="Health"
      about="Whether this gateway, its upstreams, its models and its clients work, and what to do if one does not."
      actions=${actions}
    >
      ${value && html`<${Figures} ...${value} />`}
      <${Verdict} />
      ${value && html`<${Part} title="While it serves" about="what this process has met by itself" result=${{
        findings: findingsNow(value),
        isOver: true,
      }} />`}
      ${value?.why !== undefined ? html`<${Off} why=${value.why} />` : value && Object.keys(PARTS).map(viewOf)}
    <//>
  `;
}

function stopByHand() {
  stop();
  results.value = Object.fromEntries(Object.entries(results.value).filter(([, { isOver }]) => isOver));
}

/** @param {string} part */
function viewOf(part) {
  const result = results.value[part];
  const { title, about } = /** @type {{ title: string, about: string }} */ (PARTS[part]);
  const isOptional = part === "login" && !(result?.findings.length);
  if (isOptional) return undefined;
  return html`<${Part} key=${part} part=${part} title=${title} about=${about} result=${result} />`;
}

/** @param {{ why: string }} props */
function Off({ why }) {
  return html`
    <${Card}>
      <${EmptyState} icon="heart-pulse" title="No checks here">${why}.<//>
      <//>
  `;
}

/** All in one sentence, which a screen reader hears once it changes. It says nothing before anything was checked. */
function Verdict() {
  const all = [
    ...Object.values(results.value).flatMap(({ findings }) => findings),
    ...facts.value ? findingsNow(facts.value) : [],
  ];
  const numberOf = (/** @type {Level} */ level) => all.filter((one) => one.level === level).length;
  const [problems, warnings] = [numberOf("error"), numberOf("warning")];
  const isRunning = running.value !== undefined;
  const words = isRunning
    ? "Checking …"
    : problems + warnings === 0
    ? Object.keys(results.value).length > 0 ? "No problem was found." : ""
    : `${inNumbers(problems, "problem")}, ${inNumbers(warnings, "warning")}.`;
  const level = problems > 0 ? "error" : warnings > 0 ? "warning" : "ok";
  return html`
    <div class="verdict" data-tone=${isRunning ? "plain" : LEVELS[level].tone}>
      ${words && html`<${Icon} name=${isRunning ? "rotate-ccw" : LEVELS[level].icon} size=${20} />`}
      <p role="status"><b>${words}</b></p>
      ${!isRunning && checkedAt.value > 0 && html`
        <span class="quiet" title=${exactly(checkedAt.value)}>Checked ${ago(checkedAt.value)}</span>
      `}
      ${failure.value && html`<p class="error" role="alert">The checks have ended early: ${failure.value}</p>`}
    </div>
  `;
}

/** @param {number} number @param {string} word */
function inNumbers(number, word) {
  return `${number === 0 ? "No" : count(number)} ${word}${number === 1 ? "" : "s"}`;
}

/** @param {string} time */
function dayAndTime(time) {
  return new Date(time).toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

/** @param {import("./health_now.js").Facts} facts */
function Figures(facts) {
  const { status, version, startedAt, requestsRunning, mostRequests, waiting, memoryBytes, memoryLimit, store } = facts;
  const { workers, gateways } = facts;
  return html`
    <ul class="stats" aria-label="Figures of the gateway">
      <${Stat} name="State" value=${status} />
      <${Stat} name="Version" value=${version} />
      <${Stat} name="Serves for" value=${inSpan(Date.now() - Date.parse(startedAt))} more=${dayAndTime(startedAt)} />
      <${Stat} name="Running requests" value=${count(requestsRunning)} more=${`of ${count(mostRequests)} at most`} />
      <${Stat} name="Waiting" value=${count(waiting)} more="for an upstream" />
      <${Stat} name="Memory" value=${inBytes(memoryBytes)} more=${memoryLimit &&
        `of ${inBytes(memoryLimit)} at most`} />
      <${Stat} name="Processes" value=${count(workers?.length ?? 1)} more=${gateways &&
        inNumbers(gateways, "gateway")} />
      <${Stat} name="Store" value=${html`<span class="place" title=${store}>${store}</span>`} />
    </ul>
  `;
}

/** @param {{ part?: string, title: string, about: string, result?: Result }} props */
function Part({ part, title, about, result }) {
  const isRunning = running.value !== undefined;
  const findings = (result?.findings ?? []).toSorted((one, other) =>
    ORDER.indexOf(one.level) - ORDER.indexOf(other.level)
  );
  const again = () => check([/** @type {string} */ (part)]);
  const words = part !== "models" ? "Check again" : result ? "Test again" : "Test the models";
  const action = part && html`
    <${Button} disabled=${isRunning} aria-label=${`${words}: ${title}`} onClick=${again}>${words}<//>
  `;
  return html`
    <${Card} title=${title} about=${about} actions=${action} flush>
      <ul class="findings" aria-label=${title}>
        ${findings.map((finding) =>
          html`<${OneFinding} key=${`${finding.check} ${finding.subject} ${finding.message}`} finding=${finding} />`
        )}
        ${result && !result.isOver && html`<li class="busy">Checking …</li>`}
        ${findings.length === 0 && !(result && !result.isOver) && html`
          <li class="quiet">${result ? NOTHING[part ?? ""] ?? "There is nothing to check." : "Not checked yet."}</li>
        `}
      </ul>
      <//>
  `;
}

/** @param {{ finding: Finding }} props */
function OneFinding({ finding }) {
  const { level, subject, message, cure } = finding;
  const { words, tone, icon } = LEVELS[level] ?? LEVELS.note;
  const [, model, lane] = /^model "(.*)" of lane "([^"]*)"$/s.exec(subject) ?? [];
  const isTrouble = level === "error" || level === "warning";
  const again = () => check(["models"], { subject, model: model ?? "", lane: lane ?? "" });
  return html`
    <li>
      <span class="level"><${Badge} tone=${tone} icon=${icon}>${words}<//></span>
      <div>
        <b>${subject}</b> ${message}.
        ${cure && html`<p class="quiet">${cure}.</p>`}
      </div>
      <${Fixes} finding=${finding} onFixed=${refresh}>
        ${model && isTrouble && html`
          <${Button} disabled=${running.value !==
            undefined} aria-label=${`Test again: ${subject}`} onClick=${again}>Test again<//>
        `}
      <//>
    </li>
  `;
}
