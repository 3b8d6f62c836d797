/** The conversations of agents: their sums, their bounds, and which turns missed the cache. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { cacheFindings } from "../../src/observe/cache_misses.ts";
import { Conversations, type Turn, type TurnFacts } from "../../src/observe/conversations.ts";
import type { Ended } from "../../src/observe/feed.ts";
import { law } from "../support/law.ts";

const BEGAN = Date.parse("2027-01-31T08:00:00.000Z");
const timeAt = (minutes: number) => new Date(BEGAN + minutes * 60_000).toISOString();

let last = 0;
const ended = (more: Partial<Ended> = {}): Ended => ({
  number: last,
  id: `req_${last++}`,
  time: timeAt(last),
  method: "POST",
  path: "/oss/v1/messages",
  key: "anna",
  lane: "oss",
  model: "glm-5.3",
  target: "fake/GLM",
  status: 200,
  durationMs: 1_000,
  session: "one",
  usage: { inputTokens: 4_000, outputTokens: 100, cachedInputTokens: 3_000 },
  cost: "0.01",
  ...more,
});
const facts = (more: Partial<TurnFacts> = {}): TurnFacts => ({
  session: "digest",
  isNamed: false,
  messages: 3,
  tools: [],
  ...more,
});

Deno.test("conversations: a row has the sums of its turns, and the latest one comes first", () => {
  const all = new Conversations();
  all.add(ended(), facts({ tools: ["read", "read"] }));
  all.add(ended({ session: "two" }), undefined);
  all.add(ended({ status: 500, error: "internal", usage: undefined, cost: undefined }), facts({ tools: ["grep"] }));
  all.add(ended({ session: undefined }), undefined);
  const [one, two, ...others] = all.all();
  assertEquals(others, [], "A request of no session is in none");
  const { name, turns, errors, inputTokens, cachedTokens, cacheHits, dollars, tools } = one!;
  assertEquals([name, turns, errors, inputTokens, cachedTokens, cacheHits, dollars], [
    "one",
    2,
    1,
    4_000,
    3_000,
    1,
    "0.01",
  ]);
  assertEquals(tools, { read: 2, grep: 1 });
  assertEquals(two!.name, "two");
  const { turns: [first] } = all.of(one!.id)!;
  assertEquals(all.of(first!.id)!.conversation.id, one!.id, "A request is known to be one of its turns");
  assertEquals(all.of("req_none"), undefined);
});

Deno.test("conversations: a client's own name counts before the digest, and two callers may use the same one", () => {
  const all = new Conversations();
  all.add(ended(), facts());
  all.add(ended({ session: undefined }), facts());
  all.add(ended({ key: "ben" }), undefined);
  assertEquals(all.all().map(({ name, key }) => [name, key]), [["one", "ben"], [undefined, "anna"], ["one", "anna"]]);
});

law(
  "conversations: they have no more turns than they may, and their sums are those of all of their turns",
  // Few sessions that go on have many turns; many take the place of each other.
  fc.integer({ min: 0, max: 6 }).chain((most) =>
    fc.array(fc.tuple(fc.integer({ min: 0, max: most }), fc.string({ maxLength: 300 })), { maxLength: 80, size: "max" })
  ),
  (requests) => {
    const all = new Conversations({ conversations: 4, turns: 12, turnsOfOne: 6 });
    for (const [session, model] of requests) all.add(ended({ session: String(session), model }), undefined);
    const rows = all.all();
    const kept = rows.map(({ id }) => all.of(id)!.turns.length);
    assert(rows.length <= 4 && kept.every((turns) => turns <= 6 && turns > 0), `${kept}`);
    assert(kept.reduce((sum, turns) => sum + turns, 0) <= 12, `${kept}`);
    if (requests.length > 0) assertEquals(rows[0]!.name, String(requests.at(-1)![0]));
    for (const { models } of rows) assert(models.length <= 40 && models.every((model) => model.length <= 100));
  },
);

function turnsOf(...turns: (Partial<Turn> & { at: number })[]): Turn[] {
  return turns.map(({ at, ...more }, index) => ({
    id: `${index}`,
    time: timeAt(at),
    status: 200,
    durationMs: 1_000,
    notes: 0,
    tools: [],
    model: "glm-5.3",
    target: "fake/GLM",
    provider: "one",
    messages: index,
    usage: { inputTokens: 10_000, outputTokens: 10, cachedInputTokens: 9_000 },
    ...more,
  }));
}

const MISSED = { inputTokens: 10_000, outputTokens: 10, cachedInputTokens: 0 };

Deno.test("cache misses: a turn names each reason that the turns tell", () => {
  const reasonsOf = (more: Partial<Turn> & { at: number }) => {
    const { outcome, expected, reasons } = cacheFindings(turnsOf({ at: 0 }, { at: 1 }, more)).get("2")!;
    return { outcome, expected, reasons };
  };
  assertEquals(reasonsOf({ at: 2 }), { outcome: "hit", expected: 10_000, reasons: [] });
  const missed = (more: Partial<Turn> & { at: number }) => {
    const { outcome, reasons } = reasonsOf({ usage: MISSED, ...more });
    assertEquals(outcome, "miss");
    return reasons;
  };
  assertEquals(missed({ at: 2 }), []);
  assertEquals(missed({ at: 2, target: "second/GLM", provider: "two" }), [
    { what: "target", before: "fake/GLM", after: "second/GLM" },
    { what: "provider", before: "one", after: "two" },
  ]);
  assertEquals(missed({ at: 11 }), [{ what: "pause", ms: 599_000 }]);
  assertEquals(missed({ at: 2, messages: 0 }), [{ what: "shorter", before: 1, after: 0 }]);
});

Deno.test("cache misses: an upstream that reports no cached tokens is not said to miss", () => {
  const turns = turnsOf({ at: 0, usage: MISSED }, { at: 1, usage: MISSED });
  assertEquals(cacheFindings(turns).get("1")!.outcome, "unknown");
});

Deno.test("cache misses: a turn is compared with the one before of the same model, and short ones are not", () => {
  const small = { model: "small", usage: { inputTokens: 200, outputTokens: 1 } };
  const found = cacheFindings(turnsOf({ at: 0 }, { at: 1, ...small }, { at: 2 }, { at: 3, ...small }));
  assertEquals([...found].map(([id, { outcome }]) => [id, outcome]), [["2", "hit"]]);
});
