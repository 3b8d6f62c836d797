/** Reads the words of a refusal, without what they quote from the request. */
import { isJsonObject, type JsonValue } from "../canonical/json.ts";

/** So many characters in a row are no coincidence. */
const QUOTED = 24;
const STRIDE = 8;

/** The words without what they quote of the request's texts, in whatever way they escape it. */
export function withoutQuotations(escaped: string, texts: readonly string[]): string {
  const words = unescaped(escaped);
  const starts = new Map<string, number[]>();
  for (let at = 0; at + STRIDE <= words.length; at += STRIDE) {
    const piece = words.slice(at, at + STRIDE);
    (starts.get(piece) ?? starts.set(piece, []).get(piece)!).push(at);
  }
  const isQuoted = new Uint8Array(words.length);
  for (const text of texts.map(unescaped)) {
    if (text.length < QUOTED) markWhole(words, text, isQuoted);
    else markPieces(words, text, starts, isQuoted);
  }
  return words.replace(/[^]/g, (character, at) => isQuoted[at] ? " " : character);
}

/** A reply's body without what it quotes of the request. All of it is looked through at once, because a conversation is long. */
export function unquoted<T extends JsonValue | Uint8Array | undefined>(body: T, texts: readonly string[]): T {
  const said: string[] = [];
  let left = LONGEST;
  mapTexts(body, (text) => {
    said.push(text.slice(0, Math.max(0, left)));
    left -= text.length;
    return text;
  });
  const kept = withoutQuotations(said.join(SEAM), texts).split(SEAM);
  return kept.length === said.length ? mapTexts(body, () => kept.shift()!) as T : body;
}

/** Some servers repeat the whole request. */
const LONGEST = 32_768;
const SEAM = "\0";

function mapTexts(value: JsonValue | Uint8Array | undefined, change: (text: string) => string): typeof value {
  if (typeof value === "string") return change(value);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change) as JsonValue);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, mapTexts(inner, change) as JsonValue]),
  );
}

const ENTITIES: Readonly<Record<string, string>> = { quot: '"', amp: "&", lt: "<", gt: ">", apos: "'", "#39": "'" };

/** A text without what JSON, Python, HTML and logs change of it. */
function unescaped(text: string): string {
  return text.replace(/\\+u([0-9a-f]{4})/gi, (_, digits) => String.fromCharCode(parseInt(digits, 16)))
    .replace(/&(quot|amp|lt|gt|apos|#39);/g, (_, name) => ENTITIES[name]!)
    .replace(/\\+[nrt]?/g, (found) => /[nrt]$/.test(found) ? " " : "")
    .replace(/\s+/g, " ");
}

/** A shorter text is a quotation only as a whole, and hardly one if it is a word. */
const SHORTEST = 4;

function markWhole(words: string, text: string, isQuoted: Uint8Array): void {
  if (text.length < SHORTEST) return;
  for (let at = words.indexOf(text); at >= 0; at = words.indexOf(text, at + text.length)) {
    isQuoted.fill(1, at, at + text.length);
  }
}

/** Marks what the words have of a long text, found by pieces that begin at multiples of `STRIDE` in the words. */
function markPieces(
  words: string,
  text: string,
  starts: ReadonlyMap<string, readonly number[]>,
  isQuoted: Uint8Array,
): void {
  for (let at = 0; at + STRIDE <= text.length; at++) {
    for (const start of starts.get(text.slice(at, at + STRIDE)) ?? []) {
      if (isQuoted[start] && isQuoted[start + STRIDE - 1]) continue;
      const [from, to] = alikeAround(words, start, text, at);
      if (to - from >= QUOTED) isQuoted.fill(1, start + from, start + to);
    }
  }
}

/** How far two texts are alike before and after these places. */
function alikeAround(words: string, start: number, text: string, at: number): [from: number, to: number] {
  let [from, to] = [0, STRIDE];
  while (start + from > 0 && at + from > 0 && words[start + from - 1] === text[at + from - 1]) from--;
  while (start + to < words.length && at + to < text.length && words[start + to] === text[at + to]) to++;
  return [from, to];
}

const MOST_VALUES = 20_000;

/** The texts in a value that are more than a word. */
export function textsIn(value: JsonValue): string[] {
  const texts: string[] = [];
  let left = MOST_VALUES;
  const visit = (one: JsonValue | undefined): void => {
    if (left-- <= 0) return;
    if (typeof one === "string") { if (/[\s\u0080-\uffff]/.test(one)) texts.push(one); }
    else if (Array.isArray(one)) { for (const item of one) visit(item); }
    else if (isJsonObject(one)) { for (const name of Object.keys(one)) visit(one[name]); }
  };
  visit(value);
  return texts;
}

/** All that a host wrote in a body of any shape. */
export function wordsIn(body: JsonValue | Uint8Array | undefined, longest: number): string {
  if (body === undefined || body instanceof Uint8Array) return "";
  if (typeof body === "string") return unlabelled(body.slice(0, longest).replace(TAG, " | ").replaceAll('\\"', '"'));
  const words: string[] = [];
  let left = longest;
  const visit = (value: JsonValue | undefined, name: string, depth: number): void => {
    if (left <= 0 || depth > DEEPEST) return;
    if (typeof value === "string") {
      const said = value.slice(0, left);
      left -= said.length;
      words.push(phraseOf(name, said));
    } else if (Array.isArray(value)) {
      if (name === "loc") words.push(placeOf(value));
      else for (const item of value.slice(0, MOST_ITEMS)) visit(item, name, depth + 1);
    } else if (isJsonObject(value)) {
      for (const key of Object.keys(value).slice(0, MOST_ITEMS)) {
        if (!UNSAID.has(key)) visit(value[key], key, depth + 1);
      }
    }
  };
  visit(body, "", 0);
  return unlabelled(words.join(" | "));
}

function unlabelled(text: string): string {
  return text.replace(PRINTED, "");
}

/** A tag of a page. */
const TAG = /<\/?(?:!doctype|html|head|title|body|h\d|p|br|hr|div|pre|span|center)\b[^<>]{0,200}>/gi;

const DEEPEST = 8;
const MOST_ITEMS = 100;
/** Fields of errors that hold codes, or repeat what was sent. */
const UNSAID = new Set(["input", "type", "request_id", "code"]);

/** A name in a field of its own is written as one. So is the field that a sentence belongs to, if errors have no field of that name. */
function phraseOf(name: string, said: string): string {
  if (/^[\w.[\]]+$/.test(said)) return `'${said}'`;
  return `${name === "" || LABELS.test(name) ? "" : `'${name}': `}${said.replaceAll('\\"', '"')}`;
}

/** The fields that errors have. */
const LABELS =
  /^(?:\w*(?:error|message|msg|detail|description|reason|status|string|code)s?|type|title|name|param|field|path|loc|ctx|raw|input|url|id|object|instance|metadata|provider\w*|content|text|data|body|user|role|tools?|headers?)$/i;
/** The fields of errors that a server printed into a text. */
const PRINTED =
  /(?<=[{,]\s*)(["'])(?:type|msg|input|ctx|url|message|code|param|error|detail|name|object|status)\1(?=\s*:)/g;

function placeOf(steps: readonly JsonValue[]): string {
  return `loc: [${steps.slice(0, 20).map((step) => JSON.stringify(step)).join(", ")}]`;
}
