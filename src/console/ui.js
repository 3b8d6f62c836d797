// @ts-check
/** The tools that draw the pages: Preact, its signals, and templates in place of JSX, which would need a build. */
import { Fragment, h, render } from "preact";
import htm from "htm";
import { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import {
  useCallback,
  useEffect,
  useErrorBoundary,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "preact/hooks";

/** @typedef {import("preact").ComponentChildren} Children */

/**
 * Markup with values. Values become text or attributes, never markup.
 * @type {(strings: TemplateStringsArray, ...values: unknown[]) => any}
 */
export const html = /** @type {any} */ (htm).bind(h);

export {
  batch,
  computed,
  effect,
  Fragment,
  h,
  render,
  signal,
  useCallback,
  useComputed,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useSignal,
  useSignalEffect,
  useState,
};

/**
 * A place for an element that is made without Preact, once.
 * @param {{ make(): Element }} props
 */
export function Host({ make }) {
  const place = useRef(/** @type {any} */ (null));
  useLayoutEffect(() => place.current.replaceChildren(make()), []);
  return h("div", { class: "host", ref: place });
}

/** A page as a whole. A fault in it leaves its reader with a sentence and not with nothing. @param {{ children: Children }} props */
function Whole({ children }) {
  const [error, reset] = useErrorBoundary();
  if (!error) return children;
  return html`
    <h1>This page cannot be shown</h1>
    <p class="error" role="alert">${error.message}</p>
    <p><button type="button" onClick=${reset}>Try again</button></p>
  `;
}

/**
 * A page that is drawn by Preact, in the form in which the frame opens pages.
 * @param {{ title: string, everyMs: number, open(): { view: unknown, refresh(): Promise<void>, close?(): void } }} page
 */
export function screen({ title, everyMs, open }) {
  return {
    title,
    /** @param {HTMLElement} main */
    open(main) {
      const { view, refresh, close } = open();
      render(html`<${Whole}>${view}<//>`, main);
      return {
        everyMs,
        refresh,
        close() {
          render(null, main);
          close?.();
        },
      };
    },
  };
}
