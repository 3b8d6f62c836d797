/**
 * Reads a refusal by what was sent: which fields, keywords and bounds of the body its words name, in whatever spelling.
 * What the words quote from the request's own texts names nothing.
 */
import type { JsonObject } from "../canonical/json.ts";
import type { BodyLayout, FormName } from "../contract/body_layout.ts";
import { eachField } from "./paths.ts";
import { isOptional, type Relaxation } from "./relaxation.ts";
import { keywordsIn } from "./schemas.ts";
import { textsIn, withoutQuotations } from "./words.ts";

export interface Refusal {
  /** All that the host wrote. */
  text: string;
  /** The estimated tokens of the conversation. */
  estimate: number;
}

export interface Evidence {
  /** Each list is given up at once, the lists one after the other, those with the least loss first. */
  lists: Relaxation[][];
  /** Whether something else than what the lists have may be the reason. */
  isOpen: boolean;
}

/** The names and values of a body that a refusal may have. */
interface Sent {
  /** The paths of fields, by their names. */
  fields: Map<string, Set<string>>;
  /** The paths of fields, by their values, if those are words. */
  words: Map<string, Set<string>>;
  numbers: Map<string, number>;
  keywords: Set<string>;
}

function sentIn(body: JsonObject, layout: BodyLayout): Sent {
  const sent: Sent = { fields: new Map(), words: new Map(), numbers: new Map(), keywords: new Set() };
  const add = (places: Map<string, Set<string>>, name: string, path: string) =>
    (places.get(name) ?? places.set(name, new Set()).get(name)!).add(path);
  eachField(body, layout, (path, name, value) => {
    add(sent.fields, name, path);
    if (typeof value === "number") sent.numbers.set(path, value);
    if (typeof value === "string" && WORD.test(value)) add(sent.words, value, path);
    if (layout.schemas.has(path)) { for (const keyword of keywordsIn(value)) sent.keywords.add(keyword); }
  });
  return sent;
}

const WORD = /^[a-z]\w{1,30}$/i;

/** The relaxations that a refusal calls for. */
export function readEvidence({ text: all, estimate }: Refusal, body: JsonObject, layout: BodyLayout): Evidence {
  const sent = sentIn(body, layout);
  const text = withoutQuotations(all, textsIn(body));
  const { forms, isMissing, isFinal } = layout.ideas(text);
  if (isFinal) return { lists: [], isOpen: false };
  const { strong, weak } = mentionsIn(text);
  const named = (mentions: readonly string[][]) => new Set(mentions.flatMap((steps) => pathsOf(steps, sent, layout)));
  const paths = named(strong);
  const bounded = [...new Set([...paths, ...named(weak), ...limitsNamed(strong, layout, sent)])].flatMap((path) => {
    const value = sent.numbers.get(path);
    return value === undefined ? [] : clampsFor(text, path, value, layout, estimate);
  });
  // Keywords are words, too: a maximum may be that of a field.
  const words = new Set([...strong, ...bounded.length > 0 ? [] : weak].flat());
  const keywords = [...sent.keywords].filter((keyword) => words.has(keyword) && !CORE.has(keyword));
  const isAboutValue = strong.some((steps) =>
    VALUES.has(steps.at(-1)!) && steps.some((step) => schemaNames(layout).has(step))
  );
  const alternatives = (names: readonly FormName[]) =>
    names.filter((name) => !isAboutValue || name !== "schemas empty").map((does) => inForm(does, sent, layout));
  const isRefused = ([word]: readonly string[]) => NEAR.test(around(text, word!));
  const valued = strong.filter((steps) => steps.length === 1 && isRefused(steps))
    .flatMap(([word]) => [...sent.words.get(word!) ?? []]);
  const lists: Relaxation[][] = [
    ...bounded,
    isMissing ? filledFor(strong, layout) : [],
    // One keyword is less than any other form of the schemas.
    omitKeywords(keywords.filter((keyword) => strong.some((steps) => steps.includes(keyword)))),
    ...alternatives(forms),
    [...omitted(paths, layout), ...omitKeywords(keywords)],
    ...alternatives(insteadOf(paths, layout)),
    omitted(valued, layout),
    ...alternatives(insteadOf(valued, layout)),
    omitted(named(weak.filter(isRefused)), layout),
  ].filter((list) => list.length > 0);
  // The words may be of any language. To leave out one field that they name loses less than the plainest form.
  if (lists.length === 0) lists.push(...omitted(named(weak), layout).map((one) => [one]));
  // A field that is needed, and that the host does not know as a whole, is reason enough.
  const isNeeded = [...paths].some((path) => !isOptional(path, layout) && UNKNOWN.test(around(text, path)));
  return { lists, isOpen: !isNeeded && !isAboutValue };
}

function omitted(paths: Iterable<string>, layout: BodyLayout): Relaxation[] {
  // The kind of an object is left out with all of it.
  const outer = [...paths].map((path) => path.replace(/(?<!\[\])\.type$/, ""));
  return [...new Set(outer)].filter((path) => isOptional(path, layout)).map((path) => ({ does: "omit", path }));
}

function omitKeywords(keywords: readonly string[]): Relaxation[] {
  return keywords.map((keyword) => ({ does: "omit keyword", keyword }));
}

function filledFor(mentions: readonly string[][], { fillable }: BodyLayout): Relaxation[] {
  const named = (path: string) => mentions.some((steps) => steps.includes(path.slice(path.lastIndexOf(".") + 1)));
  return Object.keys(fillable).filter(named).map((path) => ({ does: "fill", path }));
}

function insteadOf(paths: Iterable<string>, { instead }: BodyLayout): FormName[] {
  return [...paths].flatMap((path) => Object.hasOwn(instead, path) ? instead[path]! : []);
}

/** A part that is joined with others has nothing but its text. */
function inForm(does: FormName, { fields }: Sent, layout: BodyLayout): Relaxation[] {
  if (does !== "texts joined") return [{ does }];
  const parts = [`${layout.turns}[].content[].`, ...layout.instructions ? [`${layout.instructions}[].`] : []];
  return [...omitted(directlyIn(parts, fields), layout), { does }];
}

function directlyIn(places: readonly string[], fields: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const names = (path: string) =>
    places.some((place) => path.startsWith(place) && !/[.[]/.test(path.slice(place.length)));
  return [...fields.values()].flatMap((paths) => [...paths].filter(names));
}

/** Keywords without which a schema describes nothing. */
const CORE = new Set(["type", "properties", "items", "required", "description", "enum", "title"]);

/** A complaint of a value that a schema lists is no reason to do without the schema. */
const VALUES = new Set(["enum", "const", "default"]);

function schemaNames({ schemas }: BodyLayout): Set<string> {
  return new Set([...schemas].map((path) => path.slice(path.lastIndexOf(".") + 1)));
}

/** Words of a refusal beside the name of a field. */
const NEAR =
  /support|permit|allow|recogni[sz]|unknown|unexpected|invalid|illegal|extra|forbid|reject|refus|accept|implement|not? valid|unrecogn|remove|disabled?|\bone of\b|expected|must be|should be|不支持|非法|无效|错误/i;

const UNKNOWN = /not (?:currently |yet )?(?:support|permit|allow|availab)|unsupported|unknown|unrecogni[sz]ed/i;

function around(text: string, word: string): string {
  const at = text.search(new RegExp(`(?<![\\w$])${word.replace(/[$.[\]]/g, "\\$&")}(?![\\w$])`));
  return at < 0 ? "" : text.slice(Math.max(0, at - 60), at + word.length + 60);
}

interface Mentions {
  /** Names that are written as names: quoted, with underscores, or as paths. */
  strong: string[][];
  weak: string[][];
}

const PLACE = /["']?\bloc["']?\s*[:=]\s*[[(]([^\])]{0,300})[\])]/g;
const NAME = /(?<![\w$])[A-Za-z_$][\w$]*(?:(?:\[\d*\]|\.|::|\/|\s*->\s*)+[\w$]+|\[\d*\])*/g;
const MOST_MENTIONS = 500;

function mentionsIn(text: string): Mentions {
  const strong: string[][] = [];
  const weak: string[][] = [];
  for (const [, inner = ""] of text.matchAll(PLACE)) {
    strong.push(inner.split(",").map((step) => step.trim().replace(/^["']|["']$/g, "")));
  }
  let left = MOST_MENTIONS;
  for (const { 0: found, index } of text.matchAll(NAME)) {
    if (left-- <= 0) break;
    const steps = found.split(/[^\w$]+/).filter((step) => step !== "" && !/^\d+$/.test(step));
    if (steps.length === 0) continue;
    const [before, after] = [text[index - 1] ?? "", text.slice(index + found.length, index + found.length + 2)];
    const isMarked = /["'`‘“]/.test(before) || /^["'`’”:=]/.test(after) || steps.length > 1 ||
      /[_$]|[a-z][A-Z]|\[/.test(found);
    (isMarked ? strong : weak).push(steps);
  }
  return { strong, weak };
}

/** The paths of the last name that is a field: those that share the most names with the others of the mention. */
function pathsOf(mentioned: readonly string[], { fields }: Sent, layout: BodyLayout): string[] {
  // The names of properties are the client's own.
  const inner = mentioned.indexOf("properties");
  const outer = mentioned.findIndex((step) => schemaNames(layout).has(step));
  const steps = inner < 0 ? mentioned : mentioned.slice(0, outer < 0 ? 0 : Math.min(inner, outer + 1));
  const at = steps.findLastIndex((step) => fields.has(step));
  if (at < 0) return [];
  const around = new Set(steps.slice(0, at));
  const scored = [...fields.get(steps[at]!)!].map((path) => ({
    path,
    score: path.split(/\.|\[\]\.?/).slice(0, -1).filter((step) => around.has(step)).length,
    depth: path.length,
  }));
  const most = Math.max(...scored.map(({ score }) => score));
  const best = scored.filter(({ score }) => score === most);
  // A name alone means the outermost field of this name.
  if (most > 0) return best.map(({ path }) => path);
  const depth = Math.min(...best.map(({ depth }) => depth));
  return best.filter((one) => one.depth === depth).map(({ path }) => path);
}

/** A limit goes by several names. The host may know it by another one than was sent. */
function limitsNamed(
  mentions: readonly string[][],
  { limits }: BodyLayout,
  { fields }: Sent,
): string[] {
  const isNamed = mentions.some((steps) => steps.some((step) => limits.includes(step)));
  return isNamed ? limits.filter((name) => fields.has(name)) : [];
}

const NUMBER = String.raw`\D{0,60}?(-?\d+(?:\.\d+)?)`;
const RANGES = [
  /[[(]\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*[\])]/,
  /(-?\d+(?:\.\d+)?)\s*\.\.\.?=?\s*(-?\d+(?:\.\d+)?)/,
  /(?:between|range|from)\b\D{0,30}?(-?\d+(?:\.\d+)?)\W{0,3}\s*(?:and|to|-|–|~)\s*\W{0,3}(-?\d+(?:\.\d+)?)/i,
  /(-?\d+(?:\.\d+)?)\s*(?:到|至|~|～)\s*(-?\d+(?:\.\d+)?)/,
];
const MOST = [
  new RegExp(`(?:less|lower|smaller|fewer) than or equal(?: to)?${NUMBER}`, "gi"),
  new RegExp(
    `(?:<=|≤|at most|no more than|up to|not exceed|cannot exceed|exceeds?|greater than(?! or equal)|larger than|higher than|more than|above)${NUMBER}`,
    "gi",
  ),
  new RegExp(`(?<![-=])>(?!=)${NUMBER}`, "g"),
  new RegExp(`\\bmax(?:imum|imal)?\\b${NUMBER}`, "gi"),
  new RegExp(`(?:不能超过|不超过|最大(?:值)?(?:为|是)?|小于等于|上限)${NUMBER}`, "g"),
  new RegExp(
    `(?:höchstens|maximal|(?:inférieur|menor|minor|inferior)\\S{0,2} o[ur]? (?:égal|igual|uguale)\\S? (?:[àa]|que)|не должн\\S+ превышать|не более)${NUMBER}`,
    "gi",
  ),
  /(-?\d+(?:\.\d+)?)\s*(?:以下|以内|이하)/g,
];
const BELOW = new RegExp(`(?:(?:less|lower|smaller|fewer) than|<(?!=)|小于)${NUMBER}`, "i");
const LEAST = new RegExp(
  `(?:>=|≥|at least|no less than|greater than or equal(?: to)?|\\bmin(?:imum)?\\b|不小于|大于等于)${NUMBER}`,
  "i",
);

/** The estimate of the input is not exact, and a template adds to it. */
const ROOM = 0.9;

/** The value within the bounds that the words name. */
function clampsFor(
  text: string,
  path: string,
  value: number,
  { limits }: BodyLayout,
  estimate: number,
): Relaxation[][] {
  const to = (bound: number | undefined): Relaxation[][] =>
    bound === undefined ? [] : [[{ does: "clamp", path, to: bound, isLeast: bound > value, isOwn: true }]];
  const ranged = inRange(text, value);
  if (ranged !== undefined) return to(ranged);
  const isBelow = (bound: number) => bound < value && !(Number.isInteger(value) && bound <= 0);
  const most = MOST.flatMap((words) => [...text.matchAll(words)].map(([, bound]) => Number(bound))).find(isBelow);
  if (most === undefined) {
    return to(boundOf(text, value) ?? (limits.includes(path) ? onlyNumber(text, value) : undefined));
  }
  // The bound may be that of input and answer together.
  const room = Math.floor((most - estimate) * ROOM);
  const isShared = limits.includes(path) && room > 0 && room < most;
  return isShared ? [...to(most), [{ does: "clamp", path, to: room, isLeast: false, isOwn: false }]] : to(most);
}

/** The only number beside the value, in words of comparison that are not known. */
function onlyNumber(text: string, value: number): number | undefined {
  const numbers = new Set([...text.matchAll(/(?<![\w.-])\d+(?![\w.-]*\w)/g)].map(([found]) => Number(found)));
  numbers.delete(value);
  const [only, ...others] = numbers;
  return only !== undefined && only > 0 && only < value && others.length === 0 ? only : undefined;
}

/** The end of a range that the value is beyond. */
function inRange(text: string, value: number): number | undefined {
  for (const range of RANGES) {
    const found = range.exec(text);
    const [low, high] = [Number(found?.[1]), Number(found?.[2])];
    if (low < high && (value < low || value > high)) return value > high ? high : low;
  }
}

/** The value next to an open bound, or the least one. */
function boundOf(text: string, value: number): number | undefined {
  const below = Number(BELOW.exec(text)?.[1] ?? Infinity);
  if (below <= value && below > 0) return Number.isInteger(value) ? below - 1 : below;
  const [, least] = LEAST.exec(text) ?? [];
  return Number(least) > value ? Number(least) : undefined;
}
