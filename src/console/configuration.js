// @ts-check
/// <reference lib="dom" />
/** The configuration: to look at, and to change where that is allowed. */
import { withEndsOf } from "./diff.js";
import { ask, count, h, LoginNeeded, order, queryInAddress } from "./dom.js";
import { empty, go } from "./empty.js";
import { diffOf } from "./file_view.js";
import { offsetOf } from "./json_place.js";
import { pathIn, showSetting } from "./setting_note.js";
import { suggestions } from "./suggestions.js";
import { EDITING } from "./switches.js";
import { turnOn } from "./turn_on.js";

const EVERY_MS = 5_000;
const SETTLE_MS = 400;

/**
 * @typedef {{ source: string, text?: string, version?: string, former?: string, why?: string, waits?: string }} File
 * @typedef {{ problems: { path: string, message: string }[] } | { paths: string[], restart?: string, warning?: string }} Checked
 */

/** A text that was written and not applied. It is kept while other pages are shown. */
/** @type {{ text: string, of: File } | undefined} */
let draft;

export const configuration = {
  /** @param {HTMLElement} main */
  open(main) {
    const source = h("p", { class: "quiet" });
    const why = h("div");
    const note = h("div");
    const outcome = h("p", { role: "status" });
    const problem = h("p", { class: "error", role: "alert" });
    const editor = h("textarea", {
      id: "configuration",
      rows: 28,
      spellcheck: "false",
      autocapitalize: "off",
      wrap: "off",
      readonly: true,
      "aria-describedby": "editor-help",
    });
    const found = h("ul", { class: "problems" });
    const verdict = h("p", { role: "status" });
    const changes = h("div");
    const apply = h("button", { type: "button", class: "button primary", disabled: true }, "Apply");
    const undo = h("button", { type: "button", disabled: true }, "Undo my changes");
    const former = h("button", { type: "button", hidden: true }, "Previous version");
    const bar = h("div", { class: "bar", hidden: true }, apply, undo, former);
    const help = h(
      "p",
      { id: "editor-help", class: "quiet", hidden: true },
      "Ctrl+Space moves to the suggestions, Escape back to the text.",
    );
    const numbers = numbered(editor);
    const beside = suggestions(editor);
    const whole = h(
      "div",
      { class: "editor" },
      h("div", {}, h("label", { for: "configuration" }, "The file, without secrets"), numbers.around, help),
      beside,
    );
    main.append(
      h("h1", {}, "Configuration"),
      source,
      why,
      note,
      outcome,
      problem,
      whole,
      verdict,
      found,
      bar,
      changes,
    );
    /** @type {File | undefined} */
    let file;
    /** @type {Checked | undefined} */
    let checked;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let turn = 0;

    const written = () => withEndsOf(file?.text ?? "", editor.value);
    const isChanged = () => file?.text !== undefined && written() !== file.text;
    const draw = () => {
      const isOpen = file?.text !== undefined && file.why === undefined;
      editor.readOnly = !isOpen;
      numbers.draw();
      bar.hidden = help.hidden = beside.hidden = !isOpen;
      source.textContent = (file?.source ?? "").replace(/^"(.*)"$/, "$1");
      drawWhy(why, file);
      whole.hidden = file?.text === undefined;
      former.hidden = file?.former === undefined;
      undo.disabled = !isChanged();
      const isRight = checked !== undefined && !("problems" in checked);
      apply.disabled = !isChanged() || !isRight;
      apply.textContent = isRight && checked && "restart" in checked ? "Save for the next start" : "Apply";
      drawVerdict(verdict, found, isChanged() ? checked : undefined, editor);
      changes.replaceChildren(
        ...isChanged() && file?.text !== undefined ? [h("h2", {}, "Changes"), diffOf(file.text, written())] : [],
      );
    };
    const check = async () => {
      const mine = ++turn;
      checked = undefined;
      if (isChanged()) {
        const answer = await order("configuration/check", { text: written() }).catch((error) => {
          problem.textContent = error.message;
        });
        if (mine !== turn) return;
        checked = answer;
      }
      draw();
    };
    const edited = () => {
      draft = isChanged() && file ? { text: editor.value, of: file } : undefined;
      problem.textContent = outcome.textContent = "";
      checked = undefined;
      draw();
      clearTimeout(timer);
      timer = setTimeout(check, SETTLE_MS);
    };
    /** @param {string} text */
    const put = (text) => {
      editor.value = text;
      edited();
    };
    const refresh = async () => {
      /** @type {File} */
      const now = await ask("configuration").catch((error) => {
        // A program may have given the gateway its configuration.
        if (error instanceof LoginNeeded) throw error;
        return { source: "", why: error.message };
      });
      const isFirst = file === undefined;
      if (draft && draft.of.version !== now.version) {
        problem.textContent =
          'The file has changed in the meantime. "Undo my changes" loads it and discards your edits.';
      }
      const base = draft?.of ?? now;
      file = { ...now, text: base.text, version: base.version };
      if (draft && isFirst) put(draft.text);
      else if (!draft && editor.value !== (now.text ?? "").replace(/\r\n?/g, "\n")) editor.value = now.text ?? "";
      draw();
      const setting = pathIn(queryInAddress());
      if (isFirst && setting.length > 0) await showSetting(note, editor, setting);
      if (isFirst && now.text !== undefined) showPlace(editor);
    };
    editor.addEventListener("input", edited);
    undo.addEventListener("click", async () => {
      draft = undefined;
      await refresh().catch(() => {});
      editor.value = file?.text ?? "";
      edited();
    });
    former.addEventListener("click", () => file?.former !== undefined && put(file.former));
    apply.addEventListener("click", async () => {
      problem.textContent = "";
      apply.disabled = true;
      try {
        const atRestart = checked !== undefined && "restart" in checked;
        const { outcome: what, message } = await order("configuration/apply", {
          text: written(),
          version: file?.version,
          atRestart,
        });
        if (message !== undefined) throw new Error(message);
        draft = undefined;
        // Also where it turns the console off, or the key of who looks at it.
        outcome.textContent = what === "applied"
          ? "Applied: the gateway now uses it."
          : "Saved: the gateway uses it from its next start.";
        await refresh();
      } catch (error) {
        problem.textContent = /** @type {Error} */ (error).message;
      }
      draw();
    });
    draw();
    return { everyMs: EVERY_MS, refresh };
  },
};

/** Goes to the entry that the address names. @param {HTMLTextAreaElement} editor */
function showPlace(editor) {
  const path = queryInAddress();
  if (path === "") return;
  goTo(editor, offsetOf(editor.value, path));
}

/** The editor with the numbers of its lines. @param {HTMLTextAreaElement} editor */
function numbered(editor) {
  const column = h("div", { class: "line-numbers", "aria-hidden": "true" });
  editor.addEventListener("scroll", () => column.scrollTop = editor.scrollTop);
  return {
    around: h("div", { class: "numbered" }, column, editor),
    draw() {
      const lines = lineAt(editor.value, editor.value.length);
      if (column.dataset.lines === String(lines)) return;
      column.dataset.lines = String(lines);
      column.textContent = Array.from({ length: lines }, (_, at) => at + 1).join("\n");
      column.scrollTop = editor.scrollTop;
    },
  };
}

/** Puts the cursor there, and its line in sight. @param {HTMLTextAreaElement} editor @param {number} offset */
function goTo(editor, offset) {
  editor.focus();
  editor.setSelectionRange(offset, offset);
  editor.scrollTop = (lineAt(editor.value, offset) - 3) * parseFloat(getComputedStyle(editor).lineHeight);
}

/**
 * Why it cannot be changed here, with the button that changes it. A dialog that is open stays.
 * @param {HTMLElement} place
 * @param {File | undefined} file
 */
function drawWhy(place, file) {
  const waits = file?.waits && `The gateway is not using the latest version of this file. ${file.waits}.`;
  const text = [file?.why, waits].filter(Boolean).join(" ");
  const is = `${text} ${file?.text === undefined}`;
  if (place.dataset.is === is) return;
  place.dataset.is = is;
  if (file?.why === undefined) return place.replaceChildren(h("p", {}, text));
  if (file.text === undefined) {
    const words =
      "The gateway runs with its built-in configuration. Your own will be a file in the folder where the gateway was started, with comments that explain it.";
    return place.replaceChildren(
      empty(
        words,
        go("#setup", "Write it step by step", true),
        turnOn({ ...EDITING, words: "Write an empty one to edit here" }),
      ),
      // That there is no file has just been said.
      file.why.includes("built-in") ? "" : h("p", { class: "quiet" }, text),
    );
  }
  place.replaceChildren(
    h("p", {}, text),
    ...file.why.includes('"edit"')
      ? [h("div", { class: "bar" }, turnOn(EDITING), go("#setup", "Add an upstream or a model"))]
      : [],
  );
}

/**
 * @param {HTMLElement} verdict
 * @param {HTMLElement} list
 * @param {Checked | undefined} checked
 * @param {HTMLTextAreaElement} editor
 */
function drawVerdict(verdict, list, checked, editor) {
  const problems = checked && "problems" in checked ? checked.problems : [];
  list.replaceChildren(...problems.map(({ path, message }) => {
    const line = /^line (\d+)/.exec(message)?.[1];
    const offset = line === undefined ? offsetOf(editor.value, path) : offsetOfLine(editor.value, Number(line));
    const go = h(
      "button",
      { type: "button" },
      line === undefined ? `line ${lineAt(editor.value, offset)}` : `line ${line}`,
    );
    go.addEventListener("click", () => goTo(editor, offset));
    return h("li", {}, go, ` ${path === "" ? "" : `${path}: `}${message}`);
  }));
  const text = !checked
    ? ""
    : "problems" in checked
    ? `${count(problems.length)} ${problems.length === 1 ? "problem" : "problems"}: it cannot be applied`
    : [
      checked.restart === undefined
        ? `No problems found. ${changesIn(checked.paths)}`
        : `No problems found, but it needs a restart. ${checked.restart}.`,
      checked.warning && `${checked.warning}.`,
    ].filter(Boolean).join(" ");
  if (verdict.textContent !== text) verdict.textContent = text;
}

/** @param {readonly string[]} paths */
function changesIn(paths) {
  return paths.length === 0 ? "It does not change what the gateway does." : `It changes ${paths.join(", ")}.`;
}

/** @type {(text: string, offset: number) => number} */
const lineAt = (text, offset) => text.slice(0, offset).split("\n").length;

/** @type {(text: string, line: number) => number} */
const offsetOfLine = (text, line) => text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
