/** A long text is masked slice by slice as it is in one go, wherever a slice ends. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import process from "node:process";
import { finderOf, hiderFor, spellingsFor } from "../../src/context/secrets.ts";
import { hideInSlices, spellOut } from "../../src/context/secrets_in_slices.ts";
import { runUnsliced } from "../../src/util/sliced_work.ts";
import { law } from "../support/law.ts";

const SECRETS = ["sk-0123456789", "0123456789", 'house/"secret" 9', "aaaaaaaa", "ends\\with", "***stars"];
const SPELLED = /\\+u00(2[013-9a-f]|[346][\da-f]|5[\dabd-f]|7[\da-e])/gi;
const LENGTH = 24;

function assertSame(text: string, secrets: readonly string[], length: number): void {
  assertEquals(runUnsliced(hideInSlices(text, [finderOf(secrets)], length)), hiderFor(secrets)(text));
}

Deno.test("a secret on any border between slices is hidden as it is within one", () => {
  const bearers = ["Bearer abc12345", "bearer \n abcdefghijklmnopqrstuvwxyz", "xBearer abc12345", "Bearer none"];
  for (const planted of [...spellingsFor(SECRETS), ...bearers]) {
    for (let at = 0; at <= 2 * LENGTH + planted.length; at++) {
      const text = `${"-".repeat(at)}${planted}${" .".repeat(LENGTH)}`;
      assertSame(text, SECRETS, LENGTH);
      assertSame(text.slice(0, at + planted.length - 1) + "…", SECRETS, LENGTH);
    }
  }
});

const piece = fc.oneof(
  fc.constantFrom(...SECRETS, ...SECRETS.flatMap((one) => [one.slice(0, 5), one.slice(3)]), ...spellingsFor(SECRETS)),
  fc.constantFrom(
    "Bearer",
    "bearer ",
    " ",
    "\n",
    "earer\t",
    "a1b2c3d4",
    "x".repeat(30),
    "***",
    "*",
    "…",
    "a",
    "和",
    "\\",
  ),
  fc.string({ maxLength: 12 }),
);
const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));

const sliced = fc.tuple(text, fc.subarray(SECRETS), fc.integer({ min: 1, max: 60 }));
law("what hides secrets in slices hides what is hidden in one go", sliced, (one) => assertSame(...one));

const spelled = fc.constantFrom("\\u0041", "\\\\u002f", "\\U007a", "\\u0022", "\\u00", "u0041", "\\", "0", "e", '"');
const spellings = fc.tuple(fc.array(fc.oneof(spelled, piece), { maxLength: 30 }), fc.integer({ min: 1, max: 40 }));
law("letters spelled by their numbers are read in slices as they are in one go", spellings, ([pieces, length]) => {
  const text = pieces.join("");
  const plain = text.replace(SPELLED, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
  assertEquals(runUnsliced(spellOut(text, length)), plain);
});

Deno.test("a long run of backslashes is looked at once, in slices", () => {
  const run = "\\".repeat(10_000);
  for (const [text, plain] of [[run, run], [`${run}u0041`, "A"]] as const) {
    let turns = 0;
    const work = spellOut(text, 100);
    let step = work.next();
    for (; !step.done; step = work.next()) turns++;
    assertEquals(step.value, plain);
    assert(turns >= 100 && turns <= 202, `${turns} turns`);
  }
});

Deno.test("others have a turn between the slices of a long text", () => {
  let turns = 0;
  for (const work = hideInSlices("x".repeat(1_000), [finderOf(["0123456789"])], 100); !work.next().done;) turns++;
  assertEquals(turns, 20);
});

Deno.test("ten thousand secrets are searched for once for all callers, and a text costs what it costs with ten", () => {
  const secrets = Array.from({ length: 10_000 }, (_, index) => `sk-team-${index * 7919}-0123456789abcdef`);
  const text = (index: number) => `The id of this answer is chatcmpl-${index}, and its model sk-team is ${index}`;
  // Of this thread alone: other files are tested in the same process.
  const before = process.threadCpuUsage();
  for (let caller = 0; caller < 100; caller++) {
    const hide = hiderFor(secrets, [`own-token-of-${caller}`]);
    for (let index = 0; index < 100; index++) assertEquals(hide(text(index)), text(index));
    assertEquals(hide(`${secrets[caller]} own-token-of-${caller}, sk-team-0-012…`), "*** ***, ***…");
  }
  const { user, system } = process.threadCpuUsage(before);
  assert(user + system < 700_000, `${user + system} µs of CPU`);
});
