/** Relaxations: the parts and forms of a refused request that can be given up, each as a pure function on the body of its call. */
import { asList, isJsonObject, type JsonObject, type JsonValue, parseJson } from "../canonical/json.ts";
import type { BodyLayout, FormName } from "../contract/body_layout.ts";
import { changeAt, eachField } from "./paths.ts";
import { bare, empty, simplified, withoutKeyword, withTypes } from "./schemas.ts";

export type Relaxation =
  | { does: "omit"; path: string }
  /** `isLeast`: whether it is a lower bound. `isOwn`: whether the host named it as its own. It is only remembered then. */
  | { does: "clamp"; path: string; to: number; isLeast: boolean; isOwn: boolean }
  | { does: "omit keyword"; keyword: string }
  | { does: "fill"; path: string }
  | { does: FormName };

/** Its name in notes. */
export function nameOf(relaxation: Relaxation): string {
  switch (relaxation.does) {
    case "omit":
      return relaxation.path;
    case "clamp":
      return `${relaxation.path} to ${relaxation.to}`;
    case "omit keyword":
      return `${relaxation.keyword} in schemas`;
    case "fill":
      return `${relaxation.path} filled in`;
    default:
      return relaxation.does;
  }
}

/** Whether a value from the store is one. A later version of this program may know others. */
export function isRelaxation(value: unknown): value is Relaxation {
  if (!isJsonObject(value)) return false;
  const { does, path, to, keyword } = value;
  if (does === "clamp") return typeof path === "string" && typeof to === "number";
  if (does === "omit" || does === "fill") return typeof path === "string";
  return does === "omit keyword" ? typeof keyword === "string" : Object.hasOwn(IN_FORM, String(does));
}

/** The body with all of it given up. Returns the same body if there is none of it. */
export function relax(body: JsonObject, relaxations: readonly Relaxation[], layout: BodyLayout): JsonObject {
  return relaxations.reduce((relaxed, one) => relaxOne(relaxed, one, layout), body);
}

export function relaxOne(body: JsonObject, relaxation: Relaxation, layout: BodyLayout): JsonObject {
  switch (relaxation.does) {
    case "omit":
      return changeAt(body, relaxation.path, () => undefined) as JsonObject;
    case "clamp": {
      const { path, to, isLeast } = relaxation;
      const isBeyond = (value: number) => isLeast ? value < to : value > to;
      return changeAt(body, path, (value) => typeof value === "number" && isBeyond(value) ? to : value) as JsonObject;
    }
    case "omit keyword":
      return atSchemas(body, layout, (schema) => withoutKeyword(schema, relaxation.keyword));
    case "fill":
      return filled(body, relaxation.path, layout);
    default:
      return IN_FORM[relaxation.does](body, layout);
  }
}

/** All that may be the reason if a host does not say what it refused. The conversation, the names of tools and the limits stay. */
export function plainest(body: JsonObject, layout: BodyLayout): Relaxation[] {
  const paths = new Set<string>();
  eachField(body, layout, (path) => {
    const isInner = [...paths, ...layout.harmless].some((outer) => isWithin(path, outer));
    if (!isInner && isOptional(path, layout)) paths.add(path);
  });
  // A search gives the last ones back first, so those that lose most come last.
  return [
    { does: "tool changes in words" },
    ...[...paths].map((path): Relaxation => ({ does: "omit", path })),
    { does: "tool choice auto" },
    { does: "arguments as objects" },
    { does: "texts joined" },
    { does: "system messages merged" },
    { does: "schemas empty" },
  ];
}

/** Those that change a body from which the ones before them are given up. */
export function effectiveIn(body: JsonObject, relaxations: readonly Relaxation[], layout: BodyLayout): Relaxation[] {
  let relaxed = body;
  return relaxations.filter((one) => {
    const before = relaxed;
    relaxed = relaxOne(before, one, layout);
    return relaxed !== before;
  });
}

function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[]`);
}

/** Whether a field can be left out. Nothing is left out of which a part is kept, and no object is left without its kind. */
export function isOptional(path: string, layout: BodyLayout): boolean {
  const { kept, schemas, limits, needed, turns, instructions } = layout;
  if (kept.has(path) || schemas.has(path) || limits.includes(path) || path.endsWith(".type")) return false;
  const isSaid = isWithin(path, turns) || instructions !== undefined && isWithin(path, instructions);
  if (isSaid && needed.has(path.slice(path.lastIndexOf(".") + 1))) return false;
  return ![...kept, ...schemas].some((one) => isWithin(one, path));
}

const IN_FORM: Record<FormName, (body: JsonObject, layout: BodyLayout) => JsonObject> = {
  "asked streamed": (body, { streamed }) => body.stream === true ? body : { ...body, ...streamed } as JsonObject,
  "texts joined": (body, { turns, instructions }) => {
    const join = (content: JsonValue) => isOfTexts(content) ? textOf(content)! : content;
    const joined = changeAt(body, `${turns}[].content`, join) as JsonObject;
    return instructions === undefined ? joined : changeAt(joined, instructions, join) as JsonObject;
  },
  "arguments as objects": (body, { arguments: paths }) => {
    return [...paths].reduce((changed, path) => changeAt(changed, path, asObjectText) as JsonObject, body);
  },
  "arguments parsed": (body, { arguments: paths }) => {
    return [...paths].reduce((changed, path) => changeAt(changed, path, parsedObject) as JsonObject, body);
  },
  "short ids of calls": (body, { callIds }) => {
    const short = (id: JsonValue) => typeof id === "string" && !SHORT_ID.test(id) ? shortId(id) : id;
    return [...callIds].reduce((changed, path) => changeAt(changed, path, short) as JsonObject, body);
  },
  "turns joined": (body, { turns }) => {
    const list = asList(body[turns]);
    const joined = list.reduce<JsonValue[]>((before, turn) => {
      const both = joinedTurns(before.at(-1), turn);
      return both ? before.with(-1, both) : [...before, turn];
    }, []);
    return joined.length === list.length ? body : { ...body, [turns]: joined };
  },
  "system messages merged": (body, layout) => mergeInstructions(body, layout, false),
  "system messages in the user turn": (body, layout) => mergeInstructions(body, layout, true),
  "schemas with types": (body, layout) => atSchemas(body, layout, withTypes),
  "schemas simplified": (body, layout) => atSchemas(body, layout, simplified),
  "schemas bare": (body, layout) => atSchemas(body, layout, bare),
  "schemas empty": (body, layout) => atSchemas(body, layout, empty),
  "thinking off": (body, { thinking: { off, on } }) => {
    const kept = Object.entries(body).filter(([field]) => !on.includes(field));
    return alike(body, { ...Object.fromEntries(kept), ...off } as JsonObject);
  },
  "tool choice auto": (body) => {
    const { tool_choice: choice } = body;
    if (choice === undefined) return body;
    const isAuto = choice === "auto" || isJsonObject(choice) && choice.type === "auto";
    const { tool_choice: _, ...others } = body;
    if (isAuto) return others;
    if (isJsonObject(choice) && ["any", "tool"].includes(String(choice.type))) {
      return { ...others, tool_choice: { type: "auto" } };
    }
    return { ...others, tool_choice: "auto" };
  },
  "tool changes in words": (body, layout) => layout.withoutToolChanges?.(body) ?? body,
  "results of tools as texts": (body, layout) => layout.withTextResults?.(body) ?? body,
  "pictures as placeholders": (body, { turns, pictures }) => {
    const list = body[turns];
    if (!Array.isArray(list)) return body;
    // The answer is about the pictures of the last turn of the user.
    const last = list.findLastIndex((turn) => isJsonObject(turn) && turn.role === "user");
    const replaced = list.map((turn, at) => at === last ? turn : withoutPictures(turn, pictures));
    return replaced.every((turn, at) => turn === list[at]) ? body : { ...body, [turns]: replaced };
  },
};

function alike(before: JsonObject, after: JsonObject): JsonObject {
  return JSON.stringify(before) === JSON.stringify(after) ? before : after;
}

function atSchemas(body: JsonObject, { schemas }: BodyLayout, change: (schema: JsonValue) => JsonValue): JsonObject {
  const changedAt = (schema: JsonValue) => {
    const changed = change(schema);
    return JSON.stringify(changed) === JSON.stringify(schema) ? schema : changed;
  };
  return [...schemas].reduce((changed, path) => changeAt(changed, path, changedAt) as JsonObject, body);
}

/** Whether nothing but texts would be lost. */
function isOfTexts(content: JsonValue): boolean {
  return Array.isArray(content) && content.length > 0 &&
    content.every((part) => isJsonObject(part) && Object.keys(part).every((name) => ["type", "text"].includes(name)));
}

/** The text of a content of texts alone. */
function textOf(content: JsonValue | undefined): string | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content) || content.length === 0) return undefined;
  const texts = content.map((part) => isJsonObject(part) && typeof part.text === "string" ? part.text : undefined);
  return texts.includes(undefined) ? undefined : texts.join("\n");
}

function asObjectText(text: JsonValue): JsonValue {
  if (typeof text !== "string") return text;
  if (text.trim() === "") return "{}";
  const value = parseJson(text);
  return isJsonObject(value) ? text : JSON.stringify({ arguments: value ?? text });
}

/** The object that a text holds. */
function parsedObject(text: JsonValue): JsonValue {
  const value = typeof text === "string" ? parseJson(text) : undefined;
  return isJsonObject(value) ? value : text;
}

/** Two turns of one speaker as one. Nothing if they are others', or hold more than what was said. */
function joinedTurns(before: JsonValue | undefined, turn: JsonValue): JsonObject | undefined {
  if (!isSpoken(before) || !isSpoken(turn) || before.role !== turn.role) return undefined;
  const contents = [before.content, turn.content];
  if (contents.every((content) => typeof content === "string")) return { ...turn, content: contents.join("\n\n") };
  const type = typeOfText(contents.flatMap(asList));
  const parts = contents.flatMap((content) =>
    typeof content === "string" ? [{ type, text: content }] : asList(content)
  );
  return { ...turn, content: parts };
}

function isSpoken(turn: JsonValue | undefined): turn is JsonObject {
  if (!isJsonObject(turn) || !["user", "assistant"].includes(String(turn.role))) return false;
  return Object.keys(turn).every((name) => ["role", "content", "type"].includes(name)) &&
    (typeof turn.content === "string" || Array.isArray(turn.content));
}

/** The ids that every host takes. */
const SHORT_ID = /^[a-zA-Z0-9]{9}$/;

/** A call and its result keep belonging together, because an id always becomes the same short one. */
function shortId(id: string): string {
  let [high, low] = [0x811c9dc5, 0x1b873593];
  for (let at = 0; at < id.length; at++) {
    high = Math.imul(high ^ id.charCodeAt(at), 0x01000193);
    low = Math.imul(low ^ id.charCodeAt(at), 0x85ebca6b) ^ (low >>> 13);
  }
  const digits = (value: number) => (value >>> 0).toString(36).padStart(7, "0");
  return `c${(digits(high) + digits(low)).slice(-8)}`;
}

const INSTRUCTING = ["system", "developer"];

/** The instructions of all system messages in one, at the front or in the first turn of the user. */
function mergeInstructions(body: JsonObject, layout: BodyLayout, isInUserTurn: boolean): JsonObject {
  const { turns, instructions } = layout;
  const list = body[turns];
  if (!Array.isArray(list)) return body;
  const found = list.filter(isInstruction);
  const outside = instructions === undefined ? undefined : body[instructions];
  const contents = [...outside === undefined ? [] : [outside], ...found.map(({ content }) => content)];
  const texts = contents.map(textOf);
  const isNeedless = isInUserTurn ? contents.length === 0 : found.length === 0;
  if (isNeedless || texts.includes(undefined)) return body;
  const text = texts.join("\n\n");
  const others = list.filter((turn) => !isInstruction(turn));
  if (isInUserTurn) {
    const { [instructions ?? ""]: _, ...rest } = body;
    return { ...rest, [turns]: withTextAtUser(others, text) };
  }
  if (instructions !== undefined) return { ...body, [instructions]: text, [turns]: others };
  return alike(body, { ...body, [turns]: [{ role: found[0]!.role, content: text }, ...others] });
}

function isInstruction(turn: JsonValue): turn is JsonObject {
  return isJsonObject(turn) && INSTRUCTING.includes(String(turn.role));
}

/** The turns with the text at the beginning of the first one of the user. */
function withTextAtUser(turns: readonly JsonValue[], text: string): JsonValue[] {
  const first = turns.findIndex((turn) => isJsonObject(turn) && turn.role === "user");
  const turn = turns[first];
  if (!isJsonObject(turn)) return [{ role: "user", content: text }, ...turns];
  const { content } = turn;
  if (typeof content === "string") return turns.with(first, { ...turn, content: `${text}\n\n${content}` });
  if (!Array.isArray(content)) return [{ role: "user", content: text }, ...turns];
  return turns.with(first, { ...turn, content: [{ type: typeOfText(content), text }, ...content] });
}

function typeOfText(content: readonly JsonValue[]): string {
  const types = content.map((part) => isJsonObject(part) ? part.type : undefined);
  return types.some((type) => String(type).startsWith("input_")) ? "input_text" : "text";
}

function withoutPictures(turn: JsonValue, pictures: ReadonlySet<string>): JsonValue {
  if (!isJsonObject(turn) || !Array.isArray(turn.content)) return turn;
  const { content } = turn;
  const isPicture = (part: JsonValue) => isJsonObject(part) && pictures.has(String(part.type));
  if (!content.some(isPicture)) return turn;
  const text = { type: typeOfText(content), text: "[picture left out: the model takes none]" };
  return { ...turn, content: content.map((part) => isPicture(part) ? text : part) };
}

function filled(body: JsonObject, path: string, { fillable, turns }: BodyLayout): JsonObject {
  const fill = Object.hasOwn(fillable, path) ? fillable[path] : undefined;
  if (!fill) return body;
  const name = path.slice(path.lastIndexOf(".") + 1);
  return changeAt(body, `${turns}[]`, (turn) => {
    return isJsonObject(turn) && turn.role === fill.role && turn[name] === undefined
      ? { ...turn, [name]: fill.value }
      : turn;
  }) as JsonObject;
}
