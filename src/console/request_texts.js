// @ts-check
/** A request as a command for a shell and as programs. It is loaded when somebody wants to see them. */
import { curlOf } from "./curl.js";
import { ask } from "./dom.js";
import { programOf } from "./request_code.js";

/** @type {Promise<{ data: import("./request_code.js").Library[] }> | undefined} */
let libraries;

/**
 * The request in each language.
 * @param {import("./request_code.js").Request} request
 * @param {{ variable: string, isOwnKey: boolean }} key
 * @returns {Promise<{ [language: string]: string }>}
 */
export async function textsOf(request, key) {
  libraries ??= ask("libraries");
  libraries.catch(() => libraries = undefined);
  const options = { ...key, libraries: (await libraries).data };
  return {
    curl: curlOf(request, key.variable),
    python: programOf("python", request, options),
    typescript: programOf("typescript", request, options),
  };
}
