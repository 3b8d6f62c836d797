/** The search finds bugs: each of these, within 5,000 schedules. */
import { assert, assertEquals } from "@std/assert";
import { report, scaled } from "../reliability/scale.ts";
import { MUTATIONS } from "./mutations.ts";
import { MutatedSource } from "./mutated.ts";

const MOST_SCHEDULES = 5_000;
const DAY_MS = 86_400_000;
/** Another one each day. */
const TODAY = Number(Deno.env.get("LANEWAY_SAMPLE") ?? Math.floor(Date.now() / DAY_MS));
const COUNT = scaled(MUTATIONS.length, 1);
const chosen = Array.from({ length: COUNT }, (_, at) => MUTATIONS[(TODAY + at) % MUTATIONS.length]!);

Deno.test("bugs on purpose are at least ten, in failover, billing, recall, continuation and budgets", () => {
  assert(MUTATIONS.length >= 10);
  const about = new Set(MUTATIONS.map(({ about }) => about));
  assertEquals(
    ["failover", "billing", "recall", "continuation", "budgets"].filter((one) => !about.has(one as never)),
    [],
  );
});

Deno.test("each bug on purpose changes a text that the source has once", async () => {
  for (const { name, file, changes } of MUTATIONS) {
    const source = await Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
    for (const [from] of changes) assertEquals(source.split(from).length, 2, `${name}: ${from}`);
  }
});

Deno.test(`the search finds bugs on purpose within ${MOST_SCHEDULES} schedules (${COUNT} of ${MUTATIONS.length}, LANEWAY_SAMPLE=${TODAY})`, async () => {
  const source = await MutatedSource.open();
  try {
    for (const mutation of chosen) {
      const found = await source.find(mutation, MOST_SCHEDULES);
      assert(found, `Not found: ${mutation.name}`);
      report(`${mutation.name}: seed ${found.seed}, ${found.kept.length} parts: ${found.message.slice(0, 120)}`);
    }
  } finally {
    await source.close();
  }
});
