/** JSON inside a text: its strings are read without their escapes. */
import { findStringEnd } from "../../src/canonical/json_limits.ts";
import type { SlicedWork } from "../../src/util/sliced_work.ts";

/** A string in a JSON text. */
export interface Literal {
  /** The positions of its quotation marks. */
  start: number;
  end: number;
  value: string;
  /** The name of the field whose value it is, or the flag before it in a list of arguments. */
  name?: string;
}

/** The characters between the strings of a JSON text. Prose has other letters. */
const BETWEEN = /^[\s[\]{},:\d.eE+\-truefalsn]*$/;
const FLAG = /^--?[A-Za-z][\w-]{0,64}$/;
const LITERALS_A_SLICE = 1_000;

/** The strings of the text if it is a JSON object or list. */
export function* literalsOf(text: string): SlicedWork<Literal[] | undefined> {
  if (!/^\s{0,64}[{[]/.test(text) || !/[}\]]\s{0,64}$/.test(text)) return undefined;
  const literals: Literal[] = [];
  let read = 0;
  let name: string | undefined;
  for (let start = text.indexOf('"'); start >= 0; start = text.indexOf('"', read)) {
    const between = text.slice(read, start);
    if (!BETWEEN.test(between)) return undefined;
    const end = findStringEnd(text, start) + 1;
    if (end <= start || end > text.length) return undefined;
    const value = valueOf(text.slice(start, end));
    if (value === undefined) return undefined;
    const isName = /^\s*:/.test(text.slice(end, end + 64));
    literals.push({ start, end, value, ...(name !== undefined && isValueOf(name, isName, between) && { name }) });
    name = isName || FLAG.test(value) ? value : undefined;
    read = end;
    if (literals.length % LITERALS_A_SLICE === 0) yield;
  }
  return BETWEEN.test(text.slice(read)) ? literals : undefined;
}

/** Whether a string is the value of the name before it. `between`: the text between the two. */
function isValueOf(name: string, isName: boolean, between: string): boolean {
  return name.startsWith("-") ? !isName : /:\s*$/.test(between.slice(-64));
}

function valueOf(literal: string): string | undefined {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return undefined;
  }
}
