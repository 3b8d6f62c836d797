/** The laws of edits: any configuration with comments and any edit give the same file but for what the edit is about. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canonical/json.ts";
import type { Edit } from "../../../src/context/console.ts";
import { withEdits } from "../../../src/programs/init/edits.ts";
import { withoutComments } from "../../../src/util/config_text.ts";
import { law } from "../../support/law.ts";

type Path = Edit["at"];

const scalar = fc.oneof(
  fc.constantFrom<JsonValue>("a // b", "c, }", 'd "e" /* f */', "", 0, 1.5, true, false, null),
  fc.integer({ min: 0, max: 9 }),
);
const NAMES = ["upstreams", "lanes", "models", "glm-5.3", "größe", "*", "a b", '"'];
const { whole: anything } = fc.letrec<{ value: JsonValue; list: JsonValue[]; whole: JsonObject }>((tie) => ({
  value: fc.oneof({ depthSize: "small" }, scalar, tie("list"), tie("whole")),
  list: fc.array(tie("value"), { maxLength: 3 }),
  whole: fc.dictionary(fc.constantFrom(...NAMES), tie("value"), { maxKeys: 4 }) as fc.Arbitrary<JsonObject>,
}));

/** A comment, and the place that it is about. Its place has one step more if it is the last in an object or a list. */
interface Comment {
  text: string;
  at: Path;
}

const style = fc.record({
  indent: fc.constantFrom("  ", "\t", "    "),
  eol: fc.constantFrom("\n", "\r\n"),
  dice: fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 40, maxLength: 40 }),
  mark: fc.boolean(),
});

/** Values on one line or on several, with comments and trailing commas in all places. */
function written(config: JsonObject, { indent, eol, dice, mark }: typeof style extends fc.Arbitrary<infer T> ? T : 0) {
  const comments: Comment[] = [];
  let thrown = 0;
  const roll = () => dice[thrown++ % dice.length]!;
  const comment = (at: Path, isBlock: boolean) => {
    const text = isBlock ? `/* note ${comments.length}, { */` : `// note ${comments.length}, "}`;
    comments.push({ text, at });
    return text;
  };
  const print = (value: JsonValue, at: Path): string => {
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    const [open, close] = Array.isArray(value) ? "[]" : "{}";
    const items = Array.isArray(value)
      ? value.map((one, index) => ["", one, [...at, index]] as const)
      : Object.entries(value).map(([name, one]) => [`${JSON.stringify(name)}: `, one!, [...at, name]] as const);
    if (roll() > 4) {
      // A comment behind a comma of the line is about what follows.
      const inner = items.map(([name, one, path]) => (roll() > 5 ? `${comment(path, true)} ` : "") + name + line(one));
      return `${open}${inner.join(", ")}${roll() > 5 ? comment(items.at(-1)?.[2] ?? [...at, "\0"], true) : ""}${close}`;
    }
    const inside = indent.repeat(at.length + 1);
    const lines = items.flatMap(([name, one, path], index) => {
      const above = Array.from({ length: Math.max(0, roll() - 5) }, () => inside + comment(path, roll() > 5));
      const body = inside + name + print(one, path);
      const comma = index < items.length - 1 || roll() > 4 ? "," : "";
      return [...above, `${body}${comma}${roll() > 4 ? ` ${comment(path, roll() > 3)}` : ""}`];
    });
    const below = roll() > 5 ? ["", inside + comment([...at, "\0"], false)] : [];
    return [open, ...lines, ...below, `${indent.repeat(at.length)}${close}`].join(eol);
  };
  const head = roll() > 3 ? `${comment(["\0"], false)}${eol}` : "";
  return { text: `${mark ? "\ufeff" : ""}${head}${print(config, [])}${eol}`, comments };
}

const line = (value: JsonValue): string => JSON.stringify(value);

function parse(text: string): JsonObject {
  return JSON.parse(withoutComments(text.replace(/^\ufeff/, "")));
}

function placesIn(value: JsonValue, at: Path = []): Path[] {
  const inner = Array.isArray(value)
    ? value.map((one, index) => [index, one] as const)
    : isJsonObject(value)
    ? Object.entries(value)
    : [];
  return [at, ...inner.flatMap(([step, one]) => placesIn(one!, [...at, step]))];
}

/** What the edit does to the value, in the plainest way. */
function edited(value: JsonObject, { at, value: put }: Edit): JsonObject {
  return changedAt(value, at, put) as JsonObject;
}

function changedAt(around: JsonValue | undefined, [step, ...rest]: Path, put: JsonValue | undefined): JsonValue {
  const change = (old: JsonValue | undefined) => rest.length === 0 ? put : changedAt(old, rest, put);
  if (Array.isArray(around)) {
    const changed = change(around[Number(step)]);
    return around.toSpliced(Number(step), 1, ...changed === undefined ? [] : [changed]);
  }
  const { [String(step)]: old, ...others } = isJsonObject(around) ? around : {};
  const changed = change(old);
  return changed === undefined ? others : { ...others, [String(step)]: changed };
}

const config = anything.filter((one) => Object.keys(one).length > 0);
const change = fc.record({ pick: fc.nat(), kind: fc.integer({ min: 0, max: 3 }), put: fc.oneof(scalar, anything) });

/** Replaces, removes, adds to an object or a list, or adds something with a new object around it. */
function editFor(value: JsonObject, { pick, kind, put }: typeof change extends fc.Arbitrary<infer T> ? T : 0): Edit {
  const places = placesIn(value);
  const at = places[pick % places.length]!;
  if (at.length === 0) return { at: ["new"], value: put };
  if (kind === 0) return { at };
  if (kind === 1) return { at, value: put };
  const there = at.reduce<JsonValue>((found, step) => (found as JsonObject)[step]!, value);
  if (Array.isArray(there)) return { at: [...at, there.length], value: put };
  if (!isJsonObject(there)) return { at, value: put };
  return kind === 2 ? { at: [...at, "new"], value: put } : { at: [...at, "newer", "inner"], value: put };
}

const isWithin = (at: Path, place: Path) => place.every((step, index) => at[index] === step);

law("an edit of any configuration keeps it valid, and all comments but its own", fc.tuple(config, style, change), (
  [value, look, drawn],
) => {
  const { text, comments } = written(value, look);
  const edit = editFor(value, drawn);
  const after = withEdits(text, [edit]);
  assertEquals(parse(after), edited(value, edit), `${JSON.stringify(edit)}\n${text}\n${after}`);
  let from = 0;
  for (const { text: comment, at } of comments) {
    const isOwn = isWithin(at, edit.at) && (edit.value === undefined || at.length > edit.at.length);
    const found = after.indexOf(comment, from);
    if (isOwn && found < 0) continue;
    assert(found >= 0, `${comment} is lost or has moved by ${JSON.stringify(edit)} in\n${text}\n${after}`);
    from = found + comment.length;
  }
  assertEquals(after.startsWith("\ufeff"), look.mark);
  if (look.eol === "\r\n") assert(!/[^\r]\n/.test(after), "its lines end in two ways");
});

law("edits follow one another", fc.tuple(config, style, fc.array(change, { maxLength: 5 })), ([value, look, drawn]) => {
  let [now, text] = [value, written(value, look).text];
  for (const one of drawn) {
    const edit = editFor(now, one);
    [now, text] = [edited(now, edit), withEdits(text, [edit])];
    assertEquals(parse(text), now, text);
  }
});

Deno.test("an entry goes with the comments that explain it", () => {
  const text = `{
  "upstreams": {
    // A first one,
    // in two lines
    "one": { "driver": "chat" }, // beside it

    // A second one
    "two": { "driver": "chat" }
  }
}\n`;
  assertEquals(
    withEdits(text, [{ at: ["upstreams", "one"] }]),
    `{\n  "upstreams": {\n\n    // A second one\n    "two": { "driver": "chat" }\n  }\n}\n`,
  );
  const second = withEdits(text, [{ at: ["upstreams", "two"] }]);
  assertEquals(parse(second), { upstreams: { one: { driver: "chat" } } });
  assert(!second.includes("second") && second.includes("beside it"), second);
});

Deno.test("new entries have lines of their own, and short ones join the line of the others", () => {
  const text = `{\n  "extends": "default",\n  "upstreams": { "one": { "driver": "chat" } }\n}\n`;
  assertEquals(
    withEdits(text, [
      { at: ["lanes", "oss", "models", "glm"], value: null },
      { at: ["lanes", "oss", "models", "kimi"], value: null },
      { at: ["upstreams", "one", "relax"], value: "off" },
    ]),
    `{
  "extends": "default",
  "upstreams": { "one": { "driver": "chat", "relax": "off" } },
  "lanes": {
    "oss": {
      "models": {
        "glm": null,
        "kimi": null
      }
    }
  }
}\n`,
  );
});
