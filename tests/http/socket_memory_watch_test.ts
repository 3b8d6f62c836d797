/** Which sockets are ended when what arrives on them takes too much memory, with memory that is made up. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { type OpenSocket, Sockets } from "../../src/http/sockets.ts";
import { withFakeClock } from "../support/fake_clock.ts";

const MIB = 2 ** 20;
const LIMIT = 3_200 * MIB;
const CAPACITY = { total: 100, isShared: true };

class FakeSocket implements OpenSocket {
  readonly owner: string;
  readonly key: string;
  /** What has arrived of a message, in MiB. */
  arrived = 0;
  isIdle = true;
  isDropped = false;
  /** Whether it stays open when it is dropped, until `delete`. */
  isSlow = false;
  readonly #rig: Rig;

  constructor(owner: string, rig: Rig) {
    this.owner = owner;
    this.key = `key of ${owner}`;
    this.#rig = rig;
  }

  retire(): void {}
  abort(): void {}
  drop(): void {
    this.isDropped = true;
    if (!this.isSlow) this.delete();
  }
  delete(): void {
    this.arrived = 0;
    this.#rig.sockets.delete(this);
  }
}

class Rig {
  /** In MiB. */
  heap = 50;
  other = 100;
  readonly open: FakeSocket[] = [];
  readonly sockets: Sockets = new Sockets({
    memory: () => (this.heap * MIB) + this.#unmanaged(),
    unmanaged: () => this.#unmanaged(),
    limit: () => LIMIT,
    onShort: (key, closed, bytes) => void this.warnings.push([key, closed, bytes / MIB]),
  });
  readonly warnings: [key: string, closed: number, mib: number][] = [];

  #unmanaged(): number {
    return this.open.reduce((sum, { arrived }) => sum + arrived, this.other) * MIB;
  }

  add(owner: string, count = 1): FakeSocket[] {
    const added = Array.from({ length: count }, () => new FakeSocket(owner, this));
    for (const socket of added) {
      this.sockets.checkRoom(owner, CAPACITY);
      this.sockets.add(socket);
      this.open.push(socket);
    }
    return added;
  }

  refusal(owner: string): string | undefined {
    try {
      this.sockets.checkRoom(owner, CAPACITY);
    } catch (error) {
      return (error as GatewayError).code;
    }
  }
}

const dropped = (sockets: readonly FakeSocket[]) => sockets.filter(({ isDropped }) => isDropped).length;

function test(name: string, run: (rig: Rig, pass: (ms: number) => Promise<void>) => Promise<void>): void {
  Deno.test(`socket memory: ${name}`, async () => {
    await withFakeClock(async (clock) => {
      const rig = new Rig();
      await run(rig, (ms) => clock.advance(ms));
      for (const socket of rig.open) rig.sockets.delete(socket);
    });
  });
}

test("what arrives within the room ends nothing", async (rig, pass) => {
  const sockets = rig.add("a", 6);
  for (const socket of sockets) socket.arrived = 60;
  await pass(1_000);
  assertEquals(dropped(sockets), 0);
});

for (const others of [0, 1, 19]) {
  test(
    `a caller that takes too much loses its sockets, and each of ${others} others keeps its own`,
    async (rig, pass) => {
      const greedy = rig.add("greedy", 10);
      const rest = Array.from({ length: others }, (_, at) => rig.add(`other ${at}`)).flat();
      for (const socket of greedy) socket.arrived = 60;
      await pass(200);
      assertEquals([dropped(greedy), dropped(rest)], [10, 0]);
      assertEquals(rig.warnings, [["key of greedy", 10, 600]]);
      assertEquals(rig.refusal("greedy"), "rate_limit");
      for (const { owner } of rest) assertEquals(rig.refusal(owner), undefined);
      for (const socket of rest) rig.sockets.delete(socket);
      await pass(61_000);
      assertEquals(rig.refusal("greedy"), undefined);
    },
  );
}

test(
  "a caller whose end frees nothing is not barred, and the next one is ended until enough is free",
  async (rig, pass) => {
    const many = rig.add("many", 5);
    const [one] = rig.add("one");
    one!.arrived = 500;
    await pass(100);
    assertEquals([dropped(many), one!.isDropped], [5, false]);
    assertEquals(rig.refusal("other"), "unavailable");
    await pass(20);
    assert(one!.isDropped);
    await pass(20);
    assertEquals([rig.refusal("many"), rig.refusal("one")], ["unavailable", "rate_limit"]);
    await pass(3_000);
    assertEquals([rig.refusal("many"), rig.refusal("one")], [undefined, "rate_limit"]);
  },
);

test("a caller is not barred for memory that another's sockets, ended before, free late", async (rig, pass) => {
  const greedy = rig.add("greedy", 10);
  const [one] = rig.add("one");
  for (const socket of greedy) socket.arrived = 60;
  for (const socket of rig.open) socket.isSlow = true;
  await pass(1_200);
  assertEquals([dropped(greedy), one!.isDropped], [10, true]);
  for (const socket of rig.open) socket.delete();
  await pass(1_200);
  assertEquals(rig.refusal("one"), "unavailable");
  await pass(3_000);
  assertEquals(rig.refusal("one"), undefined);
});

test(
  "while ended sockets close late, what others take meanwhile ends theirs, and whoever waits goes on",
  async (rig, pass) => {
    const [one, other] = [...rig.add("one"), ...rig.add("other")];
    const [quiet] = rig.add("quiet", 1);
    one!.arrived = 500;
    one!.isSlow = true;
    await pass(100);
    assertEquals([one!.isDropped, other!.isDropped], [true, false]);
    const relieved = rig.sockets.relieved("third", CAPACITY).then(() => "relieved");
    other!.arrived = 300;
    await pass(40);
    assertEquals([other!.isDropped, quiet!.isDropped], [false, false]);
    other!.arrived = 450;
    await pass(40);
    assert(other!.isDropped);
    one!.delete();
    await pass(100);
    assertEquals(await relieved, "relieved");
  },
);

test(
  "a caller that took nothing waits until the others' memory is free, one whose sockets were closed until it has rested",
  async (rig, pass) => {
    const many = rig.add("many", 5);
    const [one] = rig.add("one");
    one!.arrived = 500;
    await pass(100);
    assertEquals([dropped(many), rig.refusal("other")], [5, "unavailable"]);
    const relieved: string[] = [];
    const waiting = ["many", "other"].map(async (owner) => {
      await rig.sockets.relieved(owner, CAPACITY);
      relieved.push(owner);
    });
    await pass(1);
    assertEquals(relieved, []);
    await pass(100);
    assertEquals(relieved, ["other"]);
    await assertRejects(() => rig.sockets.relieved("one", CAPACITY), GatewayError, "took too much memory");
    await pass(3_000);
    await Promise.all(waiting);
    assertEquals(["many", "other"].map((owner) => rig.refusal(owner)), [undefined, undefined]);
  },
);

test("no more sockets wait than may be open, and those of one caller leave room for others", async (rig, pass) => {
  rig.add("many", 5);
  const [one] = rig.add("one");
  one!.arrived = 500;
  await pass(100);
  const opened = { eager: 0, others: 0 };
  const refused = { eager: 0, others: 0 };
  const openOne = async (kind: "eager" | "others", owner: string) => {
    try {
      await rig.sockets.relieved(owner, CAPACITY);
      rig.add(owner);
      opened[kind]++;
    } catch {
      refused[kind]++;
    }
  };
  const opening = [
    ...Array.from({ length: 10_000 }, () => openOne("eager", "eager")),
    ...Array.from({ length: 30 }, (_, at) => openOne("others", `other ${at}`)),
  ];
  await pass(0);
  assertEquals([opened, refused], [{ eager: 0, others: 0 }, { eager: 9_925, others: 5 }]);
  await pass(200);
  await Promise.all(opening);
  // A caller that has sockets opens no more once three quarters of all are open.
  assertEquals([opened, rig.sockets.size], [{ eager: 50, others: 25 }, 75]);
});

test(
  "where the end of one frees far too little, all that answer nothing are ended, and nobody is barred",
  async (rig, pass) => {
    const names = Array.from({ length: 20 }, (_, at) => `caller ${at}`);
    const sockets = names.flatMap((name) => rig.add(name));
    const [busy] = rig.add("busy");
    busy!.isIdle = false;
    for (const socket of sockets) socket.arrived = 40;
    await pass(100);
    assertEquals([dropped(sockets), busy!.isDropped], [1, false]);
    await pass(20);
    assertEquals([dropped(sockets), busy!.isDropped], [20, false]);
    await pass(20);
    // Those that open new ones at once would keep memory short.
    assertEquals(names.filter((name) => rig.refusal(name) !== "unavailable"), []);
    await pass(3_000);
    assertEquals(names.filter((name) => rig.refusal(name) !== undefined), []);
  },
);

test(
  "where far too much arrives at once, callers with many sockets are ended together, and one with a single socket stays",
  async (rig, pass) => {
    const [greedy, other] = [rig.add("greedy", 10), rig.add("other", 8)];
    const [one] = rig.add("one");
    for (const socket of [...greedy, ...other]) socket.arrived = 60;
    await pass(100);
    assertEquals([dropped(greedy), dropped(other), one!.isDropped], [10, 8, false]);
    await pass(100);
    assertEquals([one!.isDropped, rig.refusal("one")], [false, undefined]);
  },
);

test("those that answer something come last", async (rig, pass) => {
  const busy = rig.add("busy", 5);
  for (const socket of busy) socket.isIdle = false;
  const [idle] = rig.add("idle");
  idle!.arrived = 450;
  await pass(200);
  assertEquals([dropped(busy), idle!.isDropped], [0, true]);
  for (const socket of busy) socket.arrived = 100;
  await pass(200);
  assertEquals(dropped(busy), 5);
});

test("what something else takes ends sockets once, not again and again", async (rig, pass) => {
  const before = rig.add("a", 3);
  rig.other = 900;
  await pass(500);
  assertEquals(dropped(before), 3);
  await pass(3_000);
  const after = rig.add("a", 3);
  await pass(500);
  assertEquals(dropped(after), 0);
});

test(
  "memory that is freed after the last socket has closed is not taken for that of something else",
  async (rig, pass) => {
    const [one] = rig.add("one");
    rig.other = 600;
    await pass(100);
    assert(one!.isDropped);
    const relieved = rig.sockets.relieved("other", CAPACITY).then(() => rig.add("other"));
    await pass(200);
    assertEquals(rig.sockets.size, 0);
    rig.other = 100;
    await pass(100);
    const [other] = await relieved;
    other!.arrived = 450;
    await pass(200);
    assert(other!.isDropped);
  },
);

test("the room is smaller when all else leaves little, and is never none", async (rig, pass) => {
  rig.heap = 2_602;
  const [socket] = rig.add("a");
  socket!.arrived = 98;
  await pass(500);
  assert(!socket!.isDropped);
  socket!.arrived = 110;
  await pass(200);
  assert(socket!.isDropped);
});

test(
  "a socket that stays open after it was ended is ended again, however long more arrives on it",
  async (rig, pass) => {
    const [socket] = rig.add("greedy");
    socket!.isSlow = true;
    socket!.arrived = 700;
    await pass(200);
    assertEquals(socket!.isDropped, true);
    await pass(3_000);
    socket!.isDropped = false;
    socket!.arrived = 1_400;
    await pass(200);
    assertEquals(socket!.isDropped, true);
    socket!.delete();
  },
);
