/** What becomes of calls of a keeper whose connection is lost, or that come too late. */
import { assertEquals, assertRejects } from "@std/assert";
import { connectLocal, listenLocal, type LocalSocket } from "../../src/platform/local_socket.ts";
import { createLedger } from "../../src/state/ledger.ts";
import { FrameConnection } from "../../src/state/local/frames.ts";
import { AS_TEXT, serveKeeper } from "../../src/state/local/keeper.ts";
import { createLocalLink, Lost } from "../../src/state/local/link.ts";
import { createLocalStore } from "../../src/state/local/store.ts";
import { Tally } from "../../src/state/local/tally.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { withFolder } from "./temp_folder.ts";

const NEVER = Number.MAX_SAFE_INTEGER;

function test(name: string, use: (path: string) => Promise<void>): void {
  Deno.test(`keeper: ${name}`, () =>
    withFolder(async (folder) => {
      const path = `${folder}/keeper`;
      const store = createMemoryStore({ now: Date.now, limitBytes: 1e8, form: AS_TEXT });
      const days = createLedger({ store, patienceMs: 1_000 });
      const tally = new Tally({ now: Date.now, monotonic: () => performance.now(), days });
      const keeper = serveKeeper({ listener: listenLocal(path), store, tally });
      try {
        await use(path);
      } finally {
        keeper.close();
      }
    }));
}

/** A socket that loses what is sent or what comes, once, and ends then. */
function lossy(socket: LocalSocket, loss: { next?: "command" | "reply" }): LocalSocket {
  return {
    close: () => socket.close(),
    async write(bytes) {
      if (loss.next !== "command") return await socket.write(bytes);
      loss.next = undefined;
      socket.close();
      return bytes.length;
    },
    async read(buffer) {
      const count = await socket.read(buffer);
      if (loss.next !== "reply") return count;
      loss.next = undefined;
      return null;
    },
  };
}

for (const lost of ["command", "reply"] as const) {
  test(`a change whose ${lost} is lost is made once or fails`, async (path) => {
    const loss: { next?: "command" | "reply" } = {};
    const store = createLocalStore(createLocalLink({ connect: async () => lossy(await connectLocal(path), loss) }));
    await store.update(["list"], () => ["one"]);
    const change = store.update(["list"], (list) => {
      loss.next = lost;
      return [...list as string[], "two"];
    });
    if (lost === "reply") await change;
    else await assertRejects(() => change, Lost);
    assertEquals(await store.get(["list"]), lost === "reply" ? ["one", "two"] : ["one"]);
    store.close();
  });
}

test("what is taken up too late is not begun", async (path) => {
  const connection = new FrameConnection(await connectLocal(path));
  const ask = async (until: number, name: string, args: unknown[], parts: Uint8Array[] = []) => {
    await connection.send([1, until, name, args], parts);
    const { head, parts: answered } = (await connection.read())!;
    return [...(head as unknown[]).slice(0, 3), answered.length];
  };
  const value = new TextEncoder().encode("1");
  assertEquals(await ask(Date.now() - 1, "add", [[["a"]], null], [value]), [1, "This comes too late", null, 0]);
  assertEquals(await ask(NEVER, "get", [["a"]]), [1, null, null, 1]);
  assertEquals(await ask(NEVER, "add", [[["a"]], null], [value]), [1, null, true, 0]);
  connection.close();
});

test("one value that cannot be stored fails alone, with the reason", async (path) => {
  const store = createLocalStore(createLocalLink({ connect: () => connectLocal(path) }));
  const large = "x".repeat(100_000_001);
  const [large1, small] = await Promise.allSettled([
    store.add([[["large"], large]], Infinity),
    store.add([[["small"], 1]], Infinity),
  ]);
  assertEquals(large1.status === "rejected" && /the store holds 100000000 in all/.test(large1.reason.message), true);
  assertEquals(small, { status: "fulfilled", value: true });
  store.close();
});

Deno.test("keeper: a process that reads nothing loses its connection", () =>
  withFolder(async (folder) => {
    const listener = listenLocal(`${folder}/silent`);
    const silent = listener[Symbol.asyncIterator]().next();
    const connection = new FrameConnection(await connectLocal(`${folder}/silent`), 100);
    const reading = connection.read();
    await assertRejects(
      () => connection.send(["large"], [new Uint8Array(10_000_000)]),
      Error,
      "read nothing for 100 ms",
    );
    await assertRejects(() => reading);
    (await silent).value.close();
    listener.close();
  }));

Deno.test("keeper: a day whose use the store does not say counts from nothing, and that is reported", async () => {
  const store = { get: () => Promise.reject(new Error("disk full")), update: () => Promise.resolve() };
  const days = createLedger({ store, patienceMs: 1_000 });
  const failures: unknown[] = [];
  const tally = new Tally({ now: () => 0, monotonic: () => 0, days, onFailure: (failure) => failures.push(failure) });
  const request = { tokens: 10, id: "", leaseMs: 1_000 };
  for (let count = 0; count < 2; count++) {
    const { reached, used } = await tally.take("key team", { tokensPerDay: 100 }, request);
    assertEquals([reached, used.dayTokens], [undefined, 10 * (count + 1)]);
  }
  assertEquals(failures.map(String), ["Error: disk full"]);
  await days.close();
});
