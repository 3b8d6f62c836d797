// @ts-check
/// <reference lib="dom" />
/** The forms of the kinds of upstreams. */
import { h } from "./dom.js";
import { act } from "./setup_api.js";
import { withCode } from "./setup_code.js";

/**
 * @typedef {import("./setup_sources.js").Adding} Adding
 * @typedef {import("./setup_api.js").Provider} Provider
 * @typedef {import("./setup_api.js").Found["servers"][number]} FoundServer
 */

/** How many providers are listed before a search. */
const MOST_PROVIDERS = 40;

const secretInput = () => h("input", { type: "password", autocomplete: "off", spellcheck: "false", size: 40 });

/**
 * A form that says that it is busy, and is emptied once its source was added.
 * @param {string} words of its button
 * @param {() => Promise<boolean>} send
 * @param {...(Node | string | undefined)} fields
 */
function sending(words, send, ...fields) {
  const button = h("button", { type: "submit", class: "button primary" }, words);
  const form = h("form", {
    class: "card",
    submit: async (/** @type {Event} */ event) => {
      event.preventDefault();
      button.disabled = true;
      button.textContent = "Testing …";
      try {
        if (await send()) form.reset();
      } finally {
        button.disabled = false;
        button.textContent = words;
      }
    },
  }, ...fields);
  form.append(h("div", { class: "bar" }, button));
  return form;
}

/** @param {Adding["setup"]} setup */
const wordsOf = ({ canAct }) => canAct ? "Test and add" : "Add";

/**
 * The link to the page that creates keys.
 * @param {string | undefined} address
 * @param {string} words
 */
function linkTo(address, words) {
  return address === undefined
    ? undefined
    : h("p", {}, h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, words));
}

/** The secret is not asked for where nothing can keep it. */
const KEY_LATER = "The key is not asked for here. The last step says where it goes.";

/** @param {Adding} adding */
export function hubForm({ setup, add }) {
  const title = setup.hub?.title ?? "Model hub";
  const token = secretInput();
  token.required = true;
  return sending(
    wordsOf(setup),
    () => add({ kind: "hub", ...setup.canAct && { secret: token.value.trim() } }, title),
    h("h2", {}, title),
    linkTo(setup.hub?.keysAt, "Create a token (opens in a new tab)"),
    ...setup.canAct ? [h("label", { class: "field" }, "Token", token)] : [h("p", {}, KEY_LATER)],
  );
}

/** @param {Adding} adding */
export function providerForm({ setup, add }) {
  const paid = setup.providers.filter(({ keysAt, needsBaseUrl }) => keysAt !== undefined || needsBaseUrl);
  const search = h("input", { type: "search", placeholder: `Search ${paid.length} providers` });
  const list = h("div", { class: "options", role: "radiogroup", "aria-label": "Provider" });
  const rest = h("div");
  const draw = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = paid.filter(({ id, title }) => words.every((word) => `${id} ${title}`.toLowerCase().includes(word)));
    list.replaceChildren(
      ...fits.slice(0, MOST_PROVIDERS).map((provider) =>
        h(
          "label",
          {},
          h("input", { type: "radio", name: "provider", value: provider.id, change: () => choose(provider) }),
          provider.title,
        )
      ),
      ...fits.length > 0
        ? []
        : [h("p", { class: "quiet" }, "No provider has that name. Any other service: choose “A server” above.")],
    );
  };
  /** @param {Provider} provider */
  const choose = (provider) => rest.replaceChildren(keyForm(provider, setup, add));
  search.addEventListener("input", draw);
  draw();
  return h(
    "div",
    { class: "card" },
    h("h2", {}, "A provider's API key"),
    h("label", { class: "field" }, "Find your provider", search),
    list,
    rest,
  );
}

/**
 * @param {Provider} provider
 * @param {Adding["setup"]} setup
 * @param {Adding["add"]} add
 */
function keyForm({ id, title, keysAt, needsBaseUrl, form }, setup, add) {
  const secret = secretInput();
  secret.required = true;
  const address = h("input", { type: "url", size: 50, required: needsBaseUrl, value: form, placeholder: form });
  return sending(
    wordsOf(setup),
    () =>
      add({
        kind: "provider",
        provider: id,
        ...needsBaseUrl && { baseUrl: address.value.trim() },
        ...setup.canAct && { secret: secret.value.trim() },
      }, title),
    linkTo(keysAt, `Create a key at ${title} (opens in a new tab)`),
    ...needsBaseUrl
      ? [h("label", { class: "field" }, "Its address: replace the words in capitals by yours", address)]
      : [],
    ...setup.canAct ? [h("label", { class: "field" }, `${title} API key`, secret)] : [h("p", {}, KEY_LATER)],
  );
}

/** @param {Adding} adding */
export function serverForm({ setup, place, add }) {
  const found = h("div", { role: "status" });
  const again = h("button", { type: "button" }, "Look again");
  const look = async () => {
    again.disabled = true;
    found.replaceChildren(h("p", { class: "busy" }, "Looking for model servers on this machine …"));
    try {
      const { servers } = await withCode(place, () => act("find", {}));
      found.replaceChildren(...foundOf(servers, add));
    } catch (error) {
      found.replaceChildren(h("p", { class: "error" }, /** @type {Error} */ (error).message));
    }
    again.disabled = false;
  };
  again.addEventListener("click", look);
  if (setup.canAct) void look();
  const address = h("input", {
    inputmode: "url",
    autocomplete: "off",
    size: 40,
    required: true,
    placeholder: "192.168.1.20:8000",
    spellcheck: "false",
  });
  const secret = secretInput();
  const byHand = sending(
    wordsOf(setup),
    () => {
      const typed = address.value.trim();
      const baseUrl = withScheme(typed);
      const key = secret.value.trim();
      return add({ kind: "server", baseUrl, ...key !== "" && { secret: key } }, hostOf(baseUrl) ?? typed);
    },
    h("h2", {}, "At another address"),
    h("label", { class: "field" }, "Address", address),
    ...setup.canAct ? [h("label", { class: "field" }, "Its key, if it needs one", secret)] : [],
  );
  if (!setup.canAct) return byHand;
  return h(
    "div",
    { class: "pair" },
    h("section", { class: "card" }, h("h2", {}, "Found on this machine"), found, h("div", { class: "bar" }, again)),
    byHand,
  );
}

/** @param {string} address people leave out how it is spoken to */
function withScheme(address) {
  return /^\w+:\/\//.test(address) ? address : ["http:", "", address].join("/");
}

/**
 * Absent if the user would not recognize it.
 * @param {string} address
 */
function hostOf(address) {
  const host = URL.parse(address)?.host;
  return host && address.toLowerCase().includes(host) ? host : undefined;
}

/**
 * @param {readonly FoundServer[]} servers
 * @param {Adding["add"]} add
 */
function foundOf(servers, add) {
  if (servers.length === 0) {
    return [
      h("p", {}, "No model server answers on this machine."),
      h("p", { class: "quiet" }, "Start one and look again, type an address, or choose another kind of upstream."),
    ];
  }
  return [
    h(
      "ul",
      { class: "cards" },
      ...servers.map(({ title, baseUrl, models, needsSecret }) => {
        if (needsSecret) return lockedServer(title, baseUrl);
        const button = h("button", { type: "button", class: "button primary" });
        /** @param {string} words */
        const say = (words) => {
          button.textContent = words;
          button.setAttribute("aria-label", `${words} ${title}`);
        };
        say("Add");
        button.addEventListener("click", async () => {
          button.disabled = true;
          say("Testing …");
          const isAdded = await add({ kind: "server", baseUrl, title }, title).catch(() => false);
          button.disabled = false;
          say(isAdded ? "Added" : "Add");
        });
        const about = `${baseUrl}, ${models.length === 1 ? "1 model" : `${models.length} models`}`;
        return h("li", {}, h("b", {}, title), h("span", { class: "quiet" }, about), button);
      }),
    ),
  ];
}

/**
 * @param {string} title
 * @param {string} baseUrl
 */
function lockedServer(title, baseUrl) {
  const words = `${baseUrl} wants a key: enter both under “At another address”.`;
  return h("li", {}, h("b", {}, title), h("span", { class: "quiet" }, words));
}

/** @param {Adding} adding */
export function sandboxForm({ setup, add }) {
  return sending(
    setup.canAct ? "Use the sandbox" : "Add",
    () => add({ kind: "sandbox" }, "Sandbox"),
    h("h2", {}, "Sandbox"),
    h(
      "p",
      {},
      "It answers at once with fixed texts, so that you can try clients and settings before you have a model.",
    ),
  );
}
