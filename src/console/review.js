// @ts-check
/// <reference lib="dom" />
/** Files that are shown before they are written, and what became of them. */
import { Away, h, LoginNeeded } from "./dom.js";
import { copied, fileView, wholePath } from "./file_view.js";
import { act, readSetup } from "./setup_api.js";
import { withCode } from "./setup_code.js";

/**
 * @typedef {import("./setup_api.js").Setup} Setup
 * @typedef {import("./setup_api.js").Answers} Answers
 * @typedef {import("./setup_api.js").PlannedFile} PlannedFile
 * @typedef {import("./setup_api.js").Written} Written
 * @typedef {import("./setup_api.js").Plan & { restart?: string }} Planned
 */

const AGAIN_MS = 500;
/** How long a gateway may take to come back, in turns of `AGAIN_MS`. */
const MOST_TURNS = 120;

/**
 * @param {HTMLElement} place
 * @param {Setup} setup
 * @param {Answers} answers
 * @param {{ onWritten(written?: Extract<Written, { ok: true }>): void, bar?: HTMLElement }} options `bar`: has buttons already, and gets the one that writes
 */
export async function review(place, setup, answers, { onWritten, bar }) {
  const again = () => review(place, setup, answers, { onWritten, bar });
  bar?.querySelector("button")?.remove();
  place.replaceChildren(h("p", { class: "busy", role: "status" }, "Preparing the files …"));
  /** @type {Planned} */
  let plan;
  try {
    plan = await withCode(place, () => act("plan", answers));
  } catch (error) {
    return place.replaceChildren(...failed(error, again));
  }
  if (!plan.ok) return place.replaceChildren(...problemsOf(plan.problems), tryAgain(again));
  const { files, version, restart } = plan;
  if (files.length === 0) {
    place.replaceChildren(h("p", { role: "status" }, "The files already say all of that: nothing has to be written."));
    return onWritten();
  }
  const problem = h("div", { role: "alert" });
  const write = h("button", { type: "button", class: "button primary" }, wordsFor(files));
  write.addEventListener("click", async () => {
    problem.replaceChildren();
    write.disabled = true;
    write.textContent = restart === undefined ? "Writing …" : "Writing, and restarting the gateway …";
    try {
      const written = await writing(place, answers, version);
      if (!written) return await again();
      if (written.ok) {
        if (written.outcome === "restarted") {
          place.replaceChildren(h("p", { class: "busy", role: "status" }, "Written. Waiting for the gateway …"));
          await awaitGateway(setup);
        }
        place.replaceChildren(...outcomeOf(written, files, setup));
        return onWritten(written);
      }
      problem.replaceChildren(...refused(written, files, again));
    } catch (error) {
      if (error instanceof LoginNeeded) dispatchEvent(new HashChangeEvent("hashchange"));
      // The gateway has not come back: the files are written, and this page shows nothing else any more.
      if (!problem.isConnected) return place.replaceChildren(...failed(error, again));
      problem.replaceChildren(h("p", { class: "error" }, /** @type {Error} */ (error).message));
    }
    write.disabled = false;
    write.textContent = wordsFor(files);
  });
  place.replaceChildren(
    ...files.map((file) => fileView(file, setup.folder)),
    h("p", {}, effectOf(restart, setup)),
    ...bar ? [] : [h("div", { class: "bar" }, write)],
    problem,
  );
  bar?.prepend(write);
}

/**
 * `undefined` if the gateway went away before it answered: then nobody knows yet.
 * @param {HTMLElement} place
 * @param {Answers} answers
 * @param {string} version
 * @returns {Promise<Written | undefined>}
 */
async function writing(place, answers, version) {
  try {
    return await withCode(place, () => act("write", { answers, version }));
  } catch (error) {
    if (!(error instanceof Away)) throw error;
    await awaitGateway();
    return undefined;
  }
}

/**
 * Resolves when the gateway answers again.
 * @param {Setup} [before]
 */
async function awaitGateway(before) {
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    // A gateway that now requires a key answers as well.
    const now = await readSetup().catch((error) => error instanceof LoginNeeded ? {} : undefined);
    if (now && !("isFresh" in now && now.isFresh && before?.isFresh)) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  throw new Error("The gateway does not answer after its restart: look at the terminal where it runs");
}

/** @type {(restart: string | undefined, setup: Setup) => string} */
function effectOf(restart, { isFresh }) {
  if (restart === undefined && !isFresh) return "The gateway uses it at once, without a restart.";
  const why = restart?.replace(/\.$/, "") ?? "The first file needs a restart";
  return `${why}. Running requests are finished first.`;
}

/** @param {readonly PlannedFile[]} files */
function wordsFor(files) {
  return files.length === 1 ? "Write this file" : `Write these ${files.length} files`;
}

/**
 * @param {Extract<Written, { ok: true }>} written
 * @param {readonly PlannedFile[]} files
 * @param {Setup} setup
 */
function outcomeOf({ outcome, command, reason, stamp }, files, setup) {
  const words = {
    applied: "Written. The gateway uses it now.",
    restarted: "Written. The gateway has restarted and uses it now.",
    "by-hand": "Written. One thing is left: restart the gateway. Stop it with Ctrl+C in its terminal, then type:",
  }[outcome];
  return [
    h("p", { role: "status", class: "done" }, words),
    ...outcome === "by-hand" ? [copied(command ?? setup.command, "The command that starts the gateway")] : [],
    ...reason === undefined ? [] : [h("p", { class: "quiet" }, reason)],
    // The page itself takes it back.
    ...stamp !== undefined ? [] : [h(
      "details",
      {},
      h("summary", {}, "How to undo it"),
      ...files.map(({ path, before, isSecret }) =>
        before === undefined
          ? h(
            "div",
            {},
            h("p", {}, isSecret ? "Remove the secret:" : "Remove the new file:"),
            copied(removal(wholePath(path, setup.folder), setup), `Remove ${path}`),
          )
          : isSecret
          ? h(
            "p",
            {},
            "The former secret in ",
            h("code", {}, path),
            " was replaced: add the upstream again with the old one.",
          )
          : h(
            "div",
            {},
            h("p", {}, "Put the former text back into ", h("code", {}, path)),
            copied(before, "Former text"),
          )
      ),
      h("p", {}, "Then restart the gateway: stop it with Ctrl+C in its terminal, and start it again."),
    )],
  ];
}

/** @type {(path: string, setup: Setup) => string} */
const removal = (path, { platform }) => platform === "windows" ? `del "${path}"` : `rm '${path}'`;

/**
 * @param {Extract<Written, { ok: false }>} written
 * @param {readonly PlannedFile[]} files
 * @param {() => void} again
 */
function refused({ reason, isOutdated }, files, again) {
  const look = h("button", { type: "button", click: again }, "look at the files again");
  if (isOutdated) {
    const words = "Another page or an editor has changed a file: ";
    return [
      h("div", { class: "failure" }, h("p", {}, h("b", {}, "Nothing was written. "), words, look, ", then write.")),
    ];
  }
  return [
    h(
      "div",
      { class: "failure" },
      h("p", {}, h("b", {}, "Nothing was written. "), reason),
      h(
        "p",
        {},
        "Mend that and write again, ",
        look,
        ", or write them yourself:",
      ),
      ...files.filter(({ isSecret }) => !isSecret).map(({ path, text }) =>
        h("details", {}, h("summary", {}, path), copied(text, `Text of ${path}`))
      ),
      ...files.filter(({ isSecret }) => isSecret).map(({ path }) =>
        h("p", {}, "Your key goes into ", h("code", {}, path), ", which only you may read (mode 0600).")
      ),
    ),
  ];
}

/** @param {readonly { path: string, message: string }[]} problems */
function problemsOf(problems) {
  return [
    h(
      "div",
      { class: "failure", role: "alert" },
      h("p", {}, h("b", {}, "This cannot be written yet.")),
      h("ul", {}, ...problems.map(({ path, message }) => h("li", {}, path === "" ? message : `${path}: ${message}`))),
    ),
  ];
}

/**
 * @param {unknown} error
 * @param {() => void} again
 */
function failed(error, again) {
  if (error instanceof LoginNeeded) dispatchEvent(new HashChangeEvent("hashchange"));
  return [
    h("p", { class: "error", role: "alert" }, /** @type {Error} */ (error).message),
    tryAgain(again),
  ];
}

/** @param {() => void} again */
function tryAgain(again) {
  return h("div", { class: "bar" }, h("button", { type: "button", click: again }, "Try again"));
}
