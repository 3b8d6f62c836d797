/**
 * Every recorded stream, broken at any boundary of its events, in any way, for any client: the client gets the exact answer or an
 * error after a beginning of it. All cases are some hundred thousand: `LANEWAY_BROKEN=all` runs them all, a number so many.
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type BrokenCase, brokenFor, caseAt, casesOf, recordedStreams, wholeFor } from "../support/broken_fixtures.ts";
import type { Got } from "../support/continued_answers.ts";
import { report, scaled } from "../reliability/scale.ts";

const DAY_MS = 86_400_000;
const SEED = Number(Deno.env.get("LANEWAY_SAMPLE") ?? Math.floor(Date.now() / DAY_MS));
const COUNT = Deno.env.get("LANEWAY_BROKEN") ?? String(scaled(10_000, 200));

function nameOf({ recorded: { wire, fixture }, at, how, client }: BrokenCase): string {
  return `${wire.name}/${fixture.name}, ${how} after ${at + 1} events, for ${client}`;
}

/** Checks one case. Returns whether the answer went on. */
async function check(one: BrokenCase, whole: Got): Promise<boolean> {
  const { got, calls, failures } = await brokenFor(one);
  assertEquals(failures, []);
  assertEquals([got.ends + got.errors, calls <= 3], [1, true]);
  // Reasoning after that of the beginning may be hidden.
  assert(whole.reasoning.startsWith(got.reasoning), `reasoning: ${JSON.stringify(got.reasoning)}`);
  if (got.ends === 1) assertEquals([got.text, got.calls], [whole.text, whole.calls]);
  else {
    assert(whole.text.startsWith(got.text), `text: ${JSON.stringify(got.text)}`);
    for (const [at, call] of got.calls.entries()) assert(whole.calls[at]?.input.startsWith(call.input), call.input);
  }
  return got.ends === 1 && calls > 1;
}

Deno.test(`recorded streams that break arrive whole, or end in an error (LANEWAY_BROKEN=${COUNT}, LANEWAY_SAMPLE=${SEED})`, async () => {
  const recorded = await recordedStreams();
  const count = casesOf(recorded);
  const numbers = COUNT === "all"
    ? Array.from({ length: count }, (_, number) => number)
    : fc.sample(fc.noBias(fc.integer({ min: 0, max: count - 1 })), { seed: SEED, numRuns: Number(COUNT) });
  const wholes = new Map<string, Got>();
  let continued = 0;
  for (const number of numbers) {
    const one = caseAt(recorded, number);
    const key = `${one.recorded.wire.name} ${one.recorded.fixture.name} ${one.client}`;
    try {
      const whole = wholes.get(key) ?? await wholeFor(one);
      wholes.set(key, whole);
      if (await check(one, whole)) continued++;
    } catch (cause) {
      throw new Error(`case ${number}: ${nameOf(one)}`, { cause });
    }
  }
  report(`${numbers.length} of ${count} cases, ${continued} of them continued`);
  assert(continued > numbers.length / 10, `Only ${continued} were continued`);
});
