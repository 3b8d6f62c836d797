/** Clients of a WebSocket that read slowly, or nothing. */
import { assert, assertEquals } from "@std/assert";
import { ENDING, word } from "../support/chat.ts";
import { delay, until, within } from "../support/wait.ts";
import { type Setting, testEach, withGateway } from "./gateway.ts";
import { frame, OPCODE, RawWebSocket } from "./raw_websocket.ts";
import { type Asked, chunk, LAST_CHUNK, STREAM_HEAD } from "./tcp.ts";

const MIB = 2 ** 20;
/** What the socket buffers of two connections may hold (10 MiB each on Linux), and a little. */
const READ_AHEAD = 24 * MIB;
const OFFERED = 50 * MIB;
const LIMITS = { answerText: 2 * OFFERED };

const TEXT = "Z".repeat(64 * 1024);
const PIECES = OFFERED / TEXT.length;
const CREATE = { type: "response.create", model: "model", input: "Hello", store: false };

interface Stalled {
  client: RawWebSocket;
  asked: Asked;
  /** What the upstream still sends. */
  rest: Promise<void>;
}

/** A response whose client has read nothing, and whose upstream cannot send any more. Each piece tells its number. */
async function stall({ server, upstream }: Setting): Promise<Stalled> {
  const client = await RawWebSocket.open((server.addr as Deno.NetAddr).port);
  await client.send(CREATE);
  const asked = await upstream.next();
  await asked.write(STREAM_HEAD);
  let pieces = 0;
  const rest = (async () => {
    for (; pieces < PIECES; pieces++) await asked.write(chunk(word(`${pieces}${TEXT}`)));
    await asked.write(chunk(ENDING) + LAST_CHUNK);
  })();
  rest.catch(() => {}); // a test that awaits it hears of its failure
  for (let before = -1; before <= 0 || pieces > before;) {
    before = pieces;
    await delay(300);
  }
  const sent = pieces * TEXT.length;
  // deno-lint-ignore no-console -- a figure that people want to see
  console.log(`the upstream could send ${(sent / MIB).toFixed(1)} MiB to a client that reads nothing`);
  assert(sent < READ_AHEAD, `${sent} bytes were read ahead`);
  return { client, asked, rest };
}

testEach("websocket: a client that reads slowly slows the upstream down, and gets all in order", async () => {
  await withGateway(async (setting) => {
    const { client, rest } = await stall(setting);
    let numbers = 0;
    for (;;) {
      const { opcode, payload } = (await client.next())!;
      if (opcode === OPCODE.ping) await client.write(frame(OPCODE.pong, payload));
      const start = new TextDecoder().decode(payload.subarray(0, 200));
      if (start.includes('"type":"response.output_text.delta"')) {
        assertEquals(/"delta":"(\d+)Z/.exec(start)?.[1], String(numbers++));
      }
      if (start.includes('"type":"response.completed"')) break;
    }
    assertEquals(numbers, PIECES);
    await rest;
    // The connection goes on.
    await client.send({ ...CREATE, model: "sandbox" });
    assertEquals((await client.turn()).at(-1)!.type, "response.completed");
    client.close();
  }, { limits: LIMITS });
});

testEach("websocket: a client that reads nothing is left, its upstream too, and nobody waits for it", async () => {
  await withGateway(async ({ app, ...setting }) => {
    const { client, asked, rest } = await stall({ app, ...setting });
    await asked.left;
    await rest.catch(() => {}); // what it still wanted to send
    await until(() => app.logs.some(({ status }) => status === 499));
    // It has not closed its end, and will not.
    app.drain();
    await within(app.settled());
    client.close();
  }, { limits: { ...LIMITS, sendStallMs: 1_000 } });
});
