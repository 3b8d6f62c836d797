// @ts-check
/// <reference lib="dom" />
/** The address of Inspect: the filter of its list, or a request, the view of it, and another request that it is compared with. */

/** @typedef {"answer" | "steps" | "compare"} View */
/** @typedef {{ filter: string, id?: undefined } | { id: string, view: View, other?: string, filter?: undefined }} Address */

/** @type {readonly View[]} */
const VIEWS = ["answer", "steps", "compare"];
const FILTER = "filter=";

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return ""; // somebody wrote it by hand
  }
}

/** @param {string} hash @returns {Address} */
export function readAddress(hash) {
  const query = hash.split("?").slice(1).join("?");
  if (query === "" || query.startsWith(FILTER)) return { filter: decoded(query.slice(FILTER.length)) };
  const [id = "", view, other] = query.split("&").map(decoded);
  if (id === "") return { filter: "" };
  return { id, view: VIEWS.find((one) => one === view) ?? "answer", ...other && { other } };
}

/** @param {Address} address */
export function addressOf(address) {
  if (address.id === undefined) {
    return address.filter ? `#inspect?${FILTER}${encodeURIComponent(address.filter)}` : "#inspect";
  }
  const { id, view, other } = address;
  const parts = [id, ...view !== "answer" || other ? [view] : [], ...other ? [other] : []];
  return `#inspect?${parts.map(encodeURIComponent).join("&")}`;
}

/** Shows the address without opening the page anew. @param {Address} address */
export function keepAddress(address) {
  history.replaceState(null, "", addressOf(address));
}
