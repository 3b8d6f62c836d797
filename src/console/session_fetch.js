// @ts-check
/// <reference lib="dom" />
/** The contents of turns, as the gateway recorded them. */
import { useEffect, useState } from "./ui.js";
import { ask } from "./dom.js";

/** @typedef {import("./session_words.js").Turn} Turn */
/** @typedef {import("./session_words.js").Share} Share */
/**
 * @typedef {{ problem?: string, from?: number, messages?: import("./session_content.js").Message[],
 *   tools?: Record<string, string>, composition?: Share[], changes?: import("./session_words.js").Changes,
 *   answers: { target: string, problem?: string, output?: any, error?: { code: string, message: string } }[] }} Content
 */

/** The contents that were asked for, which do not change. A few at a time: each may be large. @type {Map<string, Promise<Content>>} */
const contents = new Map();
const MOST_CONTENTS = 200;

/** @param {Turn} turn @param {Turn | undefined} before @returns {Promise<Content>} */
function contentOf({ id }, before) {
  const path = `session/turn?id=${encodeURIComponent(id)}&before=${encodeURIComponent(before?.id ?? "")}`;
  const known = contents.get(path) ?? ask(path);
  contents.delete(path);
  contents.set(path, known);
  known.catch(() => contents.delete(path));
  const [oldest] = contents.keys();
  if (contents.size > MOST_CONTENTS && oldest) contents.delete(oldest);
  return known;
}

/**
 * The content of a turn, once it is wanted.
 * @param {Turn | undefined} turn
 * @param {Turn | undefined} before
 * @param {boolean} isWanted
 * @returns {Content | undefined}
 */
export function useContent(turn, before, isWanted) {
  const [content, setContent] = useState(/** @type {Content | undefined} */ (undefined));
  useEffect(() => {
    if (!isWanted || !turn?.isRecorded) return;
    let isGone = false;
    contentOf(turn, before?.isRecorded ? before : undefined).then(
      (found) => !isGone && setContent(found),
      (error) => !isGone && setContent({ problem: error.message, answers: [] }),
    );
    return () => void (isGone = true);
  }, [turn?.id, before?.id, isWanted]);
  return content;
}
