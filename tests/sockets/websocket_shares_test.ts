/** What the callers' WebSockets have in common, over real connections: their number, and what refused messages cost. */
import { assertEquals, assertMatch } from "@std/assert";
import { CONFIG, type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { until, within } from "../support/wait.ts";
import { OPCODE, RawWebSocket } from "./raw_websocket.ts";

interface Rig {
  app: TestApp;
  /** Opens a socket. Resolves to the status with which it is refused instead. */
  open(key: string): Promise<RawWebSocket | number>;
}

const secretOf = (name: string) => `secret-of-${name}-1a2b3c`;
const variableOf = (name: string) => name.toUpperCase();
const CREATE = { type: "response.create", model: "sandbox", input: "Hello", store: false };

async function withKeys(
  names: readonly string[],
  limits: NonNullable<ConfigInput["limits"]>,
  use: (rig: Rig) => Promise<void>,
  quota?: { requestsPerMinute: number },
): Promise<void> {
  const keys = names.map((name) => ({ name, secret: { env: variableOf(name) }, ...(quota && { quota }) }));
  const app = newApp({
    config: { ...CONFIG, keys, limits },
    env: { UPSTREAM_SECRET: "?", ...Object.fromEntries(names.map((name) => [variableOf(name), secretOf(name)])) },
  });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  const clients: RawWebSocket[] = [];
  const open = async (key: string) => {
    try {
      const client = await RawWebSocket.open(server.addr.port, undefined, secretOf(key));
      clients.push(client);
      return client;
    } catch (error) {
      return Number(/^HTTP\/1.1 (\d+)/.exec((error as Error).message)![1]);
    }
  };
  try {
    await use({ app, open });
  } finally {
    for (const client of clients) client.close();
    app.abort();
    await app.settled();
    await server.shutdown();
  }
}

/** Opens sockets until one is refused. Returns those that are open and the status of the refusal. */
async function openAll({ open }: Rig, key: string): Promise<{ sockets: RawWebSocket[]; status: number }> {
  const sockets: RawWebSocket[] = [];
  for (;;) {
    const opened = await open(key);
    if (typeof opened === "number") return { sockets, status: opened };
    sockets.push(opened);
  }
}

const named = (count: number) => Array.from({ length: count }, (_, at) => `key${at}`);
const SOCKETS = 80;

Deno.test("socket shares: the only key gets all sockets", async () => {
  await withKeys(named(1), { sockets: SOCKETS }, async (rig) => {
    const { sockets, status } = await openAll(rig, "key0");
    assertEquals([sockets.length, status], [SOCKETS, 503]);
  });
});

Deno.test("socket shares: by default as many sockets are open as messages fit into half of the memory", async () => {
  for (const [memoryBytes, sockets] of [[600, 10], [100, 8]] as const) {
    await withKeys(named(1), { memoryBytes: memoryBytes * 2 ** 20 }, async (rig) => {
      assertEquals((await openAll(rig, "key0")).sockets.length, sockets);
    });
  }
});

Deno.test("socket shares: a client that leaves before its socket is opened takes none", async () => {
  const app = newApp({ config: { ...CONFIG, limits: { sockets: 1 } } });
  const hasArrived = Promise.withResolvers<void>();
  const isAnswered = Promise.withResolvers<void>();
  let requests = 0;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request, info) => {
    if (++requests > 1) return await app.fetch(request, info);
    hasArrived.resolve();
    await until(() => request.signal.aborted);
    const response = await app.fetch(request, info);
    isAnswered.resolve();
    return response;
  });
  try {
    const leaving = RawWebSocket.start(server.addr.port);
    await hasArrived.promise;
    (await leaving).close();
    await isAnswered.promise;
    (await RawWebSocket.open(server.addr.port)).close();
    assertEquals(app.logs.map(({ status }) => status), [499, 101]);
  } finally {
    app.abort();
    await within(Promise.all([app.settled(), server.shutdown()]));
  }
});

for (const count of [2, 20]) {
  Deno.test(`socket shares: one key that takes all it can leaves sockets for each of ${count - 1} others`, async () => {
    await withKeys(named(count), { sockets: SOCKETS }, async (rig) => {
      const [greedy, ...others] = named(count);
      const { sockets, status } = await openAll(rig, greedy!);
      assertEquals([sockets.length, status], [SOCKETS * 3 / 4, 429]);
      for (const other of others) {
        const client = await rig.open(other);
        if (typeof client === "number") throw new Error(`${other}: ${client}`);
        await client.send(CREATE);
        assertEquals((await client.turn()).at(-1)!.type, "response.completed");
      }
      // What it gives back it can have again.
      for (const socket of sockets) socket.close();
      await until(async () => typeof await rig.open(greedy!) !== "number");
    });
  });
}

Deno.test("socket shares: two keys that open sockets in turns get as many each", async () => {
  await withKeys(named(2), { sockets: SOCKETS }, async ({ open }) => {
    const opened = { key0: 0, key1: 0 };
    for (let times = 0; times < SOCKETS; times++) {
      for (const key of ["key0", "key1"] as const) if (typeof await open(key) !== "number") opened[key]++;
    }
    assertEquals(opened, { key0: SOCKETS * 3 / 8, key1: SOCKETS * 3 / 8 });
  });
});

Deno.test("refused messages are charged to the key's requests per minute, and leave one line a second in the log", async () => {
  await withKeys(["team"], {}, async ({ app, open }) => {
    const client = await open("team") as RawWebSocket;
    for (let refused = 0; refused < 5; refused++) {
      await client.send(refused % 2 === 0 ? "{" : {});
      assertEquals((await client.turn()).at(-1)!.status, 400);
    }
    await client.send(CREATE);
    assertEquals((await client.turn()).at(-1)!.type, "response.completed");
    await client.send(CREATE);
    const [{ status, error }] = await client.turn() as [{ status: number; error: { message: string } }];
    assertEquals(status, 429);
    assertMatch(error.message, /6 requests per minute/);
    assertEquals(app.logs.map((entry) => entry.status), [101, 400, 200]);
  }, { requestsPerMinute: 6 });
});

/** Leaves a conversation of about so many characters to a new socket, and returns how to go on from it. */
async function converse({ open }: Rig, key: string, length: number): Promise<() => Promise<unknown>> {
  const client = await open(key) as RawWebSocket;
  await client.send({ ...CREATE, input: "x".repeat(length), generate: false });
  const { id } = (await client.turn()).at(-1)!.response as { id: string };
  return async () => {
    await client.send({ ...CREATE, input: [], previous_response_id: id });
    const { type, error } = (await client.turn()).at(-1)!;
    return (error as { code?: string } | undefined)?.code ?? type;
  };
}

const FORGOTTEN = "previous_response_not_found";

for (const count of [1, 2, 20]) {
  Deno.test(`socket shares: what idle sockets of ${count} keys remember is bounded, and each key keeps its latest`, async () => {
    const names = named(count);
    await withKeys(names, { sockets: SOCKETS, socketBytes: 100_000 }, async (rig) => {
      const greedy = [];
      for (let times = 0; times < 12; times++) greedy.push(await converse(rig, "key0", 9_000));
      const others = [];
      for (const name of names.slice(1)) others.push(await converse(rig, name, 500));
      // Of 100,000 bytes it may keep three quarters where there are others; each takes a little more than its characters.
      const first = greedy.length - (count === 1 ? 10 : 7);
      assertEquals(await greedy[first - 1]!(), FORGOTTEN);
      assertEquals(await greedy[first]!(), "response.completed");
      for (const goOn of others) assertEquals(await goOn(), "response.completed");
    });
  });
}

Deno.test("socket shares: idle sockets whose latest messages take too much are closed, the oldest first", async () => {
  await withKeys(named(1), { socketBytes: 450_000 }, async ({ open }) => {
    const clients: RawWebSocket[] = [];
    for (let times = 0; times < 6; times++) {
      const client = await open("key0") as RawWebSocket;
      clients.push(client);
      await client.send({ ...CREATE, input: "x".repeat(100_000), generate: false });
      assertEquals((await client.turn()).at(-1)!.type, "response.completed");
    }
    assertEquals((await clients[0]!.readToEnd())?.opcode, OPCODE.close);
    // After a short message nothing is left of the long one.
    await clients.at(-1)!.send(CREATE);
    assertEquals((await clients.at(-1)!.turn()).at(-1)!.type, "response.completed");
  });
});
