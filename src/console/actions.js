// @ts-check
/// <reference lib="dom" />
/** Things that a person has a page do. */
import { toast } from "./design/overlays.js";
import { loading, LoginNeeded } from "./dom.js";
import { html, useEffect, useState } from "./ui.js";

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

/**
 * A component whose code is loaded when it is first shown. Until then there is nothing.
 * @param {() => Promise<(props: any) => any>} load
 */
export function later(load) {
  /** @type {((props: any) => any) | undefined} */
  let View;
  return function Later(/** @type {any} */ props) {
    const [, setLoaded] = useState(View !== undefined);
    useEffect(() => {
      if (!View) void attempt(async () => setLoaded(Boolean(View = await loading(load))));
    }, []);
    return View && html`<${View} ...${props} />`;
  };
}
