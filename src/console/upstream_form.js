// @ts-check
/// <reference lib="dom" />
/** The form for an upstream. An empty field leaves what the upstream has without it, which stands there in grey. */
import { html, useState } from "./ui.js";
import { known } from "./change.js";
import { Button } from "./design/parts.js";
import { byField, editsFor, filled, isHidden, valueAt } from "./edits.js";
import { ChangeForm, Choice, Headers, Input, numberIn, NumberInput, TestButton } from "./form_parts.js";

/**
 * @typedef {import("./edits.js").Fields} Fields
 * @typedef {import("./form_parts.js").Header} Header
 * @typedef {{ name: string, provider: string, driver: string, baseUrl: string, secretKind: string, secret: string,
 *   headers: Header[], running: string, waiting: string, whole: string, total: string }} Form
 * @typedef {import("./change.js").Known} Known
 */

const NAME = /^[a-z0-9][\w.-]*$/i;
/** The fields whose problems stand beside them. */
const SHOWN = [
  "name",
  "provider",
  "driver",
  "baseUrl",
  "secret",
  "headers",
  "concurrency.running",
  "concurrency.waiting",
  "timeouts.wholeMs",
  "timeouts.totalMs",
];

/** @type {(value: unknown) => string} */
const textOf = (value) => value === undefined || value === null ? "" : String(value);
/** @type {(ms: unknown) => string} */
const secondsOf = (ms) => ms === undefined ? "" : String(Number(ms) / 1_000);

/** @param {Fields} own @param {string} name @returns {Form} */
function formOf(own, name) {
  const { provider, driver, baseUrl, secret, headers = {}, concurrency = {}, timeouts = {} } = own;
  return {
    name,
    provider: textOf(provider),
    driver: textOf(driver),
    baseUrl: textOf(baseUrl),
    secretKind: secret === "client"
      ? "client"
      : secret?.env !== undefined
      ? "env"
      : secret?.file !== undefined
      ? "file"
      : "",
    secret: textOf(secret?.env ?? secret?.file),
    headers: Object.entries(headers).map(([name, value]) =>
      isHidden(value) ? { name, value: "", hidden: String(value) } : { name, value: String(value) }
    ),
    running: textOf(concurrency.running),
    waiting: textOf(concurrency.waiting),
    whole: secondsOf(timeouts.wholeMs),
    total: secondsOf(timeouts.totalMs),
  };
}

/** The entry that the form stands for. @param {Form} form @param {Fields} own */
function entryOf({ provider, driver, baseUrl, secretKind, secret, headers, running, waiting, whole, total }, own) {
  const { env: _env, file: _file, ...place } = typeof own.secret === "object" && own.secret !== null ? own.secret : {};
  const ms = (/** @type {string} */ text) => {
    const seconds = numberIn(text);
    return typeof seconds === "number" ? Math.round(seconds * 1_000) : seconds;
  };
  const named = headers.filter(({ name }) => name.trim() !== "");
  return filled({
    ...own,
    provider,
    driver,
    baseUrl: baseUrl.trim(),
    secret: secretKind === "client"
      ? "client"
      : secretKind === ""
      ? undefined
      : { ...place, [secretKind]: secret.trim() },
    headers: filled(
      Object.fromEntries(
        named.map(({ name, value, hidden }) => [name.trim(), value === "" && hidden ? hidden : value]),
      ),
    ),
    concurrency: filled({ ...own.concurrency, running: numberIn(running), waiting: numberIn(waiting) }),
    timeouts: filled({ ...own.timeouts, wholeMs: ms(whole), totalMs: ms(total) }),
  }) ?? {};
}

/**
 * @param {{ upstream?: string, propose(change: import("./change.js").Change): Promise<import("./change.js").Problem[]>,
 *   setup?: import("./setup_api.js").Setup, onClose(): void, onRemove?(): void }} props
 *
 * `upstream`: the one that is changed
 */
export function UpstreamForm({ upstream, propose, setup, onClose, onRemove }) {
  const [facts] = useState(() => /** @type {Known} */ (known.value));
  const own = valueAt(facts.own.upstreams, [upstream ?? ""]) ?? {};
  const whole = valueAt(facts.whole.upstreams, [upstream ?? ""]) ?? {};
  const [form, setForm] = useState(() => formOf(upstream === undefined ? { driver: "chat" } : own, upstream ?? ""));
  const [problems, setProblems] = useState(/** @type {import("./change.js").Problem[]} */ ([]));
  const name = form.name.trim();
  const { fields, others } = byField(problems, ["upstreams", name]);
  const set = (/** @type {keyof Form} */ field) => (/** @type {any} */ value) =>
    setForm((now) => ({ ...now, [field]: value }));
  const edits = () =>
    upstream === undefined
      ? [{ at: ["upstreams", name], value: entryOf(form, {}) }]
      : valueAt(facts.own.upstreams, [upstream]) === undefined
      ? Object.entries(entryOf(form, {})).map(([field, value]) => ({ at: ["upstreams", name, field], value }))
      : editsFor(["upstreams", name], own, entryOf(form, own));
  const submit = async () => {
    const problem = whyNotName(name, facts, upstream === undefined);
    if (problem) return setProblems([{ path: `upstreams.${name}.name`, message: problem }]);
    const title = `Upstream “${name}” was ${upstream === undefined ? "added" : "changed"}`;
    setProblems(await propose({ title, edits: edits() }));
  };
  const beside = (/** @type {string} */ field) =>
    Object.entries(fields).find(([path]) => path === field || path.startsWith(`${field}.`))?.[1];
  const above = Object.entries(fields).filter(([path]) =>
    !SHOWN.some((field) => path === field || path.startsWith(`${field}.`))
  );
  const unused = [...others, ...above.map(([path, message]) => path === "" ? message : `${path}: ${message}`)];
  return html`
    <${ChangeForm} onSubmit=${submit} others=${unused} onClose=${onClose} extra=${html`<${AsText} at=${[
      "upstreams",
      upstream,
    ]} onRemove=${onRemove} />`}>
      <${Service} form=${form} setForm=${setForm} set=${set} facts=${facts} whole=${whole}
        beside=${beside} isNew=${upstream === undefined} />
      <${Secret} form=${form} set=${set} whole=${whole} problem=${beside("secret")} />
      <${Headers} headers=${form.headers} onChange=${set("headers")} problem=${beside("headers")} />
      <details class="more" open=${[form.running, form.waiting, form.whole, form.total].some(Boolean)}>
        <summary>Limits</summary>
        <${Limits} form=${form} set=${set} whole=${whole} beside=${beside} />
      </details>
      <${TestButton}
        canAct=${setup?.canAct ?? false}
        name=${NAME.test(name) ? name : ""}
        isWritten=${upstream !== undefined && edits().length === 0}
        edits=${edits}
      />
      <//>
  `;
}

/** @type {(name: string, facts: Known, isNew: boolean) => string | undefined} */
function whyNotName(name, { whole }, isNew) {
  if (!isNew) return undefined;
  if (name === "") return "An upstream needs a name.";
  if (!NAME.test(name)) return "Use letters, digits, dots, hyphens and underscores.";
  return Object.hasOwn(whole.upstreams, name) ? "There is an upstream of this name already." : undefined;
}

/**
 * The ways to everything else that can be done with an entry.
 * @param {{ at: (string | undefined)[], onRemove?(): void }} props
 */
export function AsText({ at, onRemove }) {
  const path = at.filter((step) => step !== undefined).join(".");
  return html`
    ${onRemove && html`<${Button} kind="danger" onClick=${onRemove}>Remove …<//>`}
    <a href=${`#configuration?${encodeURIComponent(path)}`}>Edit as text</a>
  `;
}

/**
 * @typedef {{ form: Form, set(field: keyof Form): (value: any) => void, whole: Fields, beside(field: string): string | undefined }} Part
 * @param {Part & { facts: Known, isNew: boolean, setForm(change: (now: Form) => Form): void }} props
 */
function Service({ form, setForm, set, facts, whole, beside, isNew }) {
  const chosen = facts.providers.find(({ id }) => id === form.provider);
  const choose = (/** @type {string} */ provider) =>
    setForm((now) => ({
      ...now,
      provider,
      // Until somebody writes another one, it has the provider's name.
      name: isNew && (now.name === "" || now.name === now.provider) ? provider : now.name,
      driver: provider === "" ? now.driver || "chat" : "",
    }));
  const providers = /** @type {[string, string][]} */ (facts.providers.map(({ id, title }) => [id, title]));
  return html`
    <div class="pair">
      <${Choice}
        label="Provider"
        value=${form.provider}
        onInput=${choose}
        options=${[["", "None: a server at an address"], ...providers]}
        problem=${beside("provider")}
        hint="A provider sets the address, the secret's variable, and what else it needs."
      />
      <${Input}
        label="Name"
        value=${form.name}
        onInput=${set("name")}
        readonly=${!isNew}
        problem=${beside("name")}
        hint=${isNew ? "Models refer to it by this name." : "A name stays. For another one, add an upstream."}
      />
    </div>
    <div class="pair">
      <${Input}
        label="Base URL"
        inputmode="url"
        value=${form.baseUrl}
        onInput=${set("baseUrl")}
        placeholder=${chosen?.form ?? whole.baseUrl ??
          (chosen ? "the provider's own" : ["http:", "", "192.168.1.20:8000", "v1"].join("/"))}
        problem=${beside("baseUrl")}
      />
      <${Choice}
        label="Speaks"
        value=${form.driver}
        onInput=${set("driver")}
        options=${[
          ...form.driver === "" ? [["", `${whole.driver ?? "as the provider does"}`]] : [],
          ...facts.drivers.map(({ name }) => [name, name]),
        ]}
        problem=${beside("driver")}
        hint="The API of the service: chat is that of most servers."
      />
    </div>
  `;
}

/** @param {Omit<Part, "beside"> & { problem?: string }} props */
function Secret({ form, set, whole, problem }) {
  const inherited = whole.secret?.env ?? whole.secret?.file;
  const none = inherited
    ? `As it is: ${inherited}`
    : form.provider === ""
    ? "None"
    : "In the provider's usual variable";
  const isNamed = form.secretKind === "env" || form.secretKind === "file";
  return html`
    <div class="pair">
      <${Choice}
        label="Secret"
        value=${form.secretKind}
        onInput=${set("secretKind")}
        options=${[["", none], ["env", "In an environment variable"], ["file", "In a file"], [
          "client",
          "The client's own key",
        ]]}
        problem=${isNamed ? undefined : problem}
        hint=${html`To type a key here, use <a href="#setup?upstream">Set up</a>.`}
      />
      ${isNamed && html`
        <${Input}
          label=${form.secretKind === "env" ? "Name of the variable" : "Path of the file"}
          value=${form.secret}
          onInput=${set("secret")}
          placeholder=${form.secretKind === "env" ? "SERVICE_API_KEY" : "/run/secrets/service"}
          problem=${problem}
          hint="Only the name is written, never the secret."
        />
      `}
    </div>
  `;
}

/** @param {Part} props */
function Limits({ form, set, whole, beside }) {
  const grey = (/** @type {unknown} */ value, /** @type {string} */ otherwise) =>
    value === undefined ? otherwise : String(value);
  return html`
    <div class="pair">
      <${NumberInput}
        label="Requests at once"
        value=${form.running}
        onInput=${set("running")}
        placeholder=${grey(whole.concurrency?.running, "no limit")}
        problem=${beside("concurrency.running")}
      />
      <${NumberInput}
        label="Requests that wait"
        value=${form.waiting}
        onInput=${set("waiting")}
        placeholder=${grey(whole.concurrency?.waiting, "100")}
        problem=${beside("concurrency.waiting")}
        hint="Further ones go to another target, or get status 503."
      />
    </div>
    <div class="pair">
      <${NumberInput}
        label="Seconds for an answer as a whole"
        value=${form.whole}
        onInput=${set("whole")}
        placeholder=${secondsOf(whole.timeouts?.wholeMs) || "600"}
        problem=${beside("timeouts.wholeMs")}
      />
      <${NumberInput}
        label="Seconds for a streamed answer"
        value=${form.total}
        onInput=${set("total")}
        placeholder=${secondsOf(whole.timeouts?.totalMs) || "1800"}
        problem=${beside("timeouts.totalMs")}
      />
    </div>
  `;
}
