import { assertEquals, assertLess } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { type ReceivedMessage, ReceivedMessages } from "../../src/socket/received_messages.ts";
import { yieldToEventLoop } from "../../src/util/sliced_work.ts";

interface Rig {
  received: ReceivedMessages;
  /** What happened, in order: `read <text>`, `refused <message>`, `others`. */
  log: string[];
  /** The bytes set aside. */
  held(): number;
}

function newRig(onMessage: (message: ReceivedMessage) => void = ({ release }) => release()): Rig {
  const log: string[] = [];
  let held = 0;
  const received = new ReceivedMessages({
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
    async onMessage(message) {
      await Promise.resolve();
      log.push(`read ${message.body}`);
      onMessage(message);
    },
    async onRefused(thrown) {
      await Promise.resolve();
      log.push(`refused ${(thrown as Error).message}`);
    },
  });
  return { received, log, held: () => held };
}

async function withOthers({ received, log }: Rig): Promise<void> {
  while (received.size > 0) {
    await yieldToEventLoop();
    log.push("others");
  }
}

Deno.test("received messages: messages are read in order, refused ones too", async () => {
  const rig = newRig();
  for (const text of ["one", "broken", "too much", "four"]) rig.received.add(text);
  rig.received.add(new ArrayBuffer(1));
  rig.received.refuse(new Error("six"));
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

Deno.test("received messages: a message alone waits for nobody", async () => {
  const rig = newRig();
  rig.received.add("one");
  await new Promise<void>((resolve) => queueMicrotask(() => queueMicrotask(() => queueMicrotask(resolve))));
  await new Promise<void>((resolve) => queueMicrotask(resolve));
  assertEquals(rig.log, ["read one"]);
});

Deno.test("received messages: what waits is counted, and gives its memory back when the connection ends", async () => {
  const rig = newRig();
  for (const text of ["one", "two", "three"]) rig.received.add(text);
  assertEquals([rig.received.size, rig.held()], [3, 11]);
  rig.received.clear();
  await withOthers(rig);
  assertEquals([rig.log.filter((entry) => entry !== "others"), rig.held()], [["read one"], 0]);
});

Deno.test("received messages: what waits for others waits for a few messages, however many connections are flooded", async () => {
  const CONNECTIONS = 100;
  const rigs = Array.from({ length: CONNECTIONS }, () => newRig());
  for (const { received } of rigs) for (let sent = 0; sent < 20; sent++) received.add("broken");
  const TURNS = 5;
  for (let turn = 0; turn < TURNS; turn++) await yieldToEventLoop();
  const refused = rigs.reduce((sum, { log }) => sum + log.length, 0);
  assertLess(refused, TURNS * CONNECTIONS / 2);
  for (const rig of rigs) await withOthers(rig);
});
