/** What every transport keeps to, on connections whose every byte the test decides. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Socket } from "node:net";
import tls from "node:tls";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { fetchTransport } from "../../src/platform/fetch_transport.ts";
import { nodeTransport } from "../../src/platform/node_transport.ts";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../../src/platform/transport.ts";
import { GatewayError } from "../../src/errors.ts";
import { readBytes } from "../../src/upstream/send.ts";
import { textOf } from "../support/transport.ts";
import { delay, turns, until, within } from "../support/wait.ts";
import { type RawOptions, type RawRequest, type RawServer, startRaw } from "./raw_server.ts";

interface Setting {
  transport: Transport;
  server: RawServer;
  /** Sends to the server: a POST of `{}` unless it says otherwise. */
  send(more?: Partial<TransportRequest>): Promise<TransportResponse>;
}

interface Kind {
  isSecure: boolean;
  create(): { transport: Transport; close(): void };
}

const read = (name: string) => Deno.readTextFileSync(new URL(`tls/${name}`, import.meta.url));
const CA = read("ca.pem");
const TLS = { key: read("server.key"), cert: read("server.pem") };
// What `DENO_CERT` does for a process, which `tls_test.ts` shows.
(tls as unknown as { setDefaultCACertificates(certificates: string[]): void }).setDefaultCACertificates([CA]);

function byFetch(): ReturnType<Kind["create"]> {
  const client = Deno.createHttpClient({ caCerts: [CA] });
  const transport = fetchTransport((url, init) => globalThis.fetch(url, { ...init, client } as RequestInit));
  return { transport, close: () => client.close() };
}

function byNode(): ReturnType<Kind["create"]> {
  const transport = nodeTransport();
  return { transport, close: () => transport.close() };
}

const KINDS: Record<string, Kind> = {
  "fetch": { isSecure: false, create: byFetch },
  "node": { isSecure: false, create: byNode },
  "fetch, TLS": { isSecure: true, create: byFetch },
  "node, TLS": { isSecure: true, create: byNode },
};

function testEach(
  name: string,
  options: RawOptions,
  run: (setting: Setting) => Promise<void>,
  kinds: readonly string[] = Object.keys(KINDS),
): void {
  for (const kind of kinds) {
    const { isSecure, create } = KINDS[kind]!;
    Deno.test(`transports: ${name} · ${kind}`, async () => {
      const server = await startRaw({ ...options, tls: isSecure ? TLS : undefined });
      const { transport, close } = create();
      const send = (more: Partial<TransportRequest> = {}) =>
        transport.send({
          url: `${server.url}/x`,
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}",
          signal: new AbortController().signal,
          ...more,
        });
      try {
        await within(run({ transport, server, send }));
      } finally {
        close();
        await server.stop();
      }
    });
  }
}

const head = (more = "", status = "200 OK") => `HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\n${more}\r\n`;
const whole = (text: string, more = "") => `${head(`content-length: ${text.length}\r\n${more}`)}${text}`;
const CHUNKED = head("transfer-encoding: chunked\r\n");
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const END = "0\r\n\r\n";

/** How a connection may end: with what was sent before it, or at once. */
const ENDS: Record<string, (socket: Socket) => void> = {
  "is closed": (socket) => socket.end(),
  "is reset": (socket) => socket.resetAndDestroy(),
};

const answers = (text: string): RawOptions => ({ answer: ({ socket }) => void socket.write(text) });

// Answers

testEach("a whole answer comes with its status and headers", {
  answer: ({ socket }) => socket.write(whole("hello", "x-a: 1\r\nX-A: 2\r\nx-odd: \xe9 ~!;=\r\n")),
}, async ({ send, server }) => {
  const response = await send({ headers: { "x-sent": "a b" } });
  assertEquals([response.status, response.ok], [200, true]);
  assertEquals([response.headers.get("x-a"), response.headers.get("content-type")], ["1, 2", "text/plain"]);
  assert(response.headers.get("x-odd")!.endsWith(" ~!;="));
  assertEquals(await textOf(response), "hello");
  assertEquals(server.requests[0]!.body, "{}");
  assert(/\r\nx-sent: a b\r\n/i.test(server.requests[0]!.head));
  assert(/\r\ncontent-length: 2\r\n/i.test(server.requests[0]!.head));
});

testEach("a small answer is read in one go, also where it is compressed or has no length", {
  answer(request) {
    const coding = codingOf(request);
    if (coding === "gzip") sendCoded(request, coding, gzipSync(MANY));
    else request.socket.write(coding === "chunks" ? CHUNKED + chunk("hello") + END : whole("hello"));
  },
}, async ({ send, server }) => {
  for (const [coding, text] of Object.entries({ none: "hello", chunks: "hello", gzip: MANY })) {
    const bytes = await readBytes(await send({ url: `${server.url}/${coding}` }), MANY.length);
    assertEquals(new TextDecoder().decode(bytes) === text, true, coding);
  }
  for (const [coding, length] of Object.entries({ none: 5, gzip: MANY.length })) {
    const response = await send({ url: `${server.url}/${coding}` });
    await assertRejects(() => readBytes(response, length - 1), GatewayError, "longer than");
  }
});

testEach("what is no answer yet is passed over", {
  answer: ({ socket }) =>
    socket.write(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${whole("hello")}`),
}, async ({ send }) => assertEquals(await textOf(await send()), "hello"));

testEach("an answer without a body leaves the connection for the next one", {
  answer: ({ socket, turn }) => socket.write(turn % 2 === 0 ? "HTTP/1.1 204 No Content\r\n\r\n" : whole("second")),
}, async ({ send, server }) => {
  const response = await send();
  assertEquals([response.status, response.body], [204, undefined]);
  await turns(20);
  assertEquals(await textOf(await send()), "second");
  assertEquals(server.connections, 1);
});

testEach(
  "a redirect is an answer like any other",
  answers(head("location: /y\r\ncontent-length: 0\r\n", "302 Found")),
  async ({ send, server }) => {
    const response = await send();
    assertEquals([response.status, response.headers.get("location"), await textOf(response)], [302, "/y", ""]);
    assertEquals(server.requests.length, 1);
  },
);

testEach("chunks, their extensions and trailers come as one body", {
  answer: ({ socket }) => socket.write(`${CHUNKED}5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nx-sum: 1\r\n\r\n`),
}, async ({ send }) => assertEquals(await textOf(await send()), "hello world"));

testEach("a body without a length ends with its connection", {
  answer({ socket }) {
    socket.write("HTTP/1.0 200 OK\r\ncontent-type: text/plain\r\n\r\nhello");
    socket.end();
  },
}, async ({ send }) => assertEquals(await textOf(await send()), "hello"));

testEach("a body without a length is cut where its connection is reset", {
  answer: ({ socket }) => void socket.write("HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\n\r\nhello"),
}, async ({ send, server }) => {
  const { body } = await send();
  assertEquals(new TextDecoder().decode(await body!.read()), "hello");
  server.requests[0]!.socket.resetAndDestroy();
  await assertRejects(() => body!.read());
  // Deno (2.9.6) tells node's TLS of a reset as of an end.
}, ["fetch", "fetch, TLS", "node"]);

testEach(
  "a body comes as the server sends it",
  { answer: ({ socket }) => socket.write(CHUNKED) },
  async ({ send, server }) => {
    const { body } = await send();
    const { socket } = server.requests[0]!;
    for (const word of ["one", "two"]) {
      socket.write(chunk(word));
      assertEquals(new TextDecoder().decode(await body!.read()), word);
    }
    socket.write(END);
    assertEquals(await body!.read(), undefined);
  },
);

const MANY = "abcdefg".repeat(100_000);

testEach("a long body in small chunks comes whole", {
  answer({ socket }) {
    socket.write(CHUNKED);
    for (let at = 0; at < MANY.length; at += 700) socket.write(chunk(MANY.slice(at, at + 700)));
    socket.write(END);
  },
}, async ({ send }) => assertEquals(await textOf(await send()), MANY));

const CODINGS: Record<string, (text: string) => Uint8Array> = {
  gzip: (text) => gzipSync(text),
  "x-gzip": (text) => gzipSync(text),
  br: (text) => brotliCompressSync(text),
  zstd: (text) => zstdCompressSync(text),
  deflate: (text) => deflateSync(text),
  "deflate, raw": (text) => deflateRawSync(text),
};

/** What no coding makes short: half of its bytes is half of the text. */
const NOISE = Array.from({ length: 20_000 }, (_, at) => Math.abs(Math.sin(at)).toString(36).slice(2, 7)).join("");

const codingOf = ({ head }: RawRequest) => decodeURIComponent(/^POST \/(\S+)/.exec(head)![1]!);

function sendCoded({ socket }: RawRequest, coding: string, bytes: Uint8Array): void {
  socket.write(head(`content-encoding: ${coding.split(",")[0]}\r\ncontent-length: ${bytes.length}\r\n`));
  socket.write(bytes);
}

for (const [coding, compress] of Object.entries(CODINGS)) {
  const name = coding.split(",")[0]!;

  testEach(`an answer in ${coding} is read, or given as it came where nobody asked for it`, {
    answer: (request) => sendCoded(request, name, compress(MANY)),
  }, async ({ send, server }) => {
    const bytes = await readBytes(await send(), MANY.length);
    const { head } = server.requests[0]!;
    const isAsked = new RegExp(`accept-encoding: .*\\b${name}\\b`, "i").test(head);
    const isGiven = Buffer.from(bytes).equals(compress(MANY));
    assert(new TextDecoder().decode(bytes) === MANY || (!isAsked && isGiven), `${bytes.length} bytes of something`);
  });

  testEach(`an answer whose ${coding} is cut off does not pass as the one that was meant`, {
    answer(request) {
      const bytes = compress(NOISE);
      sendCoded(request, name, codingOf(request) === "cut" ? bytes.subarray(0, bytes.length >> 1) : new Uint8Array());
    },
  }, async ({ send, server }) => {
    const response = await send({ url: `${server.url}/cut` });
    const given = await readBytes(response, NOISE.length).catch(() => undefined);
    const bytes = compress(NOISE);
    assert(!given || Buffer.from(given).equals(bytes.subarray(0, bytes.length >> 1)), "It passed for a whole answer");
    assertEquals(await textOf(await send({ url: `${server.url}/empty` })), "");
  });
}

testEach(
  "a head beyond all measure is a failure",
  answers(whole("x", `x-long: ${"a".repeat(2_000_000)}\r\n`)),
  async ({ send }) => {
    await assertRejects(() => send(), TransportError);
  },
);

testEach("a head of 30 kB is read", answers(whole("hello", `x-long: ${"a".repeat(30_000)}\r\n`)), async ({ send }) => {
  const response = await send();
  assertEquals([response.headers.get("x-long")!.length, await textOf(response)], [30_000, "hello"]);
});

for (
  const nonsense of [
    "nonsense\r\n\r\n",
    "HTTP/1.1 abc\r\n\r\n",
    "\0\0\0\0",
  ]
) {
  testEach(`what is no HTTP is a failure: ${JSON.stringify(nonsense.slice(0, 30))}`, {
    answer({ socket, later }) {
      socket.write(nonsense);
      later(() => socket.end(), 50);
    },
  }, async ({ send, server }) => {
    await assertRejects(async () => textOf(await send()), TransportError);
    assertEquals(server.requests.length, 1);
  });
}

testEach("a server that switches protocols, unasked, has answered with that status", {
  answer({ socket }) {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n");
  },
}, async ({ send, server }) => {
  const response = await send();
  await response.body?.cancel();
  assertEquals([response.status, response.ok, server.requests.length], [101, false, 1]);
});

// Connections that end

for (const [how, end] of Object.entries(ENDS)) {
  testEach(`a connection that ${how} before the head is lost, and asked once`, {
    answer: ({ socket }) => end(socket),
  }, async ({ send, server }) => {
    const error = await assertRejects(() => send(), TransportError);
    assertEquals([error.failure, server.requests.length], ["lost", 1]);
  });

  const truncated: Record<string, string> = {
    "a counted body": head("content-length: 99\r\n") + "some",
    "chunks": CHUNKED + chunk("some"),
    "a chunk": CHUNKED + "9\r\nsome",
    "the end of chunks": CHUNKED + chunk("some") + "0\r\n",
  };
  for (const [where, text] of Object.entries(truncated)) {
    testEach(`a connection that ${how} inside ${where} is never a success`, {
      answer({ socket, later }) {
        socket.write(text);
        later(() => end(socket), 30);
      },
    }, async ({ send, server }) => {
      const { body } = await send();
      assertEquals(new TextDecoder().decode(await body!.read()), "some");
      await assertRejects(async () => {
        while (await body!.read());
      });
      assertEquals(server.requests.length, 1);
    });

    testEach(`a connection that ${how} inside ${where} is no whole answer`, {
      answer({ socket, later }) {
        socket.write(text);
        later(() => end(socket), 30);
      },
    }, async ({ send }) => {
      const response = await send();
      await assertRejects(() => readBytes(response, 1_000), GatewayError, "lost");
    });
  }

  for (const lateMs of [0, 500]) {
    testEach(`a request on a kept connection that ${how} ${lateMs} ms after it is posted once`, {
      answer({ socket, turn, later }) {
        if (turn === 0) socket.write(whole("first"));
        else later(() => end(socket), lateMs);
      },
    }, async ({ send, server }) => {
      await textOf(await send());
      await turns(20);
      const error = await assertRejects(() => send({ body: '{"n":2}' }), TransportError);
      assertEquals(server.requests.map(({ connection, body }) => [connection, body]), [[0, "{}"], [0, '{"n":2}']]);
      assertEquals([error.failure, server.connections], ["lost", 1]);
    });
  }

  testEach(`a kept connection that ${how} while it is idle costs no request`, {
    answer: ({ socket }) => socket.write(whole("here")),
  }, async ({ send, server }) => {
    for (let time = 0; time < 5; time++) {
      assertEquals(await textOf(await send()), "here");
      await turns(10);
      for (const socket of server.open) end(socket);
      await turns(30);
    }
    assertEquals(server.requests.length, 5);
  });
}

let staleAnswers = 0;

testEach("what comes on an idle connection is nobody's answer", {
  answer({ socket, later }) {
    socket.write(whole("mine"));
    const stale = "HTTP/1.1 408 Request Timeout\r\ncontent-length: 5\r\n\r\nstale";
    later(() => socket.write(stale, () => staleAnswers++), 30);
  },
}, async ({ send }) => {
  for (let time = 0; time < 3; time++) {
    const before = staleAnswers;
    const response = await send();
    assertEquals([response.status, await textOf(response)], [200, "mine"]);
    await until(() => staleAnswers > before);
    await turns(50);
  }
});

testEach(
  "what comes after an answer is nobody's answer",
  answers(`${whole("mine")}${whole("stale")}`),
  async ({ send }) => {
    for (let time = 0; time < 3; time++) {
      const text = await send().then(textOf, () => "failed");
      assert(text === "mine" || text === "failed", text);
      await turns(20);
    }
  },
);

// Those who give up

const STAGES: Record<string, string | undefined> = {
  "before the head": undefined,
  "after the head": CHUNKED,
  "inside the body": CHUNKED + chunk("some"),
};

for (const [stage, text] of Object.entries(STAGES)) {
  for (const isKept of [false, true]) {
    testEach(`whoever gives up ${stage} ends the connection, and posts once: ${isKept ? "kept" : "new"}`, {
      answer({ socket, turn }) {
        if (isKept && turn === 0) socket.write(whole("first"));
        else if (text !== undefined) socket.write(text);
      },
    }, async ({ send, server }) => {
      if (isKept) await textOf(await send());
      await turns(20);
      const before = server.requests.length;
      const left = new AbortController();
      const reason = new Error("No longer wanted");
      const reading = (async () => {
        const { body } = await send({ signal: left.signal });
        while (await body!.read());
      })();
      reading.catch(() => {});
      await until(() => server.requests.length > before);
      await turns(20);
      left.abort(reason);
      await assertRejects(() => reading);
      await until(() => server.open.size === 0);
      await delay(50);
      assertEquals(server.requests.length, before + 1);
    });
  }
}

testEach(
  "whoever gives up on a whole answer ends the connection",
  answers(head("content-length: 99\r\n") + "some"),
  async ({ send, server }) => {
    const left = new AbortController();
    const reading = send({ signal: left.signal }).then((response) => readBytes(response, 1_000));
    reading.catch(() => {});
    await until(() => server.requests.length > 0);
    await turns(20);
    left.abort(new Error("No longer wanted"));
    await assertRejects(() => reading);
    await until(() => server.open.size === 0);
  },
);

testEach("whoever has given up sends nothing", answers(whole("x")), async ({ send, server }) => {
  const reason = new Error("No longer wanted");
  assertEquals(await assertRejects(() => send({ signal: AbortSignal.abort(reason) })), reason);
  assertEquals(server.requests.length, 0);
});

testEach("a body that is cancelled ends its connection", answers(CHUNKED + chunk("some")), async ({ send, server }) => {
  const { body } = await send();
  await body!.read();
  await body!.cancel();
  await until(() => server.open.size === 0);
});

testEach("whoever does not read holds the sender back", {
  answer({ socket }) {
    const piece = chunk("z".repeat(65_536));
    socket.write(CHUNKED);
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on("drain", more);
    more();
  },
}, async ({ send, server }) => {
  const { body } = await send();
  await body!.read();
  const { socket } = server.requests[0]!;
  let before = -1;
  // The buffers of two sockets are full after a while.
  for (; socket.bytesWritten > before; await delay(200)) before = socket.bytesWritten;
  assert(before < 24 * 2 ** 20, `${before} bytes were read ahead`);
  for (let read = 0; read < 2 * before; read += (await body!.read())!.length);
  await body!.cancel();
});

// What is sent

testEach("a long body is sent whole, and a server that answers before it has read it is heard", {
  answer: ({ socket, body }) => socket.write(whole(String(body.length))),
}, async ({ send }) => {
  const text = "x".repeat(5_000_000);
  for (const body of [text, new TextEncoder().encode(text), new Blob([text])]) {
    assertEquals(await textOf(await send({ body })), "5000000");
  }
});

testEach("a form is sent as the platform's own", answers(whole("x")), async ({ send, server }) => {
  const form = new FormData();
  form.append('a "quoted"\nname', "one\ntwo\r\nthree");
  form.append("é", "ü");
  form.append("file", new Blob(["\0\xff"], { type: "audio/wav" }), 'a"b\r\n.wav');
  form.append("plain", new Blob(["text"]), "x.bin");
  await textOf(await send({ headers: {}, body: form }));
  const { head, body } = server.requests[0]!;
  const boundary = /boundary=(\S+)/.exec(head)![1]!;
  const own = new Response(form);
  const expected = new TextDecoder("latin1").decode(await own.arrayBuffer());
  const itsBoundary = /boundary=(\S+)/.exec(own.headers.get("content-type")!)![1]!;
  assertEquals(body.replaceAll(boundary, "B").trimEnd(), expected.replaceAll(itsBoundary, "B").trimEnd());
});

Deno.test("transports: a server that sends interim answers without end has not answered · node", async () => {
  const hint = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
  const server = await startRaw(answers(hint.repeat(1_000)));
  const transport = nodeTransport();
  try {
    const { signal } = new AbortController();
    const sent = transport.send({ url: `${server.url}/x`, method: "POST", headers: {}, body: "{}", signal });
    const { failure } = await assertRejects(() => within(sent), TransportError);
    assertEquals([failure, server.requests.length], ["lost", 1]);
  } finally {
    transport.close();
    await server.stop();
  }
});

// Connections that are idle

Deno.test("transports: a connection that its server will close soon is closed while it is idle, not in use · node", async () => {
  const server = await startRaw({
    answer({ socket, later, turn }) {
      const text = whole("here", "keep-alive: timeout=2\r\n");
      if (turn === 0) socket.write(text);
      else later(() => socket.write(text), 1_500);
    },
  });
  const { transport, close } = byNode();
  const send = () =>
    transport.send({ url: server.url, method: "POST", headers: {}, body: "{}", signal: new AbortController().signal });
  try {
    for (let time = 0; time < 2; time++) assertEquals(await textOf(await send()), "here");
    assertEquals([server.connections, server.open.size], [1, 1]);
    await until(() => server.open.size === 0);
  } finally {
    close();
    await server.stop();
  }
});

// Connections that are never made

for (const [kind, { create }] of Object.entries(KINDS).slice(0, 2)) {
  Deno.test(`transports: a connection that is never made is no lost request · ${kind}`, async () => {
    const { transport, close } = create();
    const server = await startRaw(answers(""));
    await server.stop();
    const plain = await startRaw({ answer() {}, onOpen: (socket) => void socket.write("no TLS here\r\n") });
    try {
      const secure = (url: string) => url.replace("http:", "https:");
      const nowhere = "http://nowhere.invalid/";
      for (const url of [server.url, secure(server.url), nowhere, secure(nowhere), secure(plain.url)]) {
        const request = { url, method: "POST", headers: {}, body: "{}", signal: new AbortController().signal };
        const error = await assertRejects(() => transport.send(request), TransportError);
        assertEquals(error.failure, "not-made", `${url} ${error.cause}`);
      }
    } finally {
      close();
      await plain.stop();
    }
  });
}
