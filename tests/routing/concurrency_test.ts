import { assertEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { Slots } from "../../src/routing/concurrency.ts";
import { within } from "../support/wait.ts";

const NEVER = new AbortController().signal;

Deno.test("slots: no more calls run than there are places, and one that ends lets the next one in", async () => {
  const slots = new Slots("up", { running: 2, waiting: 5, waitMs: 10_000 });
  const [first] = [await slots.take("a", NEVER), await slots.take("a", NEVER)];
  let third = false;
  const waiting = slots.take("a", NEVER).then((leave) => {
    third = true;
    return leave;
  });
  await Promise.resolve();
  assertEquals(third, false);
  first();
  first(); // Given back once, however often it is said.
  const leave = await waiting;
  assertEquals(third, true);
  let fourth = false;
  const next = slots.take("a", NEVER).then((leave) => {
    fourth = true;
    return leave;
  });
  await Promise.resolve();
  assertEquals(fourth, false);
  leave();
  (await next)();
});

Deno.test("slots: those who wait get their places in turn, whoever asked more often", async () => {
  const slots = new Slots("up", { running: 1, waiting: 10, waitMs: 10_000 });
  const leave = await slots.take("greedy", NEVER);
  const order: string[] = [];
  const wait = async (caller: string, name: string) => {
    const done = await slots.take(caller, NEVER);
    order.push(name);
    done();
  };
  const all = [
    wait("greedy", "g1"),
    wait("greedy", "g2"),
    wait("greedy", "g3"),
    wait("modest", "m1"),
    wait("other", "o1"),
    wait("modest", "m2"),
  ];
  leave();
  await Promise.all(all);
  assertEquals(order, ["g1", "m1", "o1", "g2", "m2", "g3"]);
});

Deno.test("slots: a full line and a long wait are told as busy, with the time to come back", async () => {
  const slots = new Slots("up", { running: 1, waiting: 1, waitMs: 5 });
  const leave = await slots.take("a", NEVER);
  const late = slots.take("a", NEVER);
  const refused = await assertRejects(() => slots.take("b", NEVER), GatewayError, 'Upstream "up" is busy');
  assertEquals([refused.code, refused.details.retryAfter], ["unavailable", "1"]);
  assertEquals((await assertRejects(() => late, GatewayError)).code, "unavailable");
  // Those who gave up stand in no line, and hold nothing.
  const next = slots.take("c", NEVER);
  leave();
  (await next)();
  (await slots.take("d", NEVER))();
});

Deno.test("slots: who has got a place makes room in the line", async () => {
  const slots = new Slots("up", { running: 1, waiting: 1, waitMs: 10_000 });
  const first = await slots.take("a", NEVER);
  const second = slots.take("a", NEVER);
  first();
  const third = slots.take("a", NEVER);
  (await second)();
  (await third)();
});

Deno.test("slots: a client that has left by then stands in no line", async () => {
  const slots = new Slots("up", { running: 1, waiting: 1, waitMs: 10_000 });
  const leave = await slots.take("a", NEVER);
  await assertRejects(() => within(1_000, slots.take("b", AbortSignal.abort(new Error("left")))), Error, "left");
  const next = slots.take("c", NEVER);
  leave();
  (await next)();
});

Deno.test("slots: a client that leaves while it waits gives its turn to the next", async () => {
  const slots = new Slots("up", { running: 1, waiting: 5, waitMs: 10_000 });
  const leave = await slots.take("a", NEVER);
  const gone = new AbortController();
  const left = slots.take("a", gone.signal);
  const next = slots.take("b", NEVER);
  gone.abort(new Error("left"));
  await assertRejects(() => left, Error, "left");
  leave();
  (await next)();
});
