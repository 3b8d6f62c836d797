import { assert, assertEquals, assertRejects } from "@std/assert";
import { ByteReader } from "../../src/util/byte_reader.ts";
import {
  runExclusively,
  runSliced,
  runStep,
  runUnsliced,
  sliced,
  type SlicedWork,
  waitToBegin,
  yieldToEventLoop,
} from "../../src/util/sliced_work.ts";
import { readFrames } from "../support/sources.ts";
import { fromResponse } from "../../src/platform/fetch_transport.ts";
import { readBytes } from "../../src/upstream/send.ts";
import { bodyOf, toArray } from "../support/chunks.ts";
import { turnsDuring } from "../support/turns.ts";

function* workOf(slices: number, done: string[] = [], name = ""): SlicedWork<number> {
  for (let slice = 0; slice < slices; slice++) {
    done.push(name);
    yield;
  }
  return slices;
}

Deno.test("work: others have a turn after each slice that took long", async () => {
  const turns = await turnsDuring(() => runSliced(workOf(20)));
  assert(turns >= 10, `${turns} turns`);
});

Deno.test("work: its result is the same at once and in slices, and so is its failure", async () => {
  assertEquals([runUnsliced(workOf(3)), await runSliced(workOf(3))], [3, 3]);
  // deno-lint-ignore require-yield
  const failing = function* (): SlicedWork<void> {
    throw new RangeError("too much");
  };
  await assertRejects(async () => await runSliced(failing()), RangeError, "too much");
  await assertRejects(async () => await runStep(() => runUnsliced(failing())), RangeError, "too much");
});

Deno.test("work: of several long works one goes on at a time, and none is forgotten", async () => {
  const done: string[] = [];
  const works = ["a", "b", "c", "d"].map((name) => () => runSliced(workOf(10, done, name)));
  const turns = await turnsDuring(() => Promise.all(works.map((begin) => begin())));
  assertEquals(done.toSorted().join(""), "a".repeat(10) + "b".repeat(10) + "c".repeat(10) + "d".repeat(10));
  // Forty slices: were one of each work done at a time, there would be ten turns.
  assert(turns >= 20, `${turns} turns`);
});

Deno.test("work: others have a turn between many items", async () => {
  const turns = await turnsDuring(async () => assertEquals((await toArray(sliced([1, 2, 3, 4, 5]))).length, 5));
  assert(turns >= 2, `${turns} turns`);
});

Deno.test("work: sockets have a turn between slices, too", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepted = listener.accept();
  using client = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
  using server = await accepted;
  let atWork = true;
  let bytes = 0;
  const pings = (async () => {
    const byte = new Uint8Array(1);
    while (atWork) {
      const read = server.read(byte);
      await client.write(byte);
      await read;
      bytes++;
    }
  })();
  await turnsDuring(() => runSliced(workOf(200)));
  atWork = false;
  await pings;
  assert(bytes >= 50, `${bytes} bytes beside 200 slices`);
});

Deno.test("work: whoever leaves it while others have their turn leaves nothing behind", () => {
  // Deno's leak check judges, as it does for every test. One turn alone may be over before it looks.
  for (let i = 0; i < 20; i++) void yieldToEventLoop();
});

const PIECES = 50;
/** Comments of this length, so that each piece is work enough to look at the clock. */
const pieces = (length = 8_192) =>
  Array.from({ length: PIECES }, () => new TextEncoder().encode(`: ${"x".repeat(length)}\n\n`));

for (
  const [name, read] of Object.entries({
    "bytes": async () => {
      const reader = new ByteReader(bodyOf(pieces()), 8_192);
      while (await reader.read());
    },
    "a whole answer": () => readBytes(fromResponse(new Response(bodyOf(pieces()))), 1e6),
    "a stream of comments": () => toArray(readFrames(bodyOf(pieces()))),
  })
) {
  Deno.test(`work: whoever reads ${name} that comes as fast as it is read leaves others a turn with each piece`, async () => {
    const turns = await turnsDuring(read, 2);
    assert(turns >= PIECES / 2, `${turns} turns`);
  });
}

Deno.test("work: whoever reads very many short pieces leaves others a turn with some dozens of them", async () => {
  const read = async () => {
    const reader = new ByteReader(bodyOf(Array.from({ length: 16 }, () => pieces(4)).flat()), 8_192);
    while (await reader.read());
  };
  const turns = await turnsDuring(read, 2);
  assert(turns >= 16, `${turns} turns`);
});

Deno.test("work: of large works one is done at a time, callers alternate, and a failure holds up nobody", async () => {
  const done: string[] = [];
  const large = (caller: string, name: string) =>
    runExclusively(caller, async () => {
      done.push(`${name} begins`);
      await yieldToEventLoop();
      done.push(`${name} ends`);
      if (name === "a2") throw new RangeError("too much");
      return name;
    });
  const works = [large("a", "a1"), large("a", "a2"), large("a", "a3"), large("b", "b1")];
  const outcomes = await Promise.allSettled(works);
  assertEquals(done, ["a1", "b1", "a2", "a3"].flatMap((name) => [`${name} begins`, `${name} ends`]));
  assertEquals(outcomes.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled", "fulfilled"]);
});

Deno.test("work: of many requests that begin at once only some do before others have their turn, and callers alternate", async () => {
  await yieldToEventLoop();
  const begun: string[] = [];
  const begin = async (caller: string) => {
    await waitToBegin(caller, 0);
    begun.push(caller);
  };
  const turns = await turnsDuring(() => {
    const all = Array.from({ length: 200 }, () => begin("greedy"));
    return Promise.all([...all, begin("other")]);
  });
  assert(turns >= 10, `${turns} turns`);
  assertEquals(begun.length, 201);
  assert(begun.indexOf("other") < 50, `the other caller was served after ${begun.indexOf("other")}`);
});

Deno.test("work: a large body counts for many small requests, and what comes one after another waits for nothing", async () => {
  await yieldToEventLoop();
  await yieldToEventLoop();
  const begun = [waitToBegin("a", 2 ** 21), waitToBegin("a", 0)];
  assertEquals(begun.map((turn) => turn !== undefined), [false, true]);
  await begun[1];
  await yieldToEventLoop();
  await yieldToEventLoop();
  assertEquals(waitToBegin("a", 0), undefined);
});

Deno.test("work: of many works that wait for each other, each does a whole slice in its turn", async () => {
  let [last, switches] = [-1, 0];
  function* steps(own: number): SlicedWork<void> {
    for (let step = 0; step < 100; step++) {
      if (own !== last) switches++;
      last = own;
      const until = performance.now() + 1;
      while (performance.now() < until);
      yield;
    }
  }
  await Promise.all(Array.from({ length: 12 }, (_, own) => runSliced(steps(own))));
  assert(switches < 600, `${switches} of 1,200 steps were turns`);
});
