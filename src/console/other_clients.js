// @ts-check
/// <reference lib="dom" />
/** The command and the settings for a client that is on another machine, or that cannot be set up from here. */
import { h } from "./dom.js";
import { copied } from "./file_view.js";

/** @typedef {import("./setup_api.js").Setup} Setup */

/** The address of the gateway that serves this page, as clients write it. */
export const here = () => new URL("../", location.href).href.replace(/\/$/, "");

/** Whether only programs on this machine can use that address. */
const isLoopback = () => /\/\/(127\.|localhost|\[::1)/.test(here());

/** Stands for the address that other machines know the gateway's machine by. */
const UNKNOWN = "ADDRESS-OF-THIS-MACHINE";

/**
 * `offer`: the clients to choose from. `draw`: shows the settings for what is chosen now.
 * @param {Setup} setup
 * @param {() => { lane: string | undefined, model: string }} target
 */
export function otherClients(setup, target) {
  const choice = h("select");
  const field = h("label", { class: "field", hidden: true }, "Client", choice);
  const settings = h("div");
  const draw = () => settings.replaceChildren(...settingsFor(choice.value, setup, target()));
  choice.addEventListener("change", draw);
  draw();
  const element = h(
    "details",
    { open: !setup.canAct, class: "card" },
    h("summary", {}, "A client on another machine, or one that is not in the list"),
    field,
    settings,
    isLoopback()
      ? h(
        "p",
        { class: "quiet" },
        "If this gateway listens on this machine only, others cannot reach it: ",
        h("a", { href: "#keys" }, "create keys"),
        ", and start it with --hostname 0.0.0.0.",
      )
      : "",
  );
  return {
    element,
    draw,
    /**
     * @param {readonly { id: string, title: string }[]} clients
     * @param {boolean} isOnlyWay whether no client can be connected on this machine
     */
    offer(clients, isOnlyWay) {
      if (isOnlyWay) element.open = true;
      choice.replaceChildren(...clients.map(({ id, title }) => h("option", { value: id }, title)));
      field.hidden = clients.length === 0;
      draw();
    },
  };
}

/**
 * @param {string} client
 * @param {Setup} setup
 * @param {{ lane?: string | undefined, model: string }} target
 */
function settingsFor(client, { command, canAct, needsKey }, { lane = "oss", model }) {
  // Without a launcher, clients on this machine are connected by the same command.
  const isFar = canAct && isLoopback();
  const url = isFar ? here().replace(/\/\/(\[[^\]]*\]|[^:/]*)/, `//${UNKNOWN}`) : here();
  const options = `--url ${url} --lane ${lane}${model === "" ? "" : ` --model '${model}'`}`;
  const values = { "Base URL": `${url}/${lane}/v1`, "Base URL without /v1": `${url}/${lane}`, Model: model };
  const rows = Object.entries(values).filter(([, value]) => value !== "");
  const key = needsKey
    ? [h("dt", {}, "API key"), h("dd", {}, "A ", h("a", { href: "#keys" }, "key"), " of this gateway")]
    : [];
  return [
    h("p", {}, isLoopback() && !canAct ? "With Laneway on this machine:" : "With Laneway on that machine:"),
    copied(`${command} connect ${client || "<client>"} ${options}`, "The command that connects it"),
    ...isFar
      ? [
        h(
          "p",
          { class: "quiet" },
          "Put the address of this machine in your network in place of ",
          h("code", {}, UNKNOWN),
          `. On this machine itself it is ${location.hostname}.`,
        ),
      ]
      : [],
    ...client ? [] : [
      h(
        "p",
        { class: "quiet" },
        "The names of the clients are printed by ",
        h("code", {}, `${command} connect --list`),
        ".",
      ),
    ],
    h("p", {}, "Or enter these settings in the client:"),
    h("dl", {}, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, h("code", {}, value))]), ...key),
  ];
}
