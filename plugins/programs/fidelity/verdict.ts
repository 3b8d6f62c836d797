/** What became of a field, found out by what the gateway does with it. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canonical/json.ts";
import type { Exchange, Outcome } from "../../../src/contract/fidelity.ts";
import { ASKING } from "./answers.ts";
import { ANSWERED, IDLE, IDLE_FOR, IDLE_IN_ANSWERS } from "./exceptions.ts";
import type { Client, Sample, UpstreamWire } from "./sample.ts";

export type Verdict =
  /** It is there, under its own name and with its own value. */
  | { is: "carried"; notes: readonly string[] }
  /** It is there in another form: `to` says where. */
  | { is: "mapped"; to: readonly FieldTrace[]; notes: readonly string[] }
  /** It is not, and the client is told. */
  | { is: "dropped"; notes: readonly string[] }
  | { is: "refused" }
  /** The client is told that it failed, and no upstream is asked. */
  | { is: "failed" }
  /** The gateway does itself what it asks for. */
  | { is: "answered" }
  /** Nothing is lost with it. */
  | { is: "idle" }
  /** It is lost, and nobody says so: must not be. */
  | { is: "silent"; lost: string };

/** Where something is, in few words; or was, and is no more. */
export interface FieldTrace {
  name: string;
  gone: boolean;
}

/** The request is refused without the field, too. */
export class NotTaken extends TypeError {}

/** On a field of a client's request, by what the upstream is asked. */
export async function verdictOn(sample: Sample, client: Client, exchange: Exchange): Promise<Verdict> {
  const { field, headers, before } = sample;
  const present = await exchange(client, sample.with, { headers, before });
  const absent = await exchange(client, sample.without);
  if (absent.status !== 200) throw new NotTaken(`The sample without "${field}" is answered ${absent.status}`);
  if (present.status !== 200) return refusal(present, field);
  if (!present.asked) return { is: "failed" };
  const notes = present.notes.filter((note) => !absent.notes.includes(note));
  const asked = changesIn(absent.asked?.body ?? null, present.asked?.body ?? null)
    // A list of what the assistant said has a status, and a text has none.
    .filter(({ path }) => path !== "input[].status" || field.endsWith("status"));
  const isSent = Object.entries(headers ?? {}).some(([name, value]) => present.asked?.headers[name] === value);
  if (isSent) return { is: "carried", notes };
  const found = verdictOf(changesIn(sample.without, sample.with), asked, notes);
  if (found) return found;
  const isAnswered = ANSWERED[client].has(field) && JSON.stringify(present.answer) !== JSON.stringify(absent.answer);
  return isAnswered ? { is: "answered" } : orIdle(IDLE[client][field]);
}

/** On a field of an upstream's answer, by what the client gets. */
export async function verdictOnAnswer(
  sample: Sample,
  from: UpstreamWire,
  client: Client,
  exchange: Exchange,
): Promise<Verdict> {
  const present = await exchange(client, ASKING[client], { answer: sample.with });
  const absent = await exchange(client, ASKING[client], { answer: sample.without });
  if (absent.status !== 200) throw new NotTaken(`The sample without "${sample.field}" is answered ${absent.status}`);
  if (present.status !== 200) return { is: "silent", lost: `${present.status} ${JSON.stringify(present.answer)}` };
  const notes = present.notes.filter((note) => !absent.notes.includes(note));
  const gotten = changesIn(withoutPositions(absent.answer), withoutPositions(present.answer));
  return verdictOf(changesIn(sample.without, sample.with), gotten, notes) ??
    orIdle(IDLE_IN_ANSWERS[from][sample.field] ?? IDLE_FOR[client]?.[sample.field]);
}

/** The ids of items say where they stand, which another item before them changes. */
function withoutPositions(answer: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(answer).replaceAll(/"([a-z]+_\w+)_\d+"/g, '"$1"'));
}

/** What the changes that came of those that were made say; nothing where none came. */
function verdictOf(made: readonly Change[], came: readonly Change[], notes: readonly string[]): Verdict | undefined {
  if (came.length === 0) return notes.length > 0 ? { is: "dropped", notes } : undefined;
  const all = JSON.stringify(came);
  const lost = marksIn(made).filter((mark) => !all.includes(mark));
  if (lost.length > 0 && notes.length === 0) return { is: "silent", lost: lost.join(", ") };
  return isAmong(made, came) ? { is: "carried", notes } : { is: "mapped", to: placesOf(came), notes };
}

function orIdle(reason: string | undefined): Verdict {
  return reason === undefined ? { is: "silent", lost: "all of it" } : { is: "idle" };
}

/** A refusal has to say what it is about. */
function refusal({ status, answer }: Outcome, field: string): Verdict {
  const error = isJsonObject(answer) ? answer.error : undefined;
  const { message, param } = isJsonObject(error) ? error : { message: error };
  const words = `${message} ${param}`.split(/[^\w]+/);
  const isNamed = field.split(/[^\w]+/).some((name) => words.includes(name));
  return status >= 400 && status < 500 && isNamed ? { is: "refused" } : { is: "silent", lost: `${status} ${message}` };
}

/** The texts that must not get lost. */
function marksIn(changes: readonly Change[]): string[] {
  return [...new Set(JSON.stringify(changes.map(({ after }) => after)).match(/kept[A-Z]\w*/g))];
}

/** Whether each of them was passed on as it is. */
function isAmong(some: readonly Change[], all: readonly Change[]): boolean {
  const changeKey = ({ path, after }: Change) => `${path} ${JSON.stringify(sorted(after ?? null))}`;
  const passed = new Set(all.map(changeKey));
  return some.every((change) => passed.has(changeKey(change)));
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key]!)]));
}

/** Where what is said in the conversation stands. */
const TEXTS = /(\.text|content|output|system|instructions)(\[\])?$/;

/** Where the changes are, each place once. */
function placesOf(changes: readonly Change[]): FieldTrace[] {
  const places = changes.map((change) => ({ name: nameOf(change), gone: change.after === undefined }));
  return places.filter(({ name }, index) => places.findIndex((other) => other.name === name) === index);
}

/** The type of a part or an item, else the path of the field. */
function nameOf({ path, before, after }: Change): string {
  if (typeof before === "string" && typeof after === "string" && after.includes(before) && TEXTS.test(path)) {
    return "text";
  }
  if (path.endsWith("[]")) return kindOf(after) ?? `\`${shortened(path)}\``;
  // A field that is new with one field in it is that field.
  const [inner, ...others] = before === undefined && isJsonObject(after) ? Object.entries(after) : [];
  return inner && others.length === 0
    ? nameOf({ path: `${path}.${inner[0]}`, after: inner[1] })
    : `\`${shortened(path)}\``;
}

/** What a change is in says enough. */
function shortened(path: string): string {
  return path.replace(/^(messages|input)\[\]\./, "").replace(/^content\[\]\./, "");
}

function kindOf(value: JsonValue | undefined): string | undefined {
  if (!isJsonObject(value)) return undefined;
  const { type, role } = value;
  if (typeof role === "string") return `\`${role}\` turn`;
  if (type === "text" || type === "input_text" || type === "output_text") return "text";
  return typeof type === "string" ? `\`${type}\`` : undefined;
}

/** One place in which two JSON values differ. */
interface Change {
  /** Places in lists are `[]`: `messages[].content[]`. */
  path: string;
  /** Absent where something was added. */
  before?: JsonValue;
  /** Absent where something was taken away. */
  after?: JsonValue;
}

/** What of `after` is not in `before`, and the other way round. */
function changesIn(before: JsonValue, after: JsonValue, path = ""): Change[] {
  if (isEqual(before, after)) return [];
  if (typeof before === "string" && Array.isArray(after)) return changesInList(asParts(before, after), after, path);
  if (typeof after === "string" && Array.isArray(before)) return changesInList(before, asParts(after, before), path);
  if (Array.isArray(before) && Array.isArray(after)) return changesInList(before, after, path);
  if (!isJsonObject(before) || !isJsonObject(after)) return [{ path, before, after }];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => {
    const inner = path === "" ? key : `${path}.${key}`;
    const [was, is] = [before[key], after[key]];
    if (was === undefined) return is === undefined ? [] : [{ path: inner, after: is }];
    return is === undefined ? [{ path: inner, before: was }] : changesIn(was, is, inner);
  });
}

/** On every wire a text is short for a list with one part. */
function asParts(text: string, parts: readonly JsonValue[]): JsonObject[] {
  const same = parts.filter(isJsonObject).find((part) => part.text === text);
  return [{ type: same?.type ?? "text", text }];
}

/** Lists are compared from both ends: what was put in or taken out stands in between. */
function changesInList(before: readonly JsonValue[], after: readonly JsonValue[], path: string): Change[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isEqual(before[start], after[start])) start++;
  let end = 0;
  while (end < shorter - start && isEqual(before.at(-1 - end), after.at(-1 - end))) end++;
  const was = before.slice(start, before.length - end);
  const is = after.slice(start, after.length - end);
  const inner = `${path}[]`;
  return Array.from({ length: Math.max(was.length, is.length) }).flatMap((_, index) => {
    if (index >= was.length) return [{ path: inner, after: is[index]! }];
    if (index >= is.length) return [{ path: inner, before: was[index]! }];
    return changesIn(was[index]!, is[index]!, inner);
  });
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
