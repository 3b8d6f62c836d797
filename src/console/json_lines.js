// @ts-check
/** JSON as lines, and the lines that notes are about. */

/**
 * The value that begins on a line: a field, or an item of a list. `key`: the name of its field.
 * @typedef {{ key: string, value: unknown, text: string }} Line
 */

/** Texts are cut within a line, in characters: a picture is one of a megabyte. */
const LONGEST = 2_000;

/** Values nested deeper than this are not written out, because each level takes a longer margin. */
const DEEPEST = 100;

/**
 * @param {unknown} value
 * @returns {Line[]}
 */
export function linesOf(value) {
  /** @type {Line[]} */
  const lines = [];
  write(value, "", "", "", lines);
  return lines;
}

/**
 * @param {unknown} value
 * @param {string} key
 * @param {string} before what stands on the line before it
 * @param {string} after
 * @param {Line[]} lines
 */
function write(value, key, before, after, lines) {
  const margin = before.match(/^ */)?.[0] ?? "";
  if (margin.length >= 2 * DEEPEST && typeof value === "object" && value !== null) value = "…";
  if (typeof value !== "object" || value === null) {
    const text = typeof value === "string" && value.length > LONGEST
      ? `${JSON.stringify(value.slice(0, LONGEST))}… (${value.length} characters)`
      : JSON.stringify(value);
    lines.push({ key, value, text: `${before}${text}${after}` });
    return;
  }
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const items = Array.isArray(value)
    ? value.map((item) => /** @type {const} */ ([key, `${margin}  `, item]))
    : Object.entries(value).map((
      [name, item],
    ) => /** @type {const} */ ([name, `${margin}  ${JSON.stringify(name)}: `, item]));
  if (items.length === 0) {
    lines.push({ key, value, text: `${before}${open}${close}${after}` });
    return;
  }
  lines.push({ key, value, text: before + open });
  for (const [index, [name, own, item]] of items.entries()) {
    write(item, name, own, index < items.length - 1 ? "," : "", lines);
  }
  lines.push({ key: "", value: undefined, text: margin + close + after });
}

/** The other names on some wires of a field that notes name. @type {Record<string, readonly string[]>} */
const OTHER_NAMES = {
  max_tokens: ["max_completion_tokens", "max_output_tokens"],
  effort: ["reasoning_effort", "effort", "budget_tokens", "thinking", "reasoning"],
  response_format: ["format", "output_format", "json_schema"],
  reasoning: ["thinking", "reasoning_content", "encrypted_content"],
  system: ["system", "developer"],
  results: ["tool_result", "function_call_output"],
  ending: ["finish_reason", "stop_reason", "status"],
  usage: ["usage"],
  file: ["image_url", "input_image", "image", "document", "input_file", "file"],
};

/** Words that mean a field and no value: a part of an answer may be of the type `reasoning`. */
const FIELDS = new Set(["effort"]);

/** Words of notes that name nothing, though a field may be called so. */
const PLAIN = new Set(
  ("dropped clamped replaced moved added asked renamed repaired wrapped kept mapped returned charged answered delivered a an " +
    "the of to with in into and for by that its which had none type text message turn user call tool tools part item model")
    .split(" "),
);

/**
 * The line that a note is about; nothing where none is known. What notes name is a field, or a value: a tool, a type, an id.
 * @param {string} note
 * @param {readonly Line[]} lines
 * @returns {number | undefined}
 */
export function lineOf(note, lines) {
  const words = note.split(/[\s,>]+/).filter((word) => word !== "" && !PLAIN.has(word));
  for (const word of words) {
    const names = [
      word,
      word.split(".").at(-1) ?? word,
      ...Object.hasOwn(OTHER_NAMES, word) ? OTHER_NAMES[word] ?? [] : [],
    ];
    for (const name of names) {
      const isMeant = (/** @type {unknown} */ value) => value === name && !FIELDS.has(word);
      const at = lines.findIndex(({ key, value }) => value !== undefined && (key === name || isMeant(value)));
      if (at >= 0) return at;
    }
  }
  return undefined;
}

/**
 * The notes at the lines that they are about.
 * @param {readonly string[]} notes
 * @param {readonly Line[]} lines
 * @returns {Map<number, string[]>}
 */
export function notesAt(notes, lines) {
  /** @type {Map<number, string[]>} */
  const found = new Map();
  for (const note of notes) {
    const line = lineOf(note, lines);
    if (line !== undefined) found.set(line, [...found.get(line) ?? [], note]);
  }
  return found;
}

/**
 * @param {string | undefined} text
 * @returns {object | undefined} nothing where it is no object of JSON, nor a list
 */
export function jsonIn(text) {
  if (!text || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
