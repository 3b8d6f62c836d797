// @ts-check
/// <reference lib="dom" />
/** The command and the settings for a client that is on another machine, or that cannot be set up from here. */
import { h } from "./dom.js";
import { copied } from "./file_view.js";

/** @typedef {import("./setup_api.js").Setup} Setup */

/** The address of the gateway that serves this page, as clients write it. */
export const here = () => new URL("../", location.href).href.replace(/\/$/, "");

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
  const isLoopback = /\/\/(127\.|localhost|\[::1)/.test(here());
  const element = h(
    "details",
    { open: !setup.canAct, class: "card" },
    h("summary", {}, "A client on another machine, or one that is not in the list"),
    field,
    settings,
    isLoopback
      ? h(
        "p",
        { class: "quiet" },
        "This gateway listens on this machine only. For others, create keys, and start it with --hostname 0.0.0.0.",
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
function settingsFor(client, { command }, { lane = "oss", model }) {
  const options = `--url ${here()} --lane ${lane}${model === "" ? "" : ` --model '${model}'`}`;
  const values = { "Base URL": `${here()}/${lane}/v1`, "Base URL without /v1": `${here()}/${lane}`, Model: model };
  const rows = Object.entries(values).filter(([, value]) => value !== "");
  return [
    h("p", {}, "With Laneway on that machine:"),
    copied(`${command} connect ${client || "<client>"} ${options}`, "The command that connects it"),
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
    h("dl", {}, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, h("code", {}, value))])),
  ];
}
