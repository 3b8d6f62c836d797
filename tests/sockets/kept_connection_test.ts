/** A connection that was kept and dies: what of a request its server has read decides who gets it again. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { type Fetch, fetchTransport } from "../../src/platform/fetch_transport.ts";
import { LateBody } from "../../src/platform/late_body.ts";
import { nodeTransport } from "../../src/platform/node_transport.ts";
import type { Transport } from "../../src/platform/transport.ts";
import { send } from "../../src/upstream/send.ts";
import { newUpstream } from "../upstream/upstream.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { textOf } from "../support/transport.ts";
import { startRaw } from "../platform/raw_server.ts";

const NEVER = new AbortController().signal;
const RESET = new TypeError("fetch failed", { cause: new Error("Connection reset by peer (os error 104)") });
let origins = 0;
/** A service that nobody has heard of, so that nothing is known of its connections. */
const unknown = (fetch: Fetch) =>
  newUpstream({ baseUrl: `http://unknown-${++origins}.test/v1`, transport: fetchTransport(fetch) });

/** Fails so many times once so much of the body is read, then answers; tells the bodies that it has read. */
function dying(times: number, read: (request: Request) => Promise<unknown>): { fetch: Fetch; posts: () => number } {
  let posts = 0;
  const fetch: Fetch = async (url, init) => {
    const request = new Request(url, init);
    if (++posts > times) return new Response(await request.text());
    await read(request);
    throw RESET;
  };
  return { fetch, posts: () => posts };
}

const nothing = () => Promise.resolve();

Deno.test("kept connections: what nothing was read of is posted once more, and arrives whole", async () => {
  const { fetch, posts } = dying(1, nothing);
  const response = await send({ path: "x", body: { text: "é".repeat(1_000_000) } }, unknown(fetch), NEVER);
  assertEquals([JSON.parse(await textOf(response)).text.length, posts()], [1_000_000, 2]);
});

Deno.test("kept connections: what nothing was read of twice is nobody's yet", async () => {
  const { fetch, posts } = dying(9, nothing);
  const error = await assertRejects(() => send({ path: "x", body: {} }, unknown(fetch), NEVER), GatewayError);
  assertEquals([error.details.notProcessed, posts()], [true, 2]);
});

Deno.test("kept connections: what anything was read of, or may have been, is not posted again", async () => {
  const first = async (request: Request) => {
    const reader = request.body!.getReader();
    await reader.read();
    await reader.cancel();
  };
  for (const read of [first, (request: Request) => request.text()]) {
    const { fetch, posts } = dying(9, read);
    const error = await assertRejects(() => send({ path: "x", body: {} }, unknown(fetch), NEVER), GatewayError);
    assertEquals([error.details.notProcessed, posts()], [false, 1]);
  }
  // Who does not say whether it has asked for the body may have sent it.
  let posts = 0;
  const opaque: Fetch = () => {
    posts++;
    return Promise.reject(RESET);
  };
  await assertRejects(() => send({ path: "x", body: {} }, unknown(opaque), NEVER), GatewayError);
  // An empty body is read with its head.
  const empty = dying(9, nothing);
  await assertRejects(() => send({ path: "x", body: new Uint8Array() }, unknown(empty.fetch), NEVER), GatewayError);
  assertEquals([posts, empty.posts()], [1, 1]);
});

Deno.test("kept connections: a service that answers well gets its bodies at once", async () => {
  const bodies: unknown[] = [];
  const fake = fakeUpstream(
    () => new Response("{}"),
    () => new Response("{}"),
    () => new Response("no", { status: 500 }),
  );
  const fetch: Fetch = (url, init) => {
    bodies.push(init.body);
    return fake.fetch(url, init);
  };
  const upstream = unknown(fetch);
  for (let time = 0; time < 4; time++) {
    await (await send({ path: "x", body: {} }, upstream, NEVER)).body?.cancel();
  }
  const isLate = (body: unknown) => body instanceof LateBody;
  assertEquals(bodies.map(isLate), [true, false, false, true]);
});

/** What becomes of the second request on a connection. */
type Death = "while it is idle" | "after the head" | "inside the body" | "after the body";
const DEATHS: readonly Death[] = ["while it is idle", "after the head", "inside the body", "after the body"];

/** How it answers the first one: after a failure, and only then, bodies go out late. */
const ANSWERS = ["500 No", "200 OK"];

/** A server that answers the first request of each connection and kills it at the second; tells how often each body came whole. */
function startDeadly(death: Death, answer: string) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const whole = new Map<string, number>();
  const tasks: Promise<void>[] = [];
  const answered = new TextEncoder().encode(
    `HTTP/1.1 ${answer}\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nno`,
  );
  const serve = async (connection: Deno.TcpConn) => {
    const buffer = new Uint8Array(65_536);
    let text = "";
    const until = async (has: () => boolean) => {
      while (!has()) {
        const length = await connection.read(buffer);
        if (length === null) return false;
        text += new TextDecoder("latin1").decode(buffer.subarray(0, length));
      }
      return true;
    };
    const head = () => text.indexOf("\r\n\r\n") + 4;
    const length = () => Number(/content-length: (\d+)/i.exec(text)?.[1]);
    try {
      for (let request = 0;; request++) {
        text = "";
        if (!await until(() => text.includes("\r\n\r\n"))) return;
        if (request > 0 && death === "after the head") return;
        if (request > 0 && death === "inside the body" && await until(() => text.length > head())) return;
        if (!await until(() => text.length >= head() + length())) return;
        const body = text.slice(head()).slice(0, 60);
        whole.set(body, (whole.get(body) ?? 0) + 1);
        if (request > 0) return;
        await connection.write(answered);
        if (death === "while it is idle") return;
      }
    } catch {
      /* the client has left */
    } finally {
      connection.close();
    }
  };
  const accepting = (async () => {
    for await (const connection of listener) tasks.push(serve(connection));
  })();
  return {
    baseUrl: `http://127.0.0.1:${listener.addr.port}`,
    whole,
    async stop() {
      listener.close();
      await accepting.catch(() => {});
      await Promise.all(tasks);
    },
  };
}

interface Caller {
  transport: Transport;
  close(): void;
}

const CALLERS: Record<string, () => Caller> = {
  fetch() {
    const client = Deno.createHttpClient({});
    const transport = fetchTransport((url, init) => globalThis.fetch(url, { ...init, client } as RequestInit));
    return { transport, close: () => client.close() };
  },
  node() {
    const transport = nodeTransport();
    return { transport, close: () => transport.close() };
  },
};

const CASES = Object.entries(CALLERS).flatMap(([kind, create]) =>
  DEATHS.flatMap((death) =>
    ANSWERS.flatMap((answer) => [100, 300_000].map((size) => ({ kind, create, death, answer, size })))
  )
);

for (const { kind, create, death, answer, size } of CASES) {
  Deno.test(`kept connections: no server reads a request twice that kills its connection ${death} · after ${answer} · ${size} bytes · ${kind}`, async () => {
    const server = startDeadly(death, answer);
    const { transport, close } = create();
    const upstream = newUpstream({ baseUrl: server.baseUrl, transport });
    try {
      for (let turn = 0; turn < 20; turn++) {
        for (const which of ["first", "second"]) {
          const request = `${turn} ${which}`;
          const answered = send({ path: "x", body: { request, more: "x".repeat(size) } }, upstream, NEVER);
          await answered.then(textOf, () => {});
        }
      }
      for (const [body, times] of server.whole) assertEquals(times, 1, body);
      // Each second request meets a connection that dies, unless it is seen to be dead before. Else this would prove nothing.
      const isSentAgain = death === "after the head" && answer !== "200 OK";
      if (isSentAgain) assert(server.whole.size > 20, `${server.whole.size} requests arrived`);
      if (death === "after the body") assertEquals(server.whole.size, 40);
    } finally {
      close();
      await server.stop();
    }
  });
}

for (const [kind, create] of Object.entries(CALLERS)) {
  Deno.test(`kept connections: those of a server that closes each after a stream, against its word, are used once · ${kind}`, async () => {
    for (const [announced, isOnce] of [["timeout=5, max=100", true], ["timeout=5", false]] as const) {
      const server = await startRaw({
        answer({ socket, head }) {
          const isLast = /^connection: close/im.test(head);
          const says = isLast ? "connection: close" : `keep-alive: ${announced}`;
          socket.write(`HTTP/1.1 200 OK\r\n${says}\r\ncontent-length: 2\r\n\r\n{}`);
          if (isLast) socket.end();
        },
      });
      const { transport, close } = create();
      const upstream = newUpstream({ baseUrl: server.url, transport });
      try {
        for (let turn = 0; turn < 4; turn++) await textOf(await send({ path: "x", body: {} }, upstream, NEVER));
        const saysClose = server.requests.map(({ head }) => /^connection: close/im.test(head));
        assertEquals(saysClose, [false, isOnce, isOnce, isOnce]);
        assertEquals(server.connections, isOnce ? 3 : 1);
      } finally {
        close();
        await server.stop();
      }
    }
  });
}
