// @ts-check
/// <reference lib="dom" />
/** Pictures and files that go with a message. */
import { offered } from "./settings.js";

/** @typedef {import("./conversation.js").Part} Part */

/** The kinds of files that models read as they are. */
export const AS_FILES = /^(image\/(png|jpeg|gif|webp)|application\/pdf|audio\/(wav|x-wav|mpeg|mp3))$/;
/** Other files are read as text, up to this many bytes. */
const LONGEST_TEXT = 200_000;
/** The room that the rest of a request takes, in bytes. */
const REST = 65_536;

/** How many bytes all files of a conversation may have: they are a third longer in a request. */
export function mostBytes() {
  return Math.max(0, Math.floor((offered.value.limitBytes - REST) * 0.75));
}

/** @param {readonly Part[]} parts */
export function bytesIn(parts) {
  return parts.reduce((sum, { source, text }) => sum + (source?.data?.length ?? 0) * 0.75 + (text?.length ?? 0), 0);
}

/**
 * The files as parts of a message. Throws an error for people.
 * @param {Iterable<File>} files
 * @param {number} taken the bytes that others take
 * @returns {Promise<Part[]>}
 */
export async function partsOf(files, taken) {
  const parts = [];
  let bytes = taken;
  for (const file of files) {
    bytes += file.size;
    if (bytes > mostBytes()) {
      throw new TypeError(`"${file.name}" is too large: all files together may have ${inMegabytes(mostBytes())}`);
    }
    parts.push(AS_FILES.test(file.type) ? await asFile(file) : await asText(file));
  }
  return parts;
}

/** @param {number} bytes */
export function inMegabytes(bytes) {
  return bytes === Infinity ? "any size" : `${(bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0)} MB`;
}

/** @param {File} file */
async function asFile(file) {
  const address = await addressOf(file);
  const source = { type: "base64", data: address.slice(address.indexOf(",") + 1) };
  return { type: "file", mediaType: file.type, source, name: file.name };
}

/** @param {File} file */
async function asText(file) {
  const refusal = new TypeError(
    `"${file.name}" cannot be sent: models read pictures, PDF files, sounds and texts up to ${LONGEST_TEXT / 1_000} kB`,
  );
  if (file.size > LONGEST_TEXT) throw refusal;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    if (text.includes("\0")) throw refusal;
    return { type: "text", text: `File ${file.name}:\n\n${text}` };
  } catch {
    throw refusal;
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
