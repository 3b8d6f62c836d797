import { assertEquals, assertLess } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { type Arrival, Arrivals } from "../../src/operations/arrivals.ts";
import { othersTurn } from "../../src/util/work.ts";

interface Rig {
  arrivals: Arrivals;
  /** What happened, in order: `read <text>`, `refused <message>`, `others`. */
  log: string[];
  /** The bytes set aside. */
  held(): number;
}

function newRig(onMessage: (arrival: Arrival) => void = ({ release }) => release()): Rig {
  const log: string[] = [];
  let held = 0;
  const arrivals = new Arrivals({
    caller: "key:one",
    hold(text) {
      if (text === "too much") throw new GatewayError("unavailable", text);
      held += text.length;
      return { bytes: text.length, release: () => held -= text.length };
    },
    parse(text) {
      if (text === "broken") throw new Error(text);
      return text;
    },
    async onMessage(arrival) {
      await Promise.resolve();
      log.push(`read ${arrival.body}`);
      onMessage(arrival);
    },
    async onRefused(thrown) {
      await Promise.resolve();
      log.push(`refused ${(thrown as Error).message}`);
    },
  });
  return { arrivals, log, held: () => held };
}

async function withOthers({ arrivals, log }: Rig): Promise<void> {
  while (arrivals.size > 0) {
    await othersTurn();
    log.push("others");
  }
}

Deno.test("arrivals: messages are read in order, refused ones too", async () => {
  const rig = newRig();
  for (const text of ["one", "broken", "too much", "four"]) rig.arrivals.add(text);
  rig.arrivals.add(new ArrayBuffer(1));
  rig.arrivals.refuse(new Error("six"));
  await withOthers(rig);
  const happened = rig.log.filter((entry) => entry !== "others");
  assertEquals(happened, [
    "read one",
    "refused broken",
    "refused too much",
    "read four",
    "refused Expected a text message",
    "refused six",
  ]);
  assertEquals(rig.held(), 0);
});

Deno.test("arrivals: a message alone waits for nobody", async () => {
  const rig = newRig();
  rig.arrivals.add("one");
  await new Promise<void>((resolve) => queueMicrotask(() => queueMicrotask(() => queueMicrotask(resolve))));
  await new Promise<void>((resolve) => queueMicrotask(resolve));
  assertEquals(rig.log, ["read one"]);
});

Deno.test("arrivals: what waits is counted, and gives its memory back when the connection ends", async () => {
  const rig = newRig();
  for (const text of ["one", "two", "three"]) rig.arrivals.add(text);
  assertEquals([rig.arrivals.size, rig.held()], [3, 11]);
  rig.arrivals.clear();
  await withOthers(rig);
  assertEquals([rig.log.filter((entry) => entry !== "others"), rig.held()], [["read one"], 0]);
});

Deno.test("arrivals: what waits for others waits for a few messages, however many connections are flooded", async () => {
  const CONNECTIONS = 100;
  const rigs = Array.from({ length: CONNECTIONS }, () => newRig());
  for (const { arrivals } of rigs) for (let sent = 0; sent < 20; sent++) arrivals.add("broken");
  const TURNS = 5;
  for (let turn = 0; turn < TURNS; turn++) await othersTurn();
  const refused = rigs.reduce((sum, { log }) => sum + log.length, 0);
  assertLess(refused, TURNS * CONNECTIONS / 2);
  for (const rig of rigs) await withOthers(rig);
});
