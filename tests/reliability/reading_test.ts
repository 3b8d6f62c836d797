/** Whoever reads bytes holds about as many as have come, however small the pieces are that they come in. */
import { assert } from "@std/assert";
import type { Reading } from "../support/reading.ts";
import { RARELY } from "./scale.ts";

const PROGRAM = new URL("../support/reading.ts", import.meta.url).href;
/** What any request and answer take, in bytes, besides what is read. */
const CONSTANT = 512 * 1024;
/** Four times the bytes take sixteen times as long where time grows with the square of them. */
const TOO_MUCH = 10;

/** Reads bodies of `bytes` in pieces of each size, and times some of `timed` bytes, in a process of its own. */
async function read(bytes: number, timed: number, pieces: number[]): Promise<Reading[]> {
  const args = [
    "run",
    "--allow-all",
    "--v8-flags=--expose-gc",
    PROGRAM,
    `${bytes}`,
    `${timed}`,
    JSON.stringify(pieces),
  ];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  assert(code === 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim().split("\n").map((line) => JSON.parse(line));
}

function wrongIn(readings: Reading[]): Reading[] {
  assert(readings.length > 0);
  return readings.filter(({ bytes, held, growth = 0 }) => held > 3 * bytes + CONSTANT || growth > TOO_MUCH);
}

/** What the engine compiles meanwhile is in the figures once; what a reader holds is in them each time. */
async function check(...what: Parameters<typeof read>): Promise<void> {
  const once = wrongIn(await read(...what));
  const wrong = once.length > 0 ? wrongIn(await read(...what)) : [];
  assert(wrong.length === 0, [...once, ...wrong].map((reading) => JSON.stringify(reading)).join("\n"));
}

Deno.test("reading: pieces of a byte cost no more memory than three times the bytes, and time that grows with them", async () => {
  await check(40_000, 2_000, [1]);
});

Deno.test({
  name: "reading: so do larger pieces, up to more than one read gives" + RARELY.why,
  ignore: RARELY.ignore,
  fn: () => check(512_000, 0, [100, 100_000]),
});
