/** A process that counts by itself. */
import { assert, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import type { Permit } from "../../src/http/admission.ts";
import { createAdmission, type DayUse } from "../../src/http/quota.ts";
import { heldBy } from "../support/heap.ts";
import { testAdmission } from "./admission_contract.ts";

/** One day at a time. */
function daysInMemory(): DayUse {
  let spent: [day: number, tokens: number] = [0, 0];
  const of = (day: number) => spent[0] === day ? spent[1] : 0;
  return {
    open: () => Promise.resolve(),
    spent: (_name, day) => of(day),
    add: (_name, day, tokens) => void (spent = [day, Math.max(0, of(day) + tokens)]),
  };
}

function opened(start: number) {
  const clock = { ms: start };
  const now = () => clock.ms;
  return { clock, admission: createAdmission({ now, monotonic: now }, daysInMemory()) };
}

testAdmission("in a process", (start) => {
  const { clock, admission } = opened(start);
  return Promise.resolve({
    admission,
    pass: (ms) => void (clock.ms += ms),
    settled: () => Promise.resolve(),
    close: () => Promise.resolve(),
  });
});

Deno.test("admission in a process: whoever has no limit on a day waits for nobody", () => {
  const admission = createAdmission({ now: () => 0, monotonic: () => 0 }, daysInMemory());
  const account = admission({ name: "team", quota: { requestsPerMinute: 9, tokensPerMinute: 9 } })!;
  assert(!(account.admit(1) instanceof Promise));
  assert(!(account.takeCall() instanceof Promise));
});

/** So many others come, one each millisecond. */
function passBy(count: number, { clock, admission }: ReturnType<typeof opened>): void {
  for (let at = 0; at < count; at++) {
    clock.ms++;
    const permit = admission({ name: `other ${at}`, quota: { requestsPerMinute: 5 } })!.admit(0) as Permit;
    permit.settle();
  }
}

Deno.test("admission in a process: what a caller has used or runs is not forgotten, however many others come", async () => {
  const rig = opened(0);
  const quota = { requestsPerMinute: 1, tokensPerMinute: 600, concurrentRequests: 1 };
  const admit = async (tokens: number) => await rig.admission({ name: "team", quota })!.admit(tokens);
  const running = await admit(0);
  passBy(70_000, rig);
  await assertRejects(() => admit(0), GatewayError, 'Key "team" is limited to 1 concurrent request');
  running.settle(1_200);
  passBy(59_000, rig);
  await assertRejects(() => admit(60), GatewayError, 'Key "team" is limited to 600 tokens per minute');
  passBy(70_000, rig);
  (await admit(0)).settle();
  await assertRejects(() => admit(0));
});

Deno.test("admission in a process: accounts of callers that are gone take no memory", async () => {
  const bytes = await heldBy(() => {
    const rig = opened(0);
    passBy(300_000, rig);
    return rig;
  });
  assert(bytes < 60 * 2 ** 20, `${bytes} bytes are held`);
});
