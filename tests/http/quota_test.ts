import { assert, assertEquals, assertThrows } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { createAdmission, type DayUse, type Quota } from "../../src/http/quota.ts";
import { heldBy } from "../support/heap.ts";

const MIDNIGHT = Date.UTC(2026, 10, 21);

/** One day at a time. */
function daysInMemory(): DayUse {
  let spent: [day: number, tokens: number] = [0, 0];
  const of = (day: number) => spent[0] === day ? spent[1] : 0;
  return {
    open: () => Promise.resolve(),
    spent: (_name, day) => of(day),
    add: (_name, day, tokens) => void (spent = [day, of(day) + tokens]),
  };
}

function account(quota: Quota, start = MIDNIGHT) {
  const clock = { ms: start };
  const admission = createAdmission({ now: () => clock.ms, monotonic: () => clock.ms }, daysInMemory());
  const key = { name: "team", quota };
  const admit = (tokens = 0) => admission(key)!.admit(tokens);
  const refusal = (tokens = 0) => {
    const error = assertThrows(() => admit(tokens), GatewayError);
    assertEquals(error.code, "rate_limit");
    return `${error.message} · ${error.details.retryAfter}`;
  };
  return { clock, admission, key, admit, refusal };
}

Deno.test("admission: a key without limits has no account", () => {
  assertEquals(createAdmission({ now: Date.now, monotonic: Date.now }, daysInMemory())({ name: "free" }), undefined);
});

Deno.test("admission: so many requests a minute, at once or as they come", () => {
  const { clock, admit, refusal } = account({ requestsPerMinute: 6 });
  for (let time = 0; time < 6; time++) admit().release();
  assertEquals(refusal(), 'Key "team" may use no more than 6 requests a minute · 10');
  clock.ms += 9_999;
  refusal();
  clock.ms += 1;
  admit();
  clock.ms += 3_600_000;
  for (let time = 0; time < 6; time++) admit();
  refusal();
});

Deno.test("admission: tokens are counted when they are used, and waited for", () => {
  const { clock, admit, refusal } = account({ tokensPerMinute: 600 });
  admit(100).charge(700);
  // 200 too many: 20 s until there is nothing owed, and 10 s for the 100.
  assertEquals(refusal(100), 'Key "team" may use no more than 600 tokens a minute · 30');
  clock.ms += 30_000;
  admit(100);
});

Deno.test("admission: a request larger than a minute's worth is served when all of that is there", () => {
  const { clock, admit, refusal } = account({ tokensPerMinute: 600 });
  admit(1).release();
  refusal(5_000);
  clock.ms += 60_000;
  admit(5_000);
  assertEquals(refusal(1), 'Key "team" may use no more than 600 tokens a minute · 441');
});

Deno.test("admission: a day's tokens are there again at midnight UTC", () => {
  const { clock, admit, refusal } = account({ tokensPerDay: 1_000 }, MIDNIGHT + 86_400_000 - 3_600_000);
  admit(400).charge(600);
  assertEquals(refusal(), 'Key "team" may use no more than 1000 tokens a day · 3600');
  clock.ms += 3_600_000;
  admit();
});

Deno.test("admission: so many requests at once, and one that is over makes room", () => {
  const { admit, refusal } = account({ concurrentRequests: 2 });
  const first = admit();
  admit();
  assertEquals(refusal(), 'Key "team" may use no more than 2 requests at once · 1');
  first.release();
  first.release();
  admit();
  refusal();
});

Deno.test("admission: one key's use is not another's, and a refused request uses nothing", () => {
  const { admission, admit, refusal } = account({ requestsPerMinute: 1 });
  admit();
  for (let time = 0; time < 10; time++) refusal();
  admission({ name: "other", quota: { requestsPerMinute: 1 } })!.admit(0);
});

Deno.test("admission: what is left is told of each limit", () => {
  const { clock, admission, key, admit } = account({ requestsPerMinute: 10, tokensPerMinute: 1_000 });
  admit(300).charge(200);
  clock.ms += 6_000;
  assertEquals(admission(key)!.allowance(), {
    requests: { limit: 10, remaining: 10, resetMs: 0 },
    tokens: { limit: 1_000, remaining: 600, resetMs: 24_000 },
  });
});

Deno.test("admission: a changed limit counts from then on, and the day's use stays", () => {
  const { admission, admit } = account({ tokensPerDay: 1_000 });
  admit(900);
  const tighter = { name: "team", quota: { tokensPerDay: 800 } };
  assertThrows(() => admission(tighter)!.admit(0), GatewayError, "800 tokens a day");
});

Deno.test("admission: the same limits, read anew, are the same account", () => {
  const { admission, admit } = account({ requestsPerMinute: 1 });
  admit();
  assertThrows(() => admission({ name: "team", quota: { requestsPerMinute: 1 } })!.admit(0), GatewayError);
});

Deno.test("admission: what is owed is told as nothing left, and lets nobody in", () => {
  const { admission, key, admit, refusal } = account({ tokensPerMinute: 600 });
  admit(600).charge(60);
  assertEquals(admission(key)!.allowance().tokens, { limit: 600, remaining: 0, resetMs: 66_000 });
  assertEquals(refusal(0), 'Key "team" may use no more than 600 tokens a minute · 7');
});

Deno.test("admission: an answer puts a key into debt by a minute's worth at most, and what was known before in full", () => {
  const { clock, admit, refusal } = account({ tokensPerMinute: 600 });
  const permit = admit(100);
  permit.charge(1e9);
  permit.release();
  assertEquals(refusal(1), 'Key "team" may use no more than 600 tokens a minute · 61');
  clock.ms += 120_000;
  admit(100).charge(-1e9);
  admit(600).release();
  refusal(100);
  clock.ms += 60_000;
  // A request that is larger than a minute's worth, by the gateway's own count, is waited for in full; its answer adds nothing.
  const large = admit(6_000);
  assertEquals(refusal(1), 'Key "team" may use no more than 600 tokens a minute · 541');
  large.charge(1e9);
  assertEquals(refusal(1), 'Key "team" may use no more than 600 tokens a minute · 541');
});

/** So many others come, one each millisecond. */
function passBy(count: number, { clock, admission }: ReturnType<typeof account>): void {
  for (let at = 0; at < count; at++) {
    clock.ms++;
    admission({ name: `other ${at}`, quota: { requestsPerMinute: 5 } })!.admit(0).release();
  }
}

Deno.test("admission: what a caller has used or runs is not forgotten, however many others come", () => {
  const rig = account({ requestsPerMinute: 1, tokensPerMinute: 600, concurrentRequests: 1 });
  const running = rig.admit(0);
  passBy(70_000, rig);
  assertEquals(rig.refusal(), 'Key "team" may use no more than 1 requests at once · 1');
  running.charge(1_200);
  running.release();
  passBy(59_000, rig);
  assertEquals(rig.refusal(60), 'Key "team" may use no more than 600 tokens a minute · 7');
  passBy(70_000, rig);
  rig.admit(0).release();
  rig.refusal();
});

Deno.test("admission: accounts of callers that are gone take no memory", async () => {
  const bytes = await heldBy(() => {
    const rig = account({});
    passBy(300_000, rig);
    return rig;
  });
  assert(bytes < 60 * 2 ** 20, `${bytes} bytes are held`);
});
