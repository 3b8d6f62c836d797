// @ts-check
/** A request as a line for a shell. Secrets, which were never recorded, are variables in it. */

/** Headers that curl writes itself, or that belong to a browser. */
const OWN = /^(host|connection|content-length|transfer-encoding|accept-encoding|expect|cookie|origin|referer|sec-.*)$/i;

/**
 * @param {{ method: string, url: string, headers: readonly (readonly [string, string])[], body: { text?: string,
 *   bytes: number, kept: number, isDescription?: boolean, isShortened?: boolean } }} request
 * @param {string} variable what holds the key
 */
export function curlOf({ method, url, headers, body }, variable) {
  const lines = [`curl -X ${quoted(method)} ${quoted(url)}`];
  for (const [name, value] of headers) {
    if (!OWN.test(name)) lines.push(`-H ${withVariable(`${name}: ${value}`, variable)}`);
  }
  const isWhole = body.kept === body.bytes && !body.isDescription && !body.isShortened;
  if (body.bytes > 0 && isWhole) lines.push(`--data-raw ${quoted(body.text ?? "")}`);
  const rest = body.bytes === 0 || isWhole
    ? ""
    : "\n# The body is left out: it is a form, or only a part of it was kept or shown";
  return lines.join(" \\\n  ") + rest;
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
