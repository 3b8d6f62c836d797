import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { rank, type RankedDocument } from "../../src/canonical/rerank.ts";
import { GatewayError } from "../../src/errors.ts";

const scored = (...scores: number[]): RankedDocument[] => scores.map((score, index) => ({ index, score }));

Deno.test("the most relevant document comes first, logits below zero too", () => {
  assertEquals(rank(scored(-7.5, 2, -0.5), 3).map(({ index }) => index), [1, 2, 0]);
});

Deno.test("documents that are alike keep the order of the request, whatever order the upstream gives", () => {
  const upstream = [{ index: 2, score: 1 }, { index: 3, score: 5 }, { index: 0, score: 1 }, { index: 1, score: 1 }];
  assertEquals(rank(upstream, 4).map(({ index }) => index), [3, 0, 1, 2]);
});

Deno.test("a ranking that is not of these documents is refused", () => {
  const cases: [scores: RankedDocument[], count: number, message: string][] = [
    [scored(1), 2, "The upstream ranked 1 of 2 documents"],
    [[], 1, "The upstream ranked 0 of 1 documents"],
    [scored(1, 2), 1, "The upstream ranked document 1 of 1"],
    [[{ index: -1, score: 1 }], 1, "The upstream ranked document -1 of 1"],
    [[{ index: 0.5, score: 1 }], 1, "The upstream ranked document 0.5 of 1"],
    [[{ index: 0, score: 1 }, { index: 0, score: 2 }], 2, "The upstream ranked document 0 twice"],
    [scored(1, NaN), 2, "The upstream's score of document 1 is not a finite number"],
    [scored(Infinity), 1, "The upstream's score of document 0 is not a finite number"],
  ];
  for (const [scores, count, message] of cases) {
    assertEquals(assertThrows(() => rank(scores, count), GatewayError, message).code, "upstream_error");
  }
});

Deno.test("a ranking holds every document once, falls, and does not depend on the order that it came in", () => {
  const scores = fc.array(
    fc.oneof(fc.integer({ min: -2, max: 2 }), fc.double({ noNaN: true, noDefaultInfinity: true })),
  );
  const shuffled = scores.map((all) => scored(...all)).chain((all) =>
    fc.record({
      all: fc.constant(all),
      mixed: fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }),
    })
  );
  fc.assert(
    fc.property(shuffled, ({ all, mixed }) => {
      const before = structuredClone(mixed);
      const ranked = rank(mixed, all.length);
      assertEquals(mixed, before);
      assertEquals(ranked, rank(all, all.length));
      assertEquals(ranked.toSorted((a, b) => a.index - b.index), all);
      for (const [position, { index, score }] of ranked.entries()) {
        const next = ranked[position + 1];
        if (next && !(score > next.score)) assertEquals([score, index < next.index], [next.score, true]);
      }
    }),
    { seed: 20261121 },
  );
});
