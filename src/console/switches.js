// @ts-check
/// <reference lib="dom" />
/** The settings that pages turn on, in words. */
import { h } from "./dom.js";

export const RECORDING = {
  words: "Record requests",
  title: "Record requests",
  about:
    "The latest requests and answers are kept in memory, with all that clients and models write. Operators can read them.",
  settings: { console: { record: {} } },
};

export const USAGE = {
  words: "Record usage",
  title: "Record usage",
  about: "The gateway counts requests, tokens and dollars of each key and model. It keeps no texts.",
  settings: { usage: {} },
};

export const EDITING = {
  words: "Edit it here",
  title: "Edit the configuration here",
  about: "Operators may then change this file in the console. The gateway may write it, and no other file of yours.",
  settings: { console: { edit: true } },
};

/** @type {import("./show_change.js").Switch} */
export const STORED_KEYS = {
  words: "Create keys here",
  title: "Keys that are made here",
  about:
    "The gateway keeps them in its store. From then on every client needs a key, and so does this console. Connect your clients again afterwards.",
  settings: { storedKeys: true },
  isMain: true,
  async first({ command }) {
    const { copied } = await import("./file_view.js");
    const words =
      "First create a key for yourself, in the folder where the gateway is started. You log in here with what " +
      "it prints:";
    return [h("p", {}, words), copied(`${command} keys create me --operator`, "The command that creates your key")];
  },
};
