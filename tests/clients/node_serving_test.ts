/** What Node's server makes of hostile and unusual connections. The clients are sockets, and the answers are those of `serving.mjs`. */
import { assert, assertEquals } from "@std/assert";
import { until, within } from "../support/wait.ts";
import { install, NODE } from "./install.ts";

const installed = await install(NODE, "node");

type Event = Record<string, unknown>;

interface Setting {
  port: number;
  /** What the server has noticed so far. */
  events: Event[];
}

async function withServer(program: string, use: (setting: Setting) => Promise<void>): Promise<void> {
  const path = (relative: string) => new URL(relative, import.meta.url);
  const child = new Deno.Command(program, {
    args: [path("serving.mjs").pathname, path("../../src/platform/node_serve.ts").href],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const events: Event[] = [];
  const reading = (async () => {
    let rest = "";
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop()!;
      for (const line of lines) events.push(JSON.parse(line));
    }
  })();
  try {
    await until(() => events.some(({ port }) => port !== undefined));
    await use({ port: Number(events.find(({ port }) => port !== undefined)!.port), events });
    assertEquals(events.filter(({ uncaught }) => uncaught !== undefined), []);
  } finally {
    await child.stdin.close();
    await within(child.status);
    await reading;
  }
}

const HOST = "host: x\r\n";
const LAST = `GET /ignore HTTP/1.1\r\n${HOST}connection: close\r\n\r\n`;

function get(target: string, head = HOST): string {
  return `GET ${target} HTTP/1.1\r\n${head}\r\n`;
}

function post(target: string, head: string, body = ""): string {
  return `POST ${target} HTTP/1.1\r\n${HOST}${head}\r\n${body}`;
}

/** The statuses of all answers on a connection that sends this, and its whole text, once the server has closed it. */
async function answersTo(port: number, text: string): Promise<{ statuses: number[]; text: string }> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  try {
    const bytes = new TextEncoder().encode(text);
    // The server may close the connection before it has read everything.
    const writing = (async () => {
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    })().catch(() => {});
    let got = "";
    const decoder = new TextDecoder();
    const buffer = new Uint8Array(65_536);
    for (;;) {
      const count = await connection.read(buffer).catch(() => null);
      if (count === null) break;
      got += decoder.decode(buffer.subarray(0, count));
    }
    await writing;
    return { statuses: [...got.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)), text: got };
  } finally {
    connection.close();
  }
}

const SMUGGLED = get("/smuggled");

/** Each is refused, and what follows it is not taken for a request. */
const REFUSED: Record<string, string> = {
  "a length and chunks": post("/echo", "content-length: 4\r\ntransfer-encoding: chunked\r\n", `0\r\n\r\n${SMUGGLED}`),
  "chunks and a length": post("/echo", "transfer-encoding: chunked\r\ncontent-length: 4\r\n", `0\r\n\r\n${SMUGGLED}`),
  "two lengths": post("/echo", "content-length: 5\r\ncontent-length: 6\r\n", `hello${SMUGGLED}`),
  "a list of lengths": post("/echo", "content-length: 5, 5\r\n", `hello${SMUGGLED}`),
  "a length with a sign": post("/echo", "content-length: +5\r\n", `hello${SMUGGLED}`),
  "a hexadecimal length": post("/echo", "content-length: 0x5\r\n", `hello${SMUGGLED}`),
  "an empty length": post("/echo", "content-length:\r\n", SMUGGLED),
  "a length of more than 64 bits": post("/echo", "content-length: 99999999999999999999\r\n", SMUGGLED),
  "an unknown coding": post("/echo", "transfer-encoding: xchunked\r\n", `0\r\n\r\n${SMUGGLED}`),
  "chunks within another coding": post("/echo", "transfer-encoding: chunked, identity\r\n", `0\r\n\r\n${SMUGGLED}`),
  "two codings": post("/echo", "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n", `0\r\n\r\n${SMUGGLED}`),
  "a space before the colon": post("/echo", "transfer-encoding : chunked\r\n", `0\r\n\r\n${SMUGGLED}`),
  "a folded header": post("/echo", "transfer-encoding:\r\n chunked\r\n", `0\r\n\r\n${SMUGGLED}`),
  "a chunk's size with a prefix": post(
    "/echo",
    "transfer-encoding: chunked\r\n",
    `0x5\r\nhello\r\n0\r\n\r\n${SMUGGLED}`,
  ),
  "a chunk's size with a sign": post("/echo", "transfer-encoding: chunked\r\n", `-1\r\nhello\r\n0\r\n\r\n${SMUGGLED}`),
  "a chunk's size of more than 64 bits": post(
    "/echo",
    "transfer-encoding: chunked\r\n",
    `fffffffffffffffff\r\n${SMUGGLED}`,
  ),
  "a chunk that is longer than its size": post("/echo", "transfer-encoding: chunked\r\n", `3\r\nhello\r\n0\r\n\r\n`),
  "chunks with bare line feeds": post("/echo", "transfer-encoding: chunked\r\n", `5\nhello\n0\n\n${SMUGGLED}`),
  "a chunk's extension with a line feed": post(
    "/echo",
    "transfer-encoding: chunked\r\n",
    `5;a\nX\r\nhello\r\n0\r\n\r\n`,
  ),
  "a head with bare line feeds": `GET /echo HTTP/1.1\nhost: x\n\n${SMUGGLED}`,
  "a head with bare carriage returns": `GET /echo HTTP/1.1\rhost: x\r\r${SMUGGLED}`,
  "a header with a zero byte": get("/echo", `${HOST}a: b\0c\r\n`),
  "a header without a colon": get("/echo", `${HOST}abc\r\n`),
  "a header without a name": get("/echo", `${HOST}: abc\r\n`),
  "a target without a slash": get("echo"),
  "an unknown method": `FOO /echo HTTP/1.1\r\n${HOST}\r\n`,
  "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
};

/** The requests that reach the gateway as they are, and what it sees. */
const SEEN: Record<string, readonly [string, Event]> = {
  "no host": [get("/echo", ""), { method: "GET", path: "/echo" }],
  "an empty host": [get("/echo/x", "host:\r\n"), { method: "GET", path: "/echo/x" }],
  "a host with a path": [get("/echo", "host: x/other?\r\n"), { method: "GET", path: "/" }],
  "a host with credentials": [get("/echo", "host: a@b\r\n"), { method: "GET", path: "/" }],
  "two hosts": [get("/echo", "host: a\r\nhost: b\r\n"), { method: "GET", path: "/" }],
  "a whole URL": [get("http://other/echo"), { method: "GET", path: "/echo" }],
  "a whole URL of another kind": [get("ftp://other/echo"), { method: "GET", path: "/" }],
  "two slashes": [get("//other/echo"), { method: "GET", path: "//other/echo" }],
  "a method that `Request` does not take": [`TRACE /echo HTTP/1.1\r\n${HOST}\r\n`, { method: "TRACE", path: "/echo" }],
  "no target": [`OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, { method: "OPTIONS", path: "/" }],
  "an upgrade to HTTP/2": [get("/echo", `${HOST}connection: upgrade, close\r\nupgrade: h2c\r\n`), {
    method: "GET",
    path: "/echo",
  }],
};

Deno.test({
  name: `node serving: sockets${"reason" in installed ? ` (skipped: ${installed.reason})` : ""}`,
  ignore: "reason" in installed,
  async fn(t) {
    if ("reason" in installed) return;
    await withServer(installed.program, async (setting) => {
      const step = (name: string, run: (setting: Setting) => Promise<void>) => t.step(name, () => within(run(setting)));
      for (const [name, text] of Object.entries(REFUSED)) {
        await step(`refused: ${name}`, (its) => testRefused(text, its));
      }
      for (const [name, [text, seen]] of Object.entries(SEEN)) {
        await step(`seen: ${name}`, (its) => testSeen(text, seen, its));
      }
      await step("a head of 70 kB is refused, and so are 5,000 headers", testLongHeads);
      await step("pipelined requests are answered one after the other", testTurns);
      await step("what follows the last answer of a connection is not run", testNothingAfterTheLast);
      await step("an upgrade behind a running request ends the connection, and is not run", testUpgradeInLine);
      await step("a thousand pipelined requests are answered in order", testManyTurns);
      await step("a refused WebSocket ends for a client that stays, too", testRefusedWebSocket);
      await step("a body that nobody reads does not harm the next request", testUnreadBody);
      await step("a client that waits to send its body is asked for it only if it is read", testContinue);
      await step("a large body that nobody reads ends with the answer", testLargeUnreadBody);
      await step("a body that breaks off is not taken for a whole", testBrokenBody);
      await step("an answer that breaks off is not taken for a whole", testBrokenAnswer);
      await step("HEAD reads no body", testHead);
      await step("a client that leaves is noticed, with and without an answer", testLeaving);
      await step("a client that leaves while it waits for its turn", testLeavingInLine);
      await step("a client that reads nothing stops the answer, and its leaving ends it", testSlowReader);
      await step("500 answers at once are whole", testMany);
      // The last one: nothing is read from its connection any more, so the server does not see it end.
      await step("requests without end behind a running one are not read", testEndlessLine);
    });
  },
});

async function testRefused(text: string, { port, events }: Setting): Promise<void> {
  const { statuses } = await answersTo(port, text);
  assertEquals(statuses, [400]);
  assertEquals(events.filter(({ path }) => path === "/smuggled"), []);
}

async function testSeen(text: string, seen: Event, { port, events }: Setting): Promise<void> {
  const before = events.length;
  await answersTo(port, text.includes("close") ? text : text + LAST);
  assertEquals(events.slice(before).filter(({ method }) => method !== undefined)[0], seen);
}

async function testLongHeads({ port, events }: Setting): Promise<void> {
  const before = events.length;
  const many = Array.from({ length: 5_000 }, (_, index) => `header-${index}: value\r\n`).join("");
  for (const head of [`a: ${"x".repeat(70_000)}\r\n`, many]) {
    assertEquals((await answersTo(port, get("/echo", HOST + head))).statuses, [431]);
  }
  assertEquals((await answersTo(port, get(`/${"x".repeat(70_000)}`))).statuses, [431]);
  assertEquals(events.length, before);
}

async function testTurns({ port, events }: Setting): Promise<void> {
  const before = events.length;
  const { statuses } = await answersTo(port, get("/few") + get("/echo") + LAST);
  assertEquals(statuses, [200, 200, 200]);
  const order = events.slice(before).map(({ path, given }) => path ?? given);
  assertEquals(order, ["/few", 10, 20, "/echo", "/ignore"]);
}

async function testNothingAfterTheLast({ port, events }: Setting): Promise<void> {
  const before = events.length;
  // The server does not wait for such a body, so its answer is the last.
  const { statuses } = await answersTo(
    port,
    post("/refuse", "content-length: 100000\r\n", "z".repeat(100_000)) + SMUGGLED,
  );
  assertEquals(statuses, [413]);
  assertEquals(events.slice(before).map(({ path }) => path), ["/refuse"]);
}

async function testUpgradeInLine({ port, events }: Setting): Promise<void> {
  const before = events.length;
  const upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n";
  await answersTo(port, get("/silent") + get("/smuggled", HOST + upgrade));
  await until(() => events.slice(before).some(({ left }) => left === "/silent"));
  assertEquals(events.slice(before).filter(({ path }) => path === "/smuggled"), []);
}

async function testManyTurns({ port }: Setting): Promise<void> {
  const count = 1_000;
  const requests = Array.from(
    { length: count },
    (_, index) => post("/echo", "content-length: 3\r\n", `${index}`.padStart(3)),
  );
  const { text } = await answersTo(port, requests.join("") + LAST);
  assertEquals(text.match(/"text":" *\d+"/g)!.map((found) => Number(found.replace(/\D/g, ""))), [
    ...Array(count).keys(),
  ]);
}

async function testEndlessLine({ port }: Setting): Promise<void> {
  const arrived = async () => Number(await (await fetch(`http://127.0.0.1:${port}/arrived`)).text());
  const first = await arrived();
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const bytes = new TextEncoder().encode(get("/silent") + get("/ignore").repeat(100_000));
  const sending = (async () => {
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  })().catch(() => {});
  let count = 0;
  for (let last = -1; count < 100 || count > last + 1;) {
    last = count;
    await new Promise((resolve) => setTimeout(resolve, 300));
    count = await arrived() - first; // with the question itself
  }
  connection.close();
  await sending;
  assert(count < 10_000, `${count} requests were read while the first one was running`);
}

async function testRefusedWebSocket({ port }: Setting): Promise<void> {
  const open = async () => Number(await (await fetch(`http://127.0.0.1:${port}/open`)).text());
  const before = await open();
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const head = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n";
  await connection.write(new TextEncoder().encode(get("/refuse", HOST + head)));
  const buffer = new Uint8Array(65_536);
  let answer = "";
  for (let count = 0; count !== null; count = (await connection.read(buffer))!) {
    answer += new TextDecoder().decode(buffer.subarray(0, count));
  }
  assertEquals(answer.slice(0, 12), "HTTP/1.1 413");
  await until(async () => await open() <= before);
  connection.close();
}

async function testUnreadBody({ port }: Setting): Promise<void> {
  const { statuses } = await answersTo(port, post("/ignore", "content-length: 5\r\n", "hello") + LAST);
  assertEquals(statuses, [200, 200]);
}

async function testContinue({ port }: Setting): Promise<void> {
  const head = "content-length: 5\r\nexpect: 100-continue\r\n";
  assertEquals((await answersTo(port, post("/refuse", head))).statuses, [413]);
  assertEquals((await answersTo(port, post("/echo", head, "hello") + LAST)).statuses, [100, 200, 200]);
}

async function testLargeUnreadBody({ port }: Setting): Promise<void> {
  const { statuses } = await answersTo(port, post("/refuse", "content-length: 20000000\r\n", "z".repeat(20_000_000)));
  assertEquals(statuses, [413]);
}

async function testBrokenBody({ port, events }: Setting): Promise<void> {
  for (
    const [head, body] of [["content-length: 50\r\n", "hello"], ["transfer-encoding: chunked\r\n", "5\r\nhello\r\n"]]
  ) {
    const before = events.length;
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(new TextEncoder().encode(post("/echo", head!, body)));
    await until(() => events.length > before);
    connection.close();
    await until(() => events.slice(before).some(({ broken }) => broken !== undefined));
  }
}

async function testBrokenAnswer({ port }: Setting): Promise<void> {
  const { text } = await answersTo(port, get("/break"));
  assert(!text.endsWith("0\r\n\r\n"), text);
}

async function testHead({ port, events }: Setting): Promise<void> {
  const before = events.length;
  await answersTo(port, `HEAD /few HTTP/1.1\r\n${HOST}\r\n${LAST}`);
  const seen = events.slice(before);
  assertEquals([seen.some(({ given }) => given), seen.some(({ cancelled }) => cancelled === "/few")], [false, true]);
}

async function testLeaving({ port, events }: Setting): Promise<void> {
  for (const path of ["/silent", "/wait"]) {
    const before = events.length;
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(new TextEncoder().encode(get(path)));
    if (path === "/wait") await connection.read(new Uint8Array(1_000));
    await until(() => events.length > before);
    connection.close();
    await until(() => events.slice(before).some(({ left }) => left === path));
  }
  await until(() => events.some(({ cancelled }) => cancelled === "/wait"));
}

async function testLeavingInLine({ port, events }: Setting): Promise<void> {
  const before = events.length;
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(get("/silent") + SMUGGLED));
  await until(() => events.length > before);
  connection.close();
  await until(() => events.slice(before).some(({ left }) => left === "/silent"));
  await answersTo(port, LAST);
  assertEquals(events.slice(before).filter(({ path }) => path === "/smuggled"), []);
}

async function testSlowReader({ port, events }: Setting): Promise<void> {
  const before = events.length;
  const given = () => Number(events.slice(before).findLast(({ given }) => given !== undefined)?.given ?? 0);
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(get("/large")));
  for (let last = -1; last < 1 || given() > last;) {
    last = given();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  assert(given() < 900, `${given()} of 1,000 pieces were read for a client that reads nothing`);
  connection.close();
  await until(() => events.slice(before).some(({ cancelled }) => cancelled === "/large"));
}

async function testMany({ port }: Setting): Promise<void> {
  const lengths = await Promise.all(Array.from({ length: 500 }, async () => {
    const response = await fetch(`http://127.0.0.1:${port}/few`);
    return (await response.bytes()).length;
  }));
  assertEquals(lengths, Array(500).fill(20 * 65_536));
}
