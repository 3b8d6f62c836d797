import { assertEquals } from "@std/assert";
import { type Effort, EFFORTS, type Thinking } from "../../src/canonical/generate.ts";
import { clampThinking } from "../../src/transforms/thinking.ts";

function clamp(thinking: Thinking | undefined, levels: readonly Effort[] | undefined) {
  const notes: string[] = [];
  return { thinking: clampThinking(thinking, levels, (note) => notes.push(note)), notes };
}

/** What becomes of each effort, in the order of `EFFORTS`: none, minimal, low, medium, high, xhigh, max. */
const TABLE: [levels: Effort[], expected: (Effort | undefined)[]][] = [
  [["low", "medium", "high"], ["low", "low", "low", "medium", "high", "high", "high"]],
  [["none", "low", "high", "max"], ["none", "low", "low", "high", "high", "max", "max"]],
  [["low", "high", "max"], ["low", "low", "low", "high", "high", "max", "max"]],
  [["none", "low", "medium", "xhigh"], ["none", "low", "low", "medium", "xhigh", "xhigh", "xhigh"]],
  [["none", "high"], ["none", "high", "high", "high", "high", "high", "high"]],
  [["high"], ["high", "high", "high", "high", "high", "high", "high"]],
  [["max", "low"], ["low", "low", "low", "low", "max", "max", "max"]],
  [["none"], ["none", undefined, undefined, undefined, undefined, undefined, undefined]],
  [[], [undefined, undefined, undefined, undefined, undefined, undefined, undefined]],
  [[...EFFORTS], [...EFFORTS]],
];

for (const [levels, expected] of TABLE) {
  Deno.test(`effort: on a model that knows ${levels.join(", ") || "none at all"}`, () => {
    for (const [position, effort] of EFFORTS.entries()) {
      const wanted = expected[position];
      const { thinking, notes } = clamp({ effort }, levels);
      assertEquals(thinking, wanted === undefined ? undefined : { effort: wanted }, effort);
      const note = wanted === undefined ? `dropped effort ${effort}` : `clamped effort ${effort}>${wanted}`;
      assertEquals(notes, wanted === effort ? [] : [note]);
    }
  });
}

Deno.test("effort: a model of which nothing is known gets what the client asked for", () => {
  assertEquals(clamp({ effort: "xhigh" }, undefined), { thinking: { effort: "xhigh" }, notes: [] });
});

Deno.test("effort: nothing asked, nothing sent", () => {
  assertEquals(clamp(undefined, ["low"]), { thinking: undefined, notes: [] });
});

Deno.test("effort: a budget in tokens is a level, and held to those that the model knows", () => {
  assertEquals(clamp({ enabled: true, budgetTokens: 20_000 }, ["low", "medium"]), {
    thinking: { enabled: true, effort: "medium" },
    notes: ["clamped effort high>medium"],
  });
  assertEquals(clamp({ enabled: true, budgetTokens: 20_000 }, undefined).notes, []);
});

Deno.test("effort: thinking that cannot be switched off goes down to its lowest level", () => {
  assertEquals(clamp({ enabled: false }, ["low", "high"]), {
    thinking: { enabled: true, effort: "low" },
    notes: ["clamped effort none>low"],
  });
  assertEquals(clamp({ enabled: false }, ["none", "high"]), { thinking: { enabled: false }, notes: [] });
});

Deno.test("effort: thinking without a level is left to the model", () => {
  assertEquals(clamp({ enabled: true }, ["low"]), { thinking: { enabled: true }, notes: [] });
});
