// @ts-check
/// <reference lib="dom" />
/** One model of the playground, and its answer. */
import { count, duration, h, messageIn } from "./dom.js";
import { eventsIn, noAnswer, WIRES } from "./wires.js";

/**
 * The inputs of the pages, which are kept while other pages are shown.
 * @type {Map<string, string>}
 */
const kept = new Map();

/**
 * @template {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} Field
 * @param {string} name
 * @param {Field} field
 * @returns {Field}
 */
export function keeping(name, field) {
  field.value = kept.get(name) ?? field.value;
  field.addEventListener("change", () => kept.set(name, field.value));
  return field;
}

export class Side {
  #model;
  #wire;
  #state = h("p", { class: "quiet", role: "status" });
  #error = h("p", { class: "error" });
  #reasoning = h("pre");
  #thoughts = h("details", { hidden: true, open: true }, h("summary", {}, "Reasoning"), this.#reasoning);
  #text = h("pre", { class: "answer" });
  #calls = h("ul", { class: "calls", "aria-label": "Tool calls" });
  #facts = h("dl");

  /** @param {string} title */
  constructor(title) {
    this.#model = keeping(title, h("input", { list: "models", placeholder: "lane/model", autocomplete: "off" }));
    const wires = Object.entries(WIRES).map(([value, wire]) => h("option", { value }, wire.title));
    this.#wire = keeping(`${title} wire`, h("select", {}, ...wires));
    this.choice = h(
      "div",
      { class: "bar" },
      h("label", {}, title, this.#model),
      h("label", {}, `${title} API`, this.#wire),
    );
    this.element = h(
      "section",
      { "aria-label": `Answer from ${title.toLowerCase()}`, hidden: true },
      this.#state,
      this.#thoughts,
      this.#text,
      this.#calls,
      this.#error,
      this.#facts,
    );
  }

  /** @param {string | undefined} name */
  suggest(name) {
    this.#model.value ||= name ?? "";
  }

  /**
   * Shows the answer as it comes. Without a model it asks nobody.
   * @param {Omit<import("./wires.js").Asked, "model">} asked
   * @param {AbortSignal} signal
   */
  async run(asked, signal) {
    const answer = noAnswer();
    this.#error.textContent = "";
    this.#facts.replaceChildren();
    this.#draw(answer);
    const [lane, ...rest] = this.#model.value.trim().split("/");
    this.#state.textContent = "";
    if (!lane) return;
    this.element.hidden = false;
    const wire = /** @type {import("./wires.js").Wire} */ (WIRES[this.#wire.value]);
    const started = performance.now();
    const elapsed = () => Math.round(performance.now() - started);
    /** @type {number | undefined} */
    let first;
    /** @type {Response | undefined} */
    let response;
    this.#state.textContent = "Waiting …";
    try {
      response = await fetch(`call/${lane}/${wire.path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(wire.body({ ...asked, model: rest.join("/") })),
        signal,
      });
      if (!response.ok) throw new Error(await messageIn(response));
      for await (const event of eventsIn(response.body)) {
        wire.read(event, answer);
        if (first === undefined && (answer.text || answer.reasoning || answer.calls.length > 0)) {
          first = elapsed();
          this.#state.textContent = "Answering …";
        }
        this.#drawSoon(answer);
      }
      this.#error.textContent = answer.error ?? "";
      this.#state.textContent = answer.error ? "Failed" : "Done";
    } catch (error) {
      if (!signal.aborted) this.#error.textContent = /** @type {Error} */ (error).message;
      this.#state.textContent = signal.aborted ? "Stopped" : "Failed";
    }
    this.#draw(answer);
    this.#describe(answer, { first, total: elapsed(), headers: response?.headers });
  }

  #isDue = false;

  /** @param {import("./wires.js").Answer} answer */
  #drawSoon(answer) {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw(answer);
    });
  }

  /** @param {import("./wires.js").Answer} answer */
  #draw({ text, reasoning, calls }) {
    this.#thoughts.hidden = reasoning === "";
    this.#reasoning.textContent = reasoning;
    this.#text.textContent = text;
    this.#calls.replaceChildren(
      ...calls.map(({ name, input }) => h("li", {}, h("b", {}, name), " ", h("code", {}, input))),
    );
  }

  /**
   * @param {import("./wires.js").Answer} answer
   * @param {{ first?: number, total: number, headers?: Headers }} facts
   */
  #describe({ usage }, { first, total, headers }) {
    const seconds = (total - (first ?? total)) / 1000;
    const facts = {
      "First token": duration(first),
      "Full answer": duration(total),
      "Tokens in": usage && count(usage.input),
      "Tokens out": usage && count(usage.output),
      "Tokens per second": usage && usage.output > 1 && seconds > 0.05 ? (usage.output / seconds).toFixed(0) : "",
      "Answered by": headers?.get("x-laneway-target"),
      "Notes": headers?.get("x-laneway-notes"),
    };
    const id = headers?.get("x-request-id");
    const request = id
      ? [h("dt", {}, "Request"), h("dd", {}, h("a", { href: `#live?${encodeURIComponent(id)}` }, id))]
      : [];
    this.#facts.replaceChildren(
      ...Object.entries(facts).flatMap(([name, value]) => value ? [h("dt", {}, name), h("dd", {}, value)] : []),
      ...request,
    );
  }
}
