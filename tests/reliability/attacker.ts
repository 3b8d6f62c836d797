/**
 * A caller that takes all it can of a gateway until it is stopped: `attacker.ts <gateway's address> <key>`. It runs as a process of its
 * own, so that who measures is not held up by it. Prints the count of each status that it got, as JSON, when its input ends.
 */
import { brotliCompressSync, constants, zstdCompressSync } from "node:zlib";
import { frame, OPCODE, RawWebSocket } from "../sockets/raw_websocket.ts";

const [url, key] = Deno.args as [string, string];
const port = Number(new URL(url).port);
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
const CHAT = "/oss/v1/chat/completions";
const counts: Record<string, number> = {};
let isOver = false;

const said = (content: string, more: object = {}) =>
  JSON.stringify({ model: "sandbox", messages: [{ role: "user", content }], ...more });
const large = said("word ".repeat(6_200_000));
const packed = brotliCompressSync(large, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
/** Takes two bytes a character once it is text, and is nearly as dense as is accepted. */
const noise = Array.from(crypto.getRandomValues(new Uint8Array(40_000)), (byte) => byte.toString(16)).join("");
const dense = zstdCompressSync(said(`\u4e2d${noise}${"word ".repeat(5_800_000)}`));
const long = said("word ".repeat(190_000));
const request = { type: "response.create", model: "sandbox", input: "Hello" };
const largeMessage = frame(OPCODE.text, JSON.stringify({ ...request, input: "word ".repeat(5_800_000) }));

/** Attacks that go on side by side, and how many of each at once. */
const ATTACKS: [width: number, attack: () => Promise<void>][] = [
  [10, () => post(packed, { "content-encoding": "br" })],
  [10, () => post(dense, { "content-encoding": "zstd" })],
  [2, () => post(large)],
  [40, () => post(long)],
  [100, declareMuch],
  [50, () => post(said("Hello", { stream: true }))],
  [10, idle],
  [8, () => flood("{}")],
  [8, () => flood(JSON.stringify(request))],
  [2, largeMessages],
  [20, hangUp],
  [4, unfinished],
  [2, () => post(said("Hello").replace("sandbox", "sandbxo"))],
];

const running = ATTACKS.flatMap(([width, attack]) => Array.from({ length: width }, () => again(attack)));
for await (const _ of Deno.stdin.readable); // until whoever started it has seen enough
isOver = true;
// deno-lint-ignore no-console -- what it found out
console.log(JSON.stringify(counts));
await Promise.race([Promise.all(running), new Promise((resolve) => setTimeout(resolve, 1_000))]);
Deno.exit();

async function again(attack: () => Promise<void>): Promise<void> {
  while (!isOver) {
    await attack().catch(({ message }) => count(String(message).match(/HTTP\/1.1 (\d+)/)?.[1] ?? "ended"));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function count(what: string | number): void {
  counts[what] = (counts[what] ?? 0) + 1;
}

async function post(body: string | Uint8Array<ArrayBuffer>, more: Record<string, string> = {}): Promise<void> {
  const response = await fetch(url + CHAT, { method: "POST", headers: { ...headers, ...more }, body });
  count(response.status);
  for await (const _ of response.body ?? []) if (isOver) break;
}

/** Declares a body of a MiB and sends a byte of it. */
async function declareMuch(): Promise<void> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const lines = [`POST ${CHAT} HTTP/1.1`, "host: localhost", `authorization: Bearer ${key}`, "content-length: 1048576"];
  await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n{`));
  const answer = new Uint8Array(100);
  const length = await connection.read(answer);
  if (length !== null) count(new TextDecoder().decode(answer.subarray(9, 12)));
}

/** Holds a WebSocket that says nothing. */
async function idle(): Promise<void> {
  const socket = await open();
  await socket.readToEnd();
}

/** Sends more messages than anybody can answer. */
async function flood(message: string): Promise<void> {
  const socket = await open();
  void socket.readToEnd().catch(() => {});
  const one = frame(OPCODE.text, message);
  const many = new Uint8Array(200 * one.length);
  for (let at = 0; at < many.length; at += one.length) many.set(one, at);
  for (let sent = 0; sent < 100 && !isOver; sent++) await socket.write(many);
  socket.close();
}

async function largeMessages(): Promise<void> {
  const socket = await open();
  void socket.readToEnd().catch(() => {});
  for (let sent = 0; sent < 10 && !isOver; sent++) await socket.write(largeMessage);
  socket.close();
}

/** Leaves in the middle of a stream. */
async function hangUp(): Promise<void> {
  const body = said("Hello", { stream: true }).replace("sandbox", "endless");
  const response = await fetch(url + CHAT, { method: "POST", headers, body });
  count(response.status);
  await response.body?.getReader().read();
  await response.body?.cancel().catch(() => {});
}

/** Sends all of a large message but its end. */
async function unfinished(): Promise<void> {
  const socket = await open();
  await socket.write(frame(OPCODE.text, "", { claimedLength: 60 * 2 ** 20 }));
  for (let sent = 0; sent < 59 && !isOver; sent++) await socket.write(new Uint8Array(2 ** 20));
  await socket.readToEnd();
}

async function open(): Promise<RawWebSocket> {
  const socket = await RawWebSocket.open(port, undefined, key);
  count(101);
  return socket;
}
