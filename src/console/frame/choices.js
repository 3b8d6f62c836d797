// @ts-check
/// <reference lib="dom" />
/** A person's choices for all pages, which `theme.js` sets again when the console is next opened. */
import { signal } from "../ui.js";

const root = document.documentElement;

/** "light", "dark", or "system". */
export const theme = signal(root.dataset.theme ?? "system");

/** @type {(name: string, value: string) => void} */
export function keep(name, value) {
  try {
    localStorage.setItem(`laneway.${name}`, value);
  } catch {
    // It holds until the page is left.
  }
}

/** @param {string} value */
export function setTheme(value) {
  theme.value = value;
  if (value === "system") delete root.dataset.theme;
  else root.dataset.theme = value;
  keep("theme", value);
}
