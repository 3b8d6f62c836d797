/** Odd and hostile frames in a WebSocket, on every runtime: the gateway answers or closes, and goes on. */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { delay, until } from "../support/wait.ts";
import type { ConfigInput } from "../support/app.ts";
import type { TcpUpstream } from "./tcp.ts";
import { frame, OPCODE, RawWebSocket } from "./raw_websocket.ts";

/** A request that the sandbox answers. */
export const CREATE = { type: "response.create", model: "sandbox", input: "Hello", store: false };
const MESSAGE = new TextEncoder().encode(JSON.stringify(CREATE));

/** The gateway in front of `TcpUpstream`. */
export interface FramesSetting {
  logs: readonly object[];
  upstream: TcpUpstream;
  open(): Promise<RawWebSocket>;
}

interface FramesTest {
  name: string;
  run(open: () => Promise<RawWebSocket>, setting: FramesSetting): Promise<void>;
  limits?: ConfigInput["limits"];
}

export const FRAMES_TESTS: FramesTest[] = [];

function test(name: string, run: FramesTest["run"], { limits }: Pick<FramesTest, "limits"> = {}): void {
  FRAMES_TESTS.push({ name, run, limits });
}

/** Runs a test, then sees that others are served whatever came before. `port`: the gateway's. */
export async function runFramesTest(
  { run }: FramesTest,
  port: number,
  setting: Omit<FramesSetting, "open">,
): Promise<void> {
  const clients: RawWebSocket[] = [];
  const open = async () => {
    const client = await RawWebSocket.open(port);
    clients.push(client);
    return client;
  };
  await run(open, { ...setting, open });
  const other = await open();
  await other.send(CREATE);
  assertEquals(typeOf(await other.turn()), "response.completed");
  for (const client of clients) client.close();
}

const statuses = (logs: readonly object[]) => logs.map((line) => (line as { status?: number }).status);
const typeOf = (events: JsonObject[]) => events.at(-1)!.type;

test("a message in many frames is one message, with a ping in between", async (open) => {
  const client = await open();
  for (const [at, byte] of MESSAGE.entries()) {
    const opcode = at === 0 ? OPCODE.text : OPCODE.continuation;
    await client.write(frame(opcode, Uint8Array.of(byte), { isLast: at === MESSAGE.length - 1 }));
    if (at !== 9) continue;
    await client.write(frame(OPCODE.ping, "there?"));
    const pong = await client.next();
    assertEquals([pong?.opcode, new TextDecoder().decode(pong?.payload)], [OPCODE.pong, "there?"]);
  }
  assertEquals(typeOf(await client.turn()), "response.completed");
});

test("a binary, an empty and a broken message are refused, and the connection goes on", async (open) => {
  const client = await open();
  for (const bytes of [frame(OPCODE.binary, MESSAGE), frame(OPCODE.text, ""), frame(OPCODE.text, "[1,")]) {
    await client.write(bytes);
    assertEquals((await client.turn()).at(-1)!.status, 400);
  }
  await client.send(CREATE);
  assertEquals(typeOf(await client.turn()), "response.completed");
});

test(
  "a message over the limit of a body is refused, and so is JSON of more than the limits",
  async (open, { logs }) => {
    const client = await open();
    await client.send({ ...CREATE, input: "x".repeat(20_000) });
    assertEquals((await client.turn()).at(-1)!.status, 413);
    await client.send(`{"type":"response.create","input":${"[".repeat(300)}${"]".repeat(300)}}`);
    assertEquals((await client.turn()).at(-1)!.status, 400);
    await client.send(CREATE);
    assertEquals(typeOf(await client.turn()), "response.completed");
    await until(() => logs.length >= 3);
    // The second refusal comes in the same second as the first.
    assertEquals(statuses(logs), [101, 413, 200]);
  },
  { limits: { bodyBytes: 16_384, jsonDepth: 100 } },
);

const INVALID: Record<string, Uint8Array> = {
  "a frame without a mask": frame(OPCODE.text, MESSAGE, { isMasked: false }),
  "a frame of an opcode that is reserved": frame(5, MESSAGE),
  "a frame with reserved bits": frame(OPCODE.text | 0x70, MESSAGE),
  "a continuation of nothing": frame(OPCODE.continuation, MESSAGE),
  "a ping that is too long": frame(OPCODE.ping, new Uint8Array(126)),
  "a ping in two frames": frame(OPCODE.ping, "a", { isLast: false }),
  "a frame that claims exabytes": frame(OPCODE.text, "{", { claimedLength: 2 ** 62 }),
  "a frame that claims more than a message may have": frame(OPCODE.text, "{", { claimedLength: 2 ** 27 }),
  "a text that is no UTF-8": frame(OPCODE.text, Uint8Array.of(0x22, 0xff, 0xfe, 0x22)),
  "bytes that are no frame": crypto.getRandomValues(new Uint8Array(4_096)),
};

for (const [name, bytes] of Object.entries(INVALID)) {
  test(`${name} does no harm`, async (open) => {
    const client = await open();
    await client.write(bytes);
    // What is no message for it is answered or ends the connection; half a frame waits for the rest of it.
    client.close();
  });
}

test("as many messages as may wait are answered", async (open) => {
  const client = await open();
  await client.write(repeated(frame(OPCODE.text, MESSAGE), 256));
  for (let answered = 0; answered < 256; answered++) assertEquals(typeOf(await client.turn()), "response.completed");
});

for (const [what, message] of [["mistakes", "{}"], ["requests", MESSAGE]] as const) {
  test(`10,000 ${what} at once: a few are refused, then the connection is closed`, async (open, { logs }) => {
    const client = await open();
    const writing = client.write(repeated(frame(OPCODE.text, message), 10_000)).catch(() => {}); // it is closed before all are sent
    await client.readToEnd();
    await writing;
    const refused = logs.filter((line) =>
      "error" in line && ["invalid_request", "rate_limit"].includes(String(line.error))
    );
    assert(refused.length <= 1, JSON.stringify(refused));
  });
}

test("twenty refused messages in a row end a connection, and a good one begins a new row", async (open) => {
  const client = await open();
  for (let round = 0; round < 2; round++) {
    for (let refused = 0; refused < 19; refused++) {
      await client.send({});
      assertEquals((await client.turn()).at(-1)!.status, 400);
    }
    await client.send(CREATE);
    assertEquals(typeOf(await client.turn()), "response.completed");
  }
  await client.write(repeated(frame(OPCODE.text, "{}"), 20));
  for (let refused = 0; refused < 20; refused++) assertEquals((await client.turn()).at(-1)!.status, 400);
  const { payload } = (await client.readToEnd())!;
  assertEquals(new DataView(payload.buffer, payload.byteOffset).getUint16(0), 1008);
});

function repeated(bytes: Uint8Array, times: number): Uint8Array {
  const all = new Uint8Array(times * bytes.length);
  for (let at = 0; at < times; at++) all.set(bytes, at * bytes.length);
  return all;
}

test("a client that only makes mistakes and reads nothing is closed", async (open, { logs }) => {
  const client = await open();
  const all = repeated(frame(OPCODE.text, "?"), 20_000);
  // It has read nothing by the time when all are written; the answers to them would be 80 MB.
  for (let times = 0; times < 20; times++) await client.write(all).catch(() => {});
  for (let before = -1; logs.length > before;) {
    before = logs.length;
    await delay(300);
  }
  assert(logs.length < 20, `${logs.length} mistakes were answered`);
  await client.readToEnd();
});

test("memory that messages wait with is given back, and what finds none is refused", async (open, { upstream }) => {
  const client = await open();
  const long = { ...CREATE, model: "model", input: "x".repeat(40_000) };
  await client.send(long);
  const asked = await upstream.next();
  await client.send(long);
  await client.send(long);
  assertEquals((await client.turn()).at(-1)!.status, 503);
  client.close();
  await asked.left;
}, { limits: { uploadBytes: 100_000 } });
