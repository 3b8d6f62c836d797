import { assertEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { Slots } from "../../src/upstream/slots.ts";

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
  (await waiting)();
  assertEquals(third, true);
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
  leave();
  // Those who gave up hold nothing.
  (await slots.take("c", NEVER))();
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
