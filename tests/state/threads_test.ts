/** Threads on every engine: an answer is continued once, whichever gateway is first. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { createThreads, RENEW_MS, type Threads } from "../../src/state/threads.ts";
import { assistant, RETENTION_MS, user } from "./continuity/client.ts";
import { ENGINES } from "./engines.ts";

/** How long a gateway that is gone holds a claim. */
const CLAIM_MS = 60_000;
const HOUR_MS = 3_600_000;
const ADA = "ada";

const OPTIONS = {
  retentionMs: 4 * HOUR_MS + RETENTION_MS,
  patienceMs: 30_000,
  writeMs: 30_000,
  limits: { characters: 1_000_000, values: 1_000_000 },
};

let made = 0;
function threadsOn(store: Store, now: () => number): Threads {
  return createThreads({ ...OPTIONS, store, now, newId: () => `claim-${++made}` });
}

async function add(threads: Threads, id: string, text: string, previous?: string, owner = ADA): Promise<void> {
  const stored = previous === undefined ? undefined : await threads.open(previous, owner);
  const response = {
    model: "m",
    content: [{ type: "text" as const, text: `Re: ${text}` }],
    finish: { reason: "stop" as const },
    usage: { inputTokens: 1, outputTokens: 1 },
  };
  const facts = { id, previous, created: 1, completed: 2, model: "m", messages: [user(text)], response, keep: {} };
  const setup = previous === undefined ? { setup: { system: "Be brief." } } : {};
  await threads.remember({ ...facts, ...setup }, "t", owner, stored?.conversation);
}

for (const [kind, { isMissing, run }] of Object.entries(ENGINES)) {
  const test = (name: string, use: (one: Threads, two: Threads, clock: { time: number }) => Promise<void>) =>
    Deno.test({
      name: `threads, ${kind}: ${name}${isMissing ? " (skipped: there is no such server)" : ""}`,
      ignore: isMissing,
      fn: () =>
        run(async (open, clock) => {
          const now = () => clock.time;
          // A store in memory is that of one process.
          const first = open();
          await use(threadsOn(first, now), threadsOn(kind === "memory" ? first : open(), now), clock);
        }),
    });

  test(
    "of many that claim an answer at once, one holds it; then it is in flight, and then continued",
    async (one, two) => {
      await add(one, "msg_1", "a");
      const { conversation, setup, messages } = (await two.open("msg_1", ADA))!;
      assertEquals(setup, { system: "Be brief." });
      assertEquals(messages.map(({ role }) => role), ["user", "assistant"]);
      const claims = await Promise.all(
        Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? one : two).claim("msg_1", ADA, conversation)),
      );
      assertEquals(claims.map(({ state }) => state).toSorted(), ["held", ...Array(9).fill("in flight")].toSorted());
      const held = claims.find(({ state }) => state === "held");
      assert(held?.state === "held");
      await add(two, "msg_2", "b", "msg_1");
      assertEquals((await one.claim("msg_1", ADA, conversation)).state, "continued");
      await held.release();
      assertEquals((await one.claim("msg_1", ADA, conversation)).state, "continued");
      assertEquals((await one.open("msg_1", ADA))!.isContinued, true);
      const next = (await one.open("msg_2", ADA))!;
      assertEquals([next.isContinued, next.messages], [false, [
        user("a"),
        assistant("Re: a"),
        user("b"),
        assistant("Re: b"),
      ]]);
    },
  );

  test("a claim that is given back can be taken again", async (one, two) => {
    await add(one, "msg_1", "a");
    const { conversation } = (await two.open("msg_1", ADA))!;
    for (const threads of [one, two, one]) {
      const claim = await threads.claim("msg_1", ADA, conversation);
      assert(claim.state === "held");
      await claim.release();
    }
  });

  test("a claim of a gateway that is gone ends by itself", async (one, two, clock) => {
    await add(one, "msg_1", "a");
    const { conversation } = (await two.open("msg_1", ADA))!;
    assertEquals((await one.claim("msg_1", ADA, conversation)).state, "held");
    clock.time += CLAIM_MS - 1;
    assertEquals((await two.claim("msg_1", ADA, conversation)).state, "in flight");
    clock.time += 1;
    assertEquals((await two.claim("msg_1", ADA, conversation)).state, "held");
  });

  test("a claim is held for as long as it is renewed, and until it is given back", async (one, two, clock) => {
    await add(one, "msg_1", "a");
    const { conversation } = (await two.open("msg_1", ADA))!;
    const claim = await one.claim("msg_1", ADA, conversation);
    assert(claim.state === "held");
    for (let at = 0; at < 12; at++) {
      clock.time += RENEW_MS;
      assertEquals(await claim.renew(), true);
      assertEquals((await two.claim("msg_1", ADA, conversation)).state, "in flight");
    }
    clock.time += CLAIM_MS - 1;
    assertEquals((await two.claim("msg_1", ADA, conversation)).state, "in flight");
    await claim.release();
    const next = await two.claim("msg_1", ADA, conversation);
    assertEquals([next.state, await claim.renew()], ["held", false]);
    assert(next.state === "held");
    await next.release();
    assertEquals((await one.claim("msg_1", ADA, conversation)).state, "held");
  });

  test("a claim that has ended is held again once it is renewed, unless another has one", async (one, two, clock) => {
    await add(one, "msg_1", "a");
    const { conversation } = (await two.open("msg_1", ADA))!;
    for (const isTaken of [false, true]) {
      const late = await one.claim("msg_1", ADA, conversation);
      assert(late.state === "held");
      clock.time += CLAIM_MS;
      const next = isTaken ? await two.claim("msg_1", ADA, conversation) : undefined;
      assertEquals(await late.renew(), !isTaken);
      assertEquals((await two.claim("msg_1", ADA, conversation)).state, "in flight");
      await late.release();
      const other = await one.claim("msg_1", ADA, conversation);
      assertEquals([next?.state, other.state], isTaken ? ["held", "in flight"] : [undefined, "held"]);
      if (other.state === "held") await other.release();
    }
  });

  test("a claim that ended by itself takes nobody's when it is given back", async (one, two, clock) => {
    await add(one, "msg_1", "a");
    const { conversation } = (await two.open("msg_1", ADA))!;
    const slow = await one.claim("msg_1", ADA, conversation);
    clock.time += CLAIM_MS;
    const next = await two.claim("msg_1", ADA, conversation);
    assert(slow.state === "held" && next.state === "held");
    await slow.release();
    assertEquals((await one.claim("msg_1", ADA, conversation)).state, "in flight");
    await next.release();
    assertEquals((await one.claim("msg_1", ADA, conversation)).state, "held");
  });

  test("of two turns that follow one answer, one is stored, and nothing of the other", async (one, two) => {
    await add(one, "msg_1", "a");
    const results = await Promise.allSettled([add(one, "msg_2", "b", "msg_1"), add(two, "msg_3", "c", "msg_1")]);
    assertEquals(results.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    const found = await Promise.all(["msg_2", "msg_3"].map((id) => one.open(id, ADA)));
    assertEquals(found.filter((thread) => thread).length, 1);
    await assertRejects(() => add(two, "msg_4", "d", "msg_1"));
  });

  test("an owner finds nothing of another", async (one, two) => {
    await add(one, "msg_1", "a");
    assertEquals(await two.open("msg_1", "bob"), undefined);
    assertEquals(await two.find("msg_1", "bob"), undefined);
    await add(two, "msg_1", "mine", undefined, "bob");
    assertEquals((await one.open("msg_1", "bob"))!.messages[0], user("mine"));
    assertEquals((await one.open("msg_1", ADA))!.messages[0], user("a"));
  });
}

Deno.test("threads: a claim that the store takes too long for is given back once it is there", async () => {
  const inner = createMemoryStore({ now: () => 0, limitBytes: 1_000_000 });
  const gate = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  let isSlow = false;
  const store: Store = {
    ...inner,
    async add(...args) {
      if (isSlow) await gate.promise;
      return await inner.add(...args);
    },
    async delete(...keys) {
      const wasThere = await inner.delete(...keys);
      gone.resolve();
      return wasThere;
    },
  };
  const threads = threadsOn(store, () => 0);
  await add(threads, "msg_1", "a");
  const { conversation } = (await threads.open("msg_1", ADA))!;
  isSlow = true;
  const hasty = createThreads({ ...OPTIONS, store, now: () => 0, patienceMs: 1, newId: () => "hasty" });
  await assertRejects(() => hasty.claim("msg_1", ADA, conversation), GatewayError);
  isSlow = false;
  gate.resolve();
  await gone.promise;
  assertEquals((await threads.claim("msg_1", ADA, conversation)).state, "held");
});

Deno.test("threads: a claim that is given back while it is renewed is not held again", async () => {
  const inner = createMemoryStore({ now: () => time, limitBytes: 1_000_000 });
  const gate = Promise.withResolvers<void>();
  let time = 0;
  const store: Store = {
    ...inner,
    async add(...args) {
      if (time > 0) await gate.promise;
      return await inner.add(...args);
    },
  };
  const [threads, others] = [store, inner].map((one) => threadsOn(one, () => time));
  await add(threads!, "msg_1", "a");
  const { conversation } = (await threads!.open("msg_1", ADA))!;
  const claim = await threads!.claim("msg_1", ADA, conversation);
  assert(claim.state === "held");
  time = CLAIM_MS;
  const renewing = claim.renew();
  await claim.release();
  gate.resolve();
  assertEquals(await renewing, false);
  assertEquals((await others!.claim("msg_1", ADA, conversation)).state, "held");
});

Deno.test("threads: a request whose claim fails leaves that of another", async () => {
  const store = createMemoryStore({ now: () => 0, limitBytes: 1_000_000 });
  const gone = Promise.withResolvers<void>();
  const broken: Store = {
    ...store,
    add: () => Promise.reject(new Error("The connection broke")),
    async delete(...keys) {
      const wasThere = await store.delete(...keys);
      gone.resolve();
      return wasThere;
    },
  };
  const threads = threadsOn(store, () => 0);
  await add(threads, "msg_1", "a");
  const { conversation } = (await threads.open("msg_1", ADA))!;
  assertEquals((await threads.claim("msg_1", ADA, conversation)).state, "held");
  await assertRejects(() => threadsOn(broken, () => 0).claim("msg_1", ADA, conversation), GatewayError);
  await gone.promise;
  assertEquals((await threads.claim("msg_1", ADA, conversation)).state, "in flight");
});

Deno.test("threads: a request that cannot check its claim gives it back", async () => {
  const store = createMemoryStore({ now: () => 0, limitBytes: 1_000_000 });
  const threads = threadsOn(store, () => 0);
  await add(threads, "msg_1", "a");
  const { conversation } = (await threads.open("msg_1", ADA))!;
  const broken: Store = { ...store, get: () => Promise.reject(new Error("The connection broke")) };
  await assertRejects(() => threadsOn(broken, () => 0).claim("msg_1", ADA, conversation), GatewayError);
  assertEquals((await threads.claim("msg_1", ADA, conversation)).state, "held");
});
