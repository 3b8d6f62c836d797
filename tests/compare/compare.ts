/** Asks both gateways the same, and finds the first byte in which they differ. */
import { Buffer } from "node:buffer";
import { delay, within } from "../support/wait.ts";
import type { Case, Received } from "./cases.ts";
import type { Asked } from "./clients.ts";
import { KEYS, type Side, SLOTS } from "./gateways.ts";
import { Random } from "./random.ts";
import type { Call } from "./upstream.ts";

/** One thing that a gateway did, such as the body of its second call. Equal ones stand for the same behaviour. */
interface Observed {
  part: string;
  text: string;
}

export interface Difference {
  case: string;
  /** Differences of one kind probably have one cause. */
  kind: string;
  old: string;
  new: string;
}

/** What differs between two runs although the gateways do not. The rest is made the same: `determinism.ts`. */
function normalized(text: string, { url, upstream }: Side): string {
  return text
    .replaceAll(new URL(url).host, "127.0.0.1:<own port>")
    .replaceAll(`127.0.0.1:${upstream.port}`, "127.0.0.1:<port>")
    // Ollama's clients learn how long the answer took, to the nanosecond.
    .replace(/"(total|prompt_eval|eval)_duration":\d+/g, '"$1_duration":0')
    // The platform chooses how the parts of a form are set apart.
    .replace(/-{4}\d{28,32}\b/g, "----boundary")
    // Sound that is streamed is cut as it comes.
    .replace(SOUND_FRAMES, (frames) => {
      const pieces = [...frames.matchAll(/"audio":"([^"]*)"/g)].map(([, audio]) => Buffer.from(audio!, "base64"));
      return `sound: ${Buffer.concat(pieces).toString("base64")}\n\n`;
    });
}

const SOUND_FRAMES = /(data: \{"type":"speech\.audio\.delta","audio":"[^"]*"\}\n\n)+/g;
const COMMENT = /^: notes: (.*)\n\n/gm;

const NOTES = "x-laneway-notes";
/** What only the end of an answer tells. */
const LATE_NOTES = ["estimated usage", "the answer is not the requested JSON"];

/**
 * A stream tells in its header what was known when its first event came, and the rest in comments. How much came with the first
 * event is up to the network, so all of it stands together. A stream without comments does not tell the rest.
 */
function notesOf(headers: Headers, body: string): string {
  const later = [...body.matchAll(COMMENT)].map(([, notes]) => notes!);
  const lacksComments = headers.has("transfer-encoding") &&
    !headers.get("content-type")?.startsWith("text/event-stream");
  const notes = [headers.get(NOTES) ?? "", ...later].flatMap((notes) => notes.split("; ")).filter(Boolean);
  return notes.filter((note) => !lacksComments || !LATE_NOTES.includes(note)).sort().join("; ");
}

/**
 * Headers that say nothing of the gateway: the clock, what the body itself shows, and whether a refused request's body was already
 * there.
 */
const NOT_OURS = ["date", "content-length", "connection"];

interface Answer extends Received {
  observed: Observed[];
}

/** No answer takes so long. */
const PATIENCE_MS = 30_000;

async function ask(side: Side, asked: Asked, name: string): Promise<Answer> {
  while (true) {
    const answer = await askOnce(side, asked, name);
    if (!asked.again?.test(answer.text)) return answer;
    await delay(5);
  }
}

async function askOnce(side: Side, { method, path, headers, body }: Asked, name: string): Promise<Answer> {
  try {
    const response = await fetch(side.url + path, {
      method,
      headers: {
        authorization: `Bearer ${KEYS.any}`,
        "accept-encoding": "identity",
        ...headers,
        "x-compare-request": name,
      },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const pieces: Uint8Array[] = [];
    let end = "whole";
    try {
      for await (const piece of response.body ?? []) pieces.push(piece);
    } catch {
      end = "broken off";
    }
    const { status, headers: given } = response;
    const text = Buffer.concat(pieces).toString("latin1");
    const ours = [...given].filter(([name]) => !NOT_OURS.includes(name) && name !== NOTES);
    const observed = [
      { part: "status", text: String(status) },
      ...ours.map(([name, value]) => ({ part: `header ${name}`, text: value })),
      { part: "notes", text: notesOf(given, text) },
      { part: "body", text: normalized(text.replace(COMMENT, ""), side) },
      { part: "end", text: end },
    ];
    return { status, text, observed };
  } catch (thrown) {
    return { status: 0, text: "", observed: [{ part: "failure", text: String((thrown as Error).name) }] };
  }
}

function observedCalls(calls: readonly Call[], side: Side): Observed[] {
  const heads = calls.map(({ head }) => normalized(head, side).split("\r\n"));
  const observed = calls.flatMap(({ body }, number) => [
    ...heads[number]!.slice(1).map((header) => ({
      part: `call ${number}, header ${header.split(":")[0]}`,
      text: header,
    })),
    { part: `call ${number}, body`, text: normalized(body.toString("latin1"), side) },
  ]);
  return [{ part: "calls", text: heads.map(([line]) => line).join("\n") }, ...observed];
}

/** Everything that one gateway does in a case: a list for each answer, and one for the calls. */
async function observe(side: Side, { slot, seed, steps, newScript }: Case, name: number): Promise<Observed[][]> {
  side.upstream.begin(slot, newScript(), new Random(seed));
  const observed: Observed[][] = [];
  const received: Answer[] = [];
  for (const [number, step] of steps.entries()) {
    const asked = typeof step === "function" ? step(received) : step;
    const answer = await ask(side, asked, `${name}${String(number).padStart(2, "0")}`);
    received.push(answer);
    const at = steps.length > 1 ? `answer ${number} (${asked.method} ${asked.path}), ` : "";
    observed.push(answer.observed.map(({ part, text }) => ({ part: at + part, text })));
  }
  return [...observed, observedCalls(await within(side.upstream.end(slot)), side)];
}

const BEFORE = 160;
const AFTER = 160;

function excerpt(text: string, at: number): string {
  const from = Math.max(0, at - BEFORE);
  const shown = JSON.stringify(Buffer.from(text.slice(from, at + AFTER), "latin1").toString());
  return `${from > 0 ? "…" : ""}${shown}${at + AFTER < text.length ? "…" : ""}`;
}

/** The field that a difference at this place of a JSON text is in. */
function fieldAt(text: string, at: number): string {
  const name = text.slice(text.lastIndexOf('"', at)).match(/^"(\w+)":/)?.[1] ??
    text.slice(0, at).match(/.*"(\w+)":/s)?.[1];
  return name === undefined ? "" : ` at "${name.replace(/^x_\w+/, "x_…")}"`;
}

function differenceOf(name: string, old: readonly Observed[], now: readonly Observed[]): Difference | undefined {
  const length = Math.max(old.length, now.length);
  const at = Array.from({ length }, (_, index) => index)
    .find((index) => old[index]?.part !== now[index]?.part || old[index]?.text !== now[index]?.text);
  if (at === undefined) return undefined;
  const [before, after] = [old[at], now[at]];
  const general = (part: string) =>
    part.replace(/(answer|call) \d+/, "$1").replace(/\/s\d+-/, "/").replace(/_\w{32}/, "");
  if (!before || !after || before.part !== after.part) {
    const isGone = before && !now.some(({ part }) => part === before.part);
    const part = isGone ? `${before.part}, only in the old one` : `${after?.part}, only in the new one`;
    const show = (one: Observed | undefined) => one ? `${one.part}: ${excerpt(one.text, 0)}` : "nothing more";
    return { case: name, kind: general(part), old: show(before), new: show(after) };
  }
  let index = 0;
  while (before.text[index] === after.text[index]) index++;
  const kind = general(before.part) + (before.part.endsWith("body") ? fieldAt(before.text, index) : "");
  const show = (text: string) => `${before.part}: ${excerpt(text, index)}`;
  return { case: name, kind, old: show(before.text), new: show(after.text) };
}

/** All cases, those of different slots at once. */
export async function compare(
  old: Side,
  now: Side,
  cases: readonly Case[],
  onCase: (differences: readonly Difference[]) => void,
): Promise<void> {
  const all = cases.map((one, index) => ({ one, name: index + 1 }));
  await Promise.all(SLOTS.map(async (slot) => {
    for (const { one, name } of all.filter(({ one }) => one.slot === slot)) {
      const [before, after] = await Promise.all([observe(old, one, name), observe(now, one, name)]);
      onCase(before.flatMap((observed, at) => differenceOf(one.name, observed, after[at]!) ?? []));
    }
  }));
}
