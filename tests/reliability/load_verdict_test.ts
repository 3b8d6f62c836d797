/** The verdict on a load test notices what was promised and not kept. */
import { assertEquals } from "@std/assert";
import type { Asked } from "../bench/load/clients.ts";
import { type Facts, judge } from "../bench/load/verdict.ts";

function asked(changes: Partial<Asked> = {}): Asked {
  const tokens = { inputTokens: 11, outputTokens: 7 };
  return { kind: "whole", key: "app", from: 1_000, until: 1_100, by: "one", end: "served", ...tokens, ...changes };
}

const NOTHING = { requests: 0, inputTokens: 0, outputTokens: 0 };
const turn = (id: string, messages: number) => ({ id, messages, expected: messages });

function factsOf(changes: Partial<Facts> = {}): Facts {
  const all = [asked(), asked(), asked({ key: "limited", kind: "limited" })];
  return {
    asked: all,
    turns: [turn("a", 1), turn("b", 3)],
    kills: [],
    exits: [0, 0],
    stored: 2,
    used: {
      app: { requests: 2, inputTokens: 22, outputTokens: 14 },
      limited: { requests: 1, inputTokens: 11, outputTokens: 7 },
      few: NOTHING,
    },
    mostAtOnce: 5,
    alone: 0,
    tookMs: 1_000,
    ...changes,
  };
}

const broken = (changes: Partial<Facts>) =>
  judge(factsOf(changes)).filter(({ holds }) => !holds).map(({ promise }) => promise);

const failed = asked({ end: "failed", by: undefined, inputTokens: 0, outputTokens: 0 });
const kill = { replica: "one", from: 1_050, until: 1_060 };
const LOST = "no request is lost but by a kill";
const USAGE = 'usage of "app" is what clients saw';

Deno.test("load test: a request is lost unless it was at a replica that was killed then", () => {
  const { asked: all } = factsOf();
  assertEquals(broken({}), []);
  assertEquals(broken({ asked: [...all, failed] }), [LOST]);
  assertEquals(broken({ asked: [...all, failed], kills: [kill] }), []);
  assertEquals(broken({ asked: [...all, { ...failed, by: "two" }], kills: [kill] }), [LOST]);
  assertEquals(broken({ asked: [...all, failed], kills: [{ ...kill, from: 2_000, until: 2_010 }] }), [LOST]);
});

Deno.test("load test: limits, stored turns and exit codes are held to", () => {
  const limited = Array.from({ length: 62 }, () => asked({ key: "limited", kind: "limited" }));
  const used = { ...factsOf().used, app: NOTHING, limited: { requests: 62, inputTokens: 682, outputTokens: 434 } };
  assertEquals(broken({ asked: limited, used }), ["60 requests a minute, all together"]);
  assertEquals(broken({ mostAtOnce: 6 }), ["5 requests at once, all together"]);
  assertEquals(broken({ mostAtOnce: 6, alone: 1 }), []);
  assertEquals(broken({ stored: 1 }), ["stored turns are found"]);
  assertEquals(broken({ turns: [turn("a", 1), { id: "b", messages: 1, expected: 3 }] }), [
    "a turn knows all before it",
  ]);
  assertEquals(broken({ exits: [0, 1] }), ["whoever is stopped finishes"]);
});

Deno.test("load test: usage is what clients saw, but for a killed process's last second and what was cut", () => {
  const { used, asked: all } = factsOf();
  const less = { ...used, app: { requests: 1, inputTokens: 11, outputTokens: 7 } };
  const more = { ...used, app: { requests: 3, inputTokens: 33, outputTokens: 21 } };
  assertEquals(broken({ used: less }), [USAGE]);
  assertEquals(broken({ used: less, kills: [{ replica: "one", from: 1_500, until: 1_510 }] }), []);
  assertEquals(broken({ used: less, kills: [{ replica: "one", from: 9_500, until: 9_510 }] }), [USAGE]);
  assertEquals(broken({ used: less, kills: [{ replica: "two", from: 1_500, until: 1_510 }] }), [USAGE]);
  assertEquals(broken({ used: more }), [USAGE]);
  assertEquals(broken({ used: more, asked: [...all, failed], kills: [kill] }), []);
});
