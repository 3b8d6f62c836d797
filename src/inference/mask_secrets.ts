/** Hides secrets in everything of an answer but the model's own words: a server in between may have put one there. */
import { weighText } from "../canonical/estimate.ts";
import type { JsonObject } from "../canonical/json.ts";
import type { Hide } from "../context/secrets.ts";
import { FACT } from "./facts.ts";
import type { Stage } from "./inference.ts";

/** The positions of the model's own words, as a tree of keys. Lists add no level. */
interface Words {
  readonly [key: string]: Words;
}

/** Text here is the model's own. Objects and lists are searched. */
const WORDS: Words = {};
/** Sound is left unchanged as well. Its length says nothing about its tokens, so it is not weighed. */
const SOUND: Words = {};
const PART: Words = { text: WORDS, input: WORDS };
const SEGMENT: Words = { text: WORDS };
const TRANSCRIPT: Words = { text: WORDS, segments: SEGMENT, words: { word: WORDS } };
/** The content of a message in the chat wire, whose answers are relayed unchanged: a text or a list of parts. */
const CONTENT: Words = { text: WORDS, refusal: WORDS };
const CALL: Words = { function: { arguments: WORDS }, custom: { input: WORDS } };
const MESSAGE: Words = {
  content: CONTENT,
  refusal: WORDS,
  reasoning: WORDS,
  reasoning_content: WORDS,
  tool_calls: CALL,
  function_call: { arguments: WORDS },
  audio: { data: SOUND, transcript: WORDS },
};
const RELAYED: Words = { choices: { message: MESSAGE, delta: MESSAGE, text: WORDS } };

/** The tokens of a completion are its words in pieces. */
const LOGPROBS: Words = { tokens: WORDS };
const COMPLETION: Words = { text: WORDS, logprobs: LOGPROBS };

/** The words of all kinds of answers and of their events. One tree is enough, because no key has two meanings. */
const ANSWER: Words = {
  ...TRANSCRIPT,
  content: PART,
  part: PART,
  delta: SEGMENT,
  segment: SEGMENT,
  transcript: TRANSCRIPT,
  body: RELAYED,
  choices: COMPLETION,
  logprobs: LOGPROBS,
};

/** Hides the secrets of the gateway and of the caller in answers. */
export const SECRETS: Stage = {
  name: "secrets",
  operations: ["generate", "relay", "complete", "decide", "embed", "rerank", "speak", "transcribe", "draw"],
  needs: FACT.secrets,
  answer: ({ context: { hide } }) => ({ change: (value) => hideIn(value, ANSWER, hide) as typeof value }),
};

/** Hides secrets in a value without any of the model's words, such as a list of models. */
export function maskValue<T>(value: T, hide: Hide): T {
  return hideIn(value, undefined, hide) as T;
}

/** Estimates the tokens of the model's own words in a relayed answer or in one of its frames. */
export function weighRelayed(body: JsonObject): number {
  return weighIn(body, RELAYED);
}

function weighIn(value: unknown, words: Words | undefined): number {
  if (!words) return 0;
  if (typeof value === "string") return words === WORDS || words === CONTENT ? weighText(value) : 0;
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + weighIn(one, words), 0);
  if (!isPlain(value)) return 0;
  return Object.entries(value).reduce((sum, [key, one]) => sum + weighIn(one, wordsAt(words, key)), 0);
}

function hideIn(value: unknown, words: Words | undefined, hide: Hide): unknown {
  if (typeof value === "string") return words === WORDS || words === CONTENT || words === SOUND ? value : hide(value);
  if (Array.isArray(value)) return hideInList(value, words, hide);
  return isPlain(value) ? hideInObject(value, words, hide) : value;
}

function hideInList(list: readonly unknown[], words: Words | undefined, hide: Hide): readonly unknown[] {
  // A vector is skipped: it may have millions of numbers.
  if (typeof list[0] === "number") return list;
  let changed: unknown[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const value = list[index];
    const masked = hideIn(value, words, hide);
    if (masked !== value) (changed ??= [...list])[index] = masked;
  }
  return changed ?? list;
}

function hideInObject(object: Record<string, unknown>, words: Words | undefined, hide: Hide): Record<string, unknown> {
  // The copy is made only once there is something to hide, which is rare.
  let masked: [string, unknown][] | undefined;
  const keys = Object.keys(object);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index]!;
    const value = object[key];
    const safeKey = hide(key);
    const safe = hideIn(value, wordsAt(words, key), hide);
    if (!masked && safeKey === key && safe === value) continue;
    masked ??= Object.entries(object).slice(0, index);
    masked.push([safeKey, safe]);
  }
  return masked ? Object.fromEntries(masked) : object;
}

function wordsAt(words: Words | undefined, key: string): Words | undefined {
  return words && Object.hasOwn(words, key) ? words[key] : undefined;
}

/** A plain object. Bytes, streams, errors and raw numbers are not plain. */
function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
