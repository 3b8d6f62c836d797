/**
 * Hostile input at random. `LANEWAY_FUZZ_RUNS=20000 deno test --allow-all tests/fuzz` tries each parser as often, from a new seed
 * unless `LANEWAY_FUZZ_SEED` says which; both are in the message of a failure, with the smallest input that fails.
 */
import { assert, assertEquals, AssertionError } from "@std/assert";
import { character } from "./arbitraries.ts";
import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../src/canonical/json.ts";
import { ENV, type TestApp } from "./app.ts";
import { assertCheap } from "./cost.ts";

const ASKED = Number(Deno.env.get("LANEWAY_FUZZ_RUNS") ?? 0);
const SEED = Number(Deno.env.get("LANEWAY_FUZZ_SEED") ?? (ASKED > 0 ? Date.now() % 2 ** 31 : 20261121));

/**
 * A run that takes longer than this, in milliseconds, is measured again: the machine may have been busy with other
 * work.
 */
const LONG_MS = 2_000;

/** A test that nothing goes wrong for any input: `runs` of them, or as many as the environment asks for. */
export function fuzz<T>(
  name: string,
  runs: number,
  inputs: fc.Arbitrary<T>,
  survives: (input: T) => Promise<void>,
): void {
  const numRuns = ASKED > 0 ? ASKED : runs;
  Deno.test(`fuzz ${name} (seed ${SEED}, ${numRuns} runs)`, async () => {
    const natures = Object.getOwnPropertyNames(Object.prototype).join();
    let slowest = 0;
    const property = fc.asyncProperty(inputs, async (input) => {
      const begun = performance.now();
      await survives(input);
      const took = performance.now() - begun;
      slowest = Math.max(slowest, took);
      if (took > LONG_MS) await assertCheap(400, () => survives(input));
      assertEquals(Object.getOwnPropertyNames(Object.prototype).join(), natures, "Every object has got a new property");
    });
    await fc.assert(property, { seed: SEED, numRuns });
    if (ASKED > 0) {
      Deno.stderr.writeSync(new TextEncoder().encode(`${name}: the slowest took ${Math.round(slowest)} ms\n`));
    }
  });
}

// Values

/**
 * Texts that stand for JSON which no value of ours can hold, or which would be too large to pass around. They are
 * replaced when the body is written.
 */
const WRITTEN: Readonly<Record<string, string>> = {
  "\u0001infinite": "1e400",
  "\u0001tiny": "-1e-400",
  "\u0001minus": "-0",
  "\u0001long": "9".repeat(400),
  "\u0001nan": "NaN",
  "\u0001lists": "[".repeat(100_000) + "]".repeat(100_000),
  "\u0001objects": '{"a":'.repeat(30_000) + "1" + "}".repeat(30_000),
  "\u0001texts": `"${'\\"'.repeat(50_000)}"`,
  "\u0001text": `"${"a ".repeat(20_000)}"`,
  "\u0001many": `[${"0,".repeat(150_000)}0]`,
  "\u0001open": "[".repeat(100_000),
};

export const HOSTILE_NAMES = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "then",
  "",
  "a\r\nx-injected: 1",
  "a\u0000b",
  "\ud800",
  "../../etc",
  "ä".repeat(40),
];

const oddTexts = fc.oneof(
  fc.constantFrom(...HOSTILE_NAMES),
  fc.string({ unit: character, maxLength: 12 }),
  fc.constantFrom(
    "NaN",
    "Infinity",
    "1",
    "null",
    "{",
    "[1,",
    '{"a":',
    "data:",
    "data:;base64,",
    "https://",
    "\u2028",
    "\ufeff",
    "<think>",
    "</think>",
    "<tool_call>",
    "auto",
    "function",
    "text",
    "assistant",
    "system",
    "tool",
    "user",
    "error",
    "stop",
  ),
  fc.constantFrom("\u0001texts", "\u0001text"),
);

export const oddValue: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 4, arbitrary: oddTexts },
  { weight: 3, arbitrary: fc.constantFrom<JsonValue>(null, true, false, 0, -1, 1, 0.5, 2 ** 53, -1e308, 5e-324) },
  { weight: 3, arbitrary: fc.constantFrom<JsonValue>([], {}, [[]], [null], [{}], "", [""], { a: 1 }, [[[[[]]]]]) },
  { weight: 2, arbitrary: fc.constantFrom<JsonValue>(...Object.keys(WRITTEN)) },
  { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_NAMES).map((name) => owned(name, { a: 1 })) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue> },
);

/** An object with a property of its own under this name, whatever the name is. */
function owned(name: string, value: JsonValue): JsonObject {
  return Object.fromEntries([[name, value]]);
}

/** As it goes over the wire. */
export function written(value: JsonValue): string {
  return JSON.stringify(value).replace(/"\\u0001[a-z]+"/g, (found) => WRITTEN[JSON.parse(found)] ?? found);
}

// Changes

/** One change at one place of a value; places and numbers count round. */
interface Change {
  kind: "drop" | "double" | "retype" | "swap" | "wrap" | "rename" | "add";
  place: number;
  other: number;
  name: string;
  value: JsonValue;
}

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom("drop", "double", "retype", "retype", "retype", "swap", "wrap", "rename", "add"),
  place: fc.nat({ max: 10_000 }),
  other: fc.nat({ max: 10_000 }),
  name: fc.oneof(fc.constantFrom(...HOSTILE_NAMES), fc.stringMatching(/^x_[a-z]{1,4}$/)),
  value: oddValue,
});

interface Place {
  parent: JsonObject | JsonValue[];
  key: string;
}

function placesIn(value: JsonValue | undefined, places: Place[] = []): Place[] {
  if (typeof value !== "object" || value === null) return places;
  for (const key of Object.keys(value)) {
    places.push({ parent: value, key });
    placesIn((value as JsonObject)[key], places);
  }
  return places;
}

function set({ parent, key }: Place, value: JsonValue | undefined): void {
  Object.defineProperty(parent, key, { value, configurable: true, enumerable: true, writable: true });
}

function changed(value: JsonValue, changes: readonly Change[]): JsonValue {
  const root: JsonValue[] = [JSON.parse(JSON.stringify(value))];
  for (const { kind, place, other, name, value: given } of changes) {
    const value = structuredClone(given);
    const places = placesIn(root);
    const at = places[place % places.length];
    const second = places[other % places.length];
    if (!at || !second) break;
    const { parent, key } = at;
    const here = (parent as JsonObject)[key]!;
    switch (kind) {
      case "drop":
        if (Array.isArray(parent)) parent.splice(Number(key), 1);
        else delete parent[key];
        break;
      case "double":
        if (Array.isArray(parent)) parent.splice(Number(key), 0, structuredClone(here));
        else set({ parent, key: name }, structuredClone(here));
        break;
      case "retype":
        set(at, value);
        break;
      case "swap": {
        const there = structuredClone((second.parent as JsonObject)[second.key]);
        set(second, structuredClone(here));
        set(at, there);
        break;
      }
      case "wrap":
        set(at, other % 2 ? [here] : owned(name, here));
        break;
      case "rename":
        if (!Array.isArray(parent)) delete parent[key];
        set({ parent: Array.isArray(parent) ? owned(name, here) : parent, key: name }, here);
        break;
      case "add":
        set(
          { parent: isJsonObject(here) ? here : parent, key: Array.isArray(parent) ? String(parent.length) : name },
          value,
        );
        break;
      default:
        kind satisfies never;
    }
  }
  return root[0] ?? null;
}

/** Damage to a text: it is cut off, a piece is repeated, a foreign piece is inserted, or a piece is lost. */
interface Damage {
  at: number;
  length: number;
  kind: "cut" | "twice" | "insert" | "lose";
  text: string;
}

const damage: fc.Arbitrary<Damage> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat({ max: 40 }),
  kind: fc.constantFrom("cut", "twice", "insert", "lose"),
  text: fc.constantFrom(
    "\n\n",
    "\r",
    "{",
    "}",
    '"',
    "[",
    ",",
    "\u0000",
    "\ufeff",
    "data: ",
    ": ping\n\n",
    "data: [DONE]\n\n",
    "\ud800",
    "event: error\n",
    "\\u12",
    "é",
    "retry: 1\n",
    "id: 1\n",
  ),
});

export function damaged(text: string, damages: readonly Damage[]): string {
  return damages.reduce((left, { at, length, kind, text }) => {
    const from = Math.floor(at * left.length);
    const [head, piece, rest] = [left.slice(0, from), left.slice(from, from + length), left.slice(from + length)];
    switch (kind) {
      case "cut":
        return head;
      case "twice":
        return head + piece + piece + rest;
      case "insert":
        return head + text + piece + rest;
      case "lose":
        return head + rest;
      default:
        return kind satisfies never;
    }
  }, text);
}

const changes = fc.array(change, { maxLength: 4, size: "max" });
export const damages = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Damage[]>([]) },
  { weight: 1, arbitrary: fc.array(damage, { minLength: 1, maxLength: 3 }) },
);

/** The values with a few changes each, as they are written, or something else altogether. */
export function hostileJson(values: fc.Arbitrary<JsonValue>): fc.Arbitrary<string> {
  return fc.oneof(
    {
      weight: 20,
      arbitrary: fc.tuple(values, changes, damages).map(([value, all, hurt]) =>
        damaged(written(changed(value, all)), hurt)
      ),
    },
    { weight: 1, arbitrary: oddValue.map(written) },
    { weight: 1, arbitrary: fc.string({ unit: character }) },
  );
}

/** The frames of a stream, some of them changed, lost, repeated or moved, and their text damaged. */
export function hostileStream(streams: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const step = fc.record({
    kind: fc.constantFrom("change", "change", "drop", "double", "move"),
    frame: fc.nat({ max: 1_000 }),
    to: fc.nat({ max: 1_000 }),
    changes,
  });
  return fc.tuple(streams, fc.array(step, { maxLength: 5, size: "max" }), damages).map(([stream, steps, hurt]) => {
    const frames = stream.split(/(?<=\n\n)/);
    for (const { kind, frame, to, changes } of steps) {
      const at = frame % Math.max(1, frames.length);
      const found = frames[at];
      if (found === undefined) break;
      if (kind === "drop") frames.splice(at, 1);
      else if (kind === "double") frames.splice(at, 0, found);
      else if (kind === "move") frames.splice(to % frames.length, 0, ...frames.splice(at, 1));
      else frames[at] = found.replace(/^data: ?(.*)$/m, (line, data) => changedData(data, changes) ?? line);
    }
    return damaged(frames.join(""), hurt);
  });
}

/** A line of data changed; nothing where it is no JSON, or was made huge before. */
function changedData(data: string, changes: readonly Change[]): string | undefined {
  const value = data.length < 50_000 ? parseJson(data) : undefined;
  return value === undefined ? undefined : `data: ${written(changed(value, changes))}`;
}

// What must hold

const SECRETS = Object.values(ENV);

/** Nothing went wrong inside the gateway, and nothing that it must keep is said. */
export function assertSound(app: TestApp, status: number, text: string): void {
  const [entry] = app.logs;
  const { cause } = entry ?? {};
  if (entry?.error === "internal" || status === 500) {
    throw new AssertionError(`The gateway failed: ${cause instanceof Error ? cause.stack : text}`, { cause });
  }
  for (const secret of SECRETS) {
    assert(!text.includes(secret), "The answer holds a secret");
    assert(!JSON.stringify({ ...entry, cause: undefined }).includes(secret), "The log holds a secret");
  }
}
