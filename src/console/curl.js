// @ts-check
/** A request as a line for a shell. Secrets, which were never recorded, are variables in it. */

/** Headers that curl writes itself, or that belong to a browser. */
const OWN = /^(host|connection|content-length|transfer-encoding|accept-encoding|expect|cookie|origin|referer|sec-.*)$/i;

/** Systems allow a word of a command about twice as many bytes, and a character takes up to three. */
const LONGEST_WORD = 40_000;

/**
 * @param {{ method: string, url: string, headers: readonly (readonly [string, string])[], body: { text?: string,
 *   bytes: number, kept: number, isDescription?: boolean, isShortened?: boolean }, isStream?: boolean }} request
 * @param {string} variable what holds the key
 */
export function curlOf({ method, url, headers, body, isStream = false }, variable) {
  const lines = [`curl ${isStream ? "-N " : ""}-X ${quoted(method)} ${quoted(url)}`];
  for (const [name, value] of headers) {
    if (!OWN.test(name)) lines.push(`-H ${withVariable(`${name}: ${value}`, variable)}`);
  }
  const { text = "" } = body;
  const isWhole = body.kept === body.bytes && !body.isDescription && !body.isShortened;
  if (body.bytes > 0 && isWhole && text.length > LONGEST_WORD) {
    return `${lines.join(" \\\n  ")} \\\n  ${fromHere(text)}`;
  }
  if (body.bytes > 0 && isWhole) lines.push(`--data-raw ${quoted(text)}`);
  const rest = body.bytes === 0 || isWhole
    ? ""
    : "\n# The body is left out: it is a form, or only a part of it was kept or shown";
  return lines.join(" \\\n  ") + rest;
}

/** The body from the lines below. The end of the last one is no part of JSON. @param {string} text */
function fromHere(text) {
  let mark = "BODY";
  while (text.includes(mark)) mark += "_";
  return `--data-binary @- <<'${mark}'\n${text}\n${mark}`;
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * @param {string} text
 * @param {string} variable
 */
function withVariable(text, variable) {
  return text.split("***").map(quoted).join(`"$${variable}"`);
}
