// @ts-check
/// <reference lib="dom" />
/** The whole of a recorded body. Pages get only the beginning of a long one at first. */
import { send } from "./dom.js";

/**
 * @param {string} id
 * @param {string} part
 * @param {import("./request_code.js").RecordedBody} body
 */
export async function wholeBody(id, part, body) {
  if (!body.isShortened) return body;
  const response = await send(`api/record/text?id=${encodeURIComponent(id)}&part=${encodeURIComponent(part)}`, {});
  return response.ok ? { ...body, text: await response.text(), isShortened: undefined } : body;
}
