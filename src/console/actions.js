// @ts-check
/// <reference lib="dom" />
/** Things that a person has a page do. */
import { toast } from "./design/overlays.js";
import { LoginNeeded } from "./dom.js";

/**
 * Does it, and says what went wrong. A session that has ended leads to the form that begins one.
 * @param {() => Promise<unknown>} work
 * @returns {Promise<boolean>} whether it was done
 */
export async function attempt(work) {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof LoginNeeded) dispatchEvent(new HashChangeEvent("hashchange"));
    else toast(/** @type {Error} */ (error).message, "bad");
    return false;
  }
}
