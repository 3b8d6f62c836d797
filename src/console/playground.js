// @ts-check
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** A prompt to two models, side by side. */
import { h } from "./dom.js";
import { chatModels } from "./chat_models.js";
import { keeping, Side } from "./side.js";
import { readTools } from "./wires.js";

const EVERY_MS = 60_000;
const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const EXAMPLE =
  `[{ "name": "weather", "parameters": { "type": "object", "properties": { "city": { "type": "string" } } } }]`;

export const playground = {
  /** @param {HTMLElement} main */
  open(main) {
    const prompt = keeping("prompt", h("textarea", { rows: 4, required: true }));
    const system = keeping("system", h("textarea", { rows: 2 }));
    const tools = keeping("tools", h("textarea", { rows: 4, spellcheck: "false", placeholder: EXAMPLE }));
    const most = keeping("most", h("input", { type: "number", min: 1, value: 1024, required: true }));
    const effort = h(
      "select",
      {},
      h("option", { value: "" }, "model's default"),
      ...EFFORTS.map((one) => h("option", {}, one)),
    );
    const problem = h("p", { class: "error", role: "alert" });
    const images = new Images();
    const models = h("datalist", { id: "models" });
    const sides = [new Side("Model 1"), new Side("Model 2")];
    const send = h("button", { type: "submit", class: "button primary" }, "Send");
    const stop = h("button", { type: "button", disabled: true }, "Stop");
    /** @type {AbortController | undefined} */
    let running;
    stop.addEventListener("click", () => running?.abort());
    // Nobody sees what comes after the page is left.
    addEventListener("hashchange", () => running?.abort(), { once: true });
    prompt.addEventListener("paste", (event) => void images.add(event.clipboardData?.files));

    const submit = async (/** @type {Event} */ event) => {
      event.preventDefault();
      if (running) return;
      let asked;
      try {
        asked = {
          prompt: prompt.value,
          system: system.value,
          tools: readTools(tools.value),
          images: images.list,
          maxTokens: Number(most.value),
          effort: effort.value,
        };
      } catch (error) {
        problem.textContent = /** @type {Error} */ (error).message;
        tools.setAttribute("aria-invalid", "true");
        return tools.focus();
      }
      problem.textContent = "";
      tools.removeAttribute("aria-invalid");
      const { signal } = running = new AbortController();
      [send.disabled, stop.disabled] = [true, false];
      await Promise.all(sides.map((side) => side.run(asked, signal)));
      running = undefined;
      [send.disabled, stop.disabled] = [false, true];
    };
    const form = h(
      "form",
      { class: "ask", submit, keydown: sendByKey },
      h("label", {}, "Prompt", prompt),
      images.element,
      h(
        "details",
        { open: Boolean(system.value || tools.value) },
        h("summary", {}, "System prompt, tools, limits"),
        h("label", {}, "System prompt", system),
        h("label", {}, "Tools (a JSON list)", tools),
        h("div", { class: "bar" }, h("label", {}, "Max tokens", most), h("label", {}, "Reasoning effort", effort)),
      ),
      problem,
      h("div", { class: "sides" }, ...sides.map(({ choice }) => choice)),
      h("div", { class: "bar" }, send, stop, h("span", { class: "quiet" }, "Ctrl+Enter sends")),
    );
    const hint = h(
      "p",
      { class: "notice", hidden: true },
      "Only the sandbox answers now: the other models need a key or a server. ",
      h("a", { href: "#setup?upstream" }, "Add upstream"),
    );
    main.append(
      h("h1", {}, "Playground"),
      h(
        "p",
        { class: "quiet" },
        "Prompts sent here go to the models with your key, and count like any other request. ",
        h("a", { href: "#setup?models" }, "Add model"),
      ),
      hint,
      models,
      form,
      h("div", { class: "sides" }, ...sides.map(({ element }) => element)),
    );
    return {
      everyMs: EVERY_MS,
      async refresh() {
        const { names, isOnlySandbox } = await chatModels();
        models.replaceChildren(...names.map((value) => h("option", { value })));
        sides[0]?.suggest(names[0]);
        hint.hidden = !isOnlySandbox;
      },
    };
  },
};

/** @param {KeyboardEvent} event */
function sendByKey(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  /** @type {HTMLFormElement} */ (event.currentTarget).requestSubmit();
}

/** The pictures beside the prompt. */
class Images {
  /** @type {{ mediaType: string, data: string }[]} */
  list = [];
  #shown = h("ul", { class: "images", "aria-label": "Images" });
  #input = h("input", { type: "file", accept: "image/*", multiple: true, change: () => this.#take() });
  element = h("div", {}, h("label", {}, "Images, chosen here or pasted into the prompt", this.#input), this.#shown);

  async #take() {
    await this.add(this.#input.files);
    this.#input.value = "";
  }

  /** @param {FileList | null | undefined} files */
  async add(files) {
    for (const file of files ?? []) {
      if (!file.type.startsWith("image/")) continue;
      const address = await addressOf(file);
      const image = { mediaType: file.type, data: address.slice(address.indexOf(",") + 1) };
      this.list.push(image);
      const remove = () => {
        this.list = this.list.filter((one) => one !== image);
        item.remove();
      };
      const item = h(
        "li",
        {},
        h("img", { src: address, alt: file.name }),
        h("button", { type: "button", "aria-label": `Remove ${file.name}`, click: remove }, "Remove"),
      );
      this.#shown.append(item);
    }
  }
}

/**
 * @param {File} file
 * @returns {Promise<string>}
 */
function addressOf(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
