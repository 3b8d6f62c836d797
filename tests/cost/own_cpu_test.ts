/**
 * What the gateway itself costs per request and per chunk, over all pairs of wires, against the committed figures. It is processor
 * time, in process, as a multiple of fixed work of the same kind on the same JSON: no clock judges, and neither a slow machine nor a
 * busy one matters.
 */
import { assert } from "@std/assert";
import { FIGURES, lesser, measureSums, type Sums } from "../bench/own_sums.ts";
import type { Work } from "../bench/own.ts";

const ALLOWED = 1.25;
/** A process can have bad luck with its memory; more code has it every time. */
const TRIES = 3;

Deno.test(`a request and a chunk cost at most ${ALLOWED} times what they did`, async () => {
  const committed: Sums = JSON.parse(await Deno.readTextFile(FIGURES));
  let sums = await measureSums();
  for (let tried = 1; tried < TRIES && excesses(sums, committed).length > 0; tried++) {
    sums = lesser(sums, await measureSums());
  }
  const dearer = excesses(sums, committed);
  assert(
    dearer.length === 0,
    `These cost more than they did: ${dearer.join("; ")}. If it must be so: deno task bench:own --write`,
  );
});

function excesses(sums: Sums, committed: Sums): string[] {
  const works = Object.keys(committed) as Work[];
  return works.filter((work) => !(sums[work] <= ALLOWED * committed[work])).map((work) =>
    `${work} ${(sums[work] / committed[work]).toFixed(2)} times`
  );
}
