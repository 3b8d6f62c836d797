import { assert, assertEquals } from "@std/assert";
import { CHAT, chatBody } from "../support/app.ts";
import { ENDING, word } from "../support/chat.ts";
import { delay, until } from "../support/wait.ts";
import { type Setting, testEach, withGateway } from "./gateway.ts";
import { type Asked, chunk, LAST_CHUNK, STREAM_HEAD, type TcpClient } from "./tcp.ts";

const MIB = 2 ** 20;
/** What the socket buffers of two connections may hold (10 MiB each on Linux), and a little. */
const READ_AHEAD = 24 * MIB;
const OFFERED = 32 * MIB;
const LIMITS = { answerText: 2 * OFFERED };

/** A character that no frame has of its own. */
const LETTER = "Z";
const LETTERS_A_PIECE = 64 * 1024;
const PIECE = chunk(word(LETTER.repeat(LETTERS_A_PIECE)));
const PIECES = Math.ceil(OFFERED / PIECE.length);

/** A stream whose client has read nothing, and whose upstream cannot send any more. */
async function stall({ connect, upstream }: Setting): Promise<{ client: TcpClient; asked: Asked; all: Promise<void> }> {
  const client = await connect();
  await client.post(CHAT, chatBody({ stream: true }));
  const asked = await upstream.next();
  await asked.write(STREAM_HEAD);
  let pieces = 0;
  const all = (async () => {
    for (; pieces < PIECES; pieces++) await asked.write(PIECE);
    await asked.write(chunk(ENDING) + LAST_CHUNK);
  })();
  all.catch(() => {}); // a test that awaits it hears of its failure
  for (let before = -1; before <= 0 || pieces > before;) {
    before = pieces;
    await delay(300);
  }
  const sent = pieces * PIECE.length;
  // deno-lint-ignore no-console -- a figure that people want to see
  console.log(`the upstream could send ${(sent / MIB).toFixed(1)} MiB to a client that reads nothing`);
  assert(sent < READ_AHEAD, `${sent} bytes were read ahead`);
  return { client, asked, all };
}

testEach("a client that reads slowly slows the upstream down, and loses nothing", async () => {
  await withGateway(async (setting) => {
    const { client, all } = await stall(setting);
    assertEquals(await client.count(LETTER, "[DONE]"), PIECES * LETTERS_A_PIECE);
    await all;
    await until(() => setting.app.logs.length === 1);
    assertEquals(setting.app.logs[0]!.status, 200);
  }, { limits: LIMITS });
});

testEach("a client that pauses for longer than an upstream may is not told that the upstream was late", async () => {
  const idleMs = 1_000;
  await withGateway(async (setting) => {
    const { client, all } = await stall(setting);
    await delay(2 * idleMs);
    assertEquals(await client.count(LETTER, "[DONE]"), PIECES * LETTERS_A_PIECE);
    await all;
  }, { timeouts: { idleMs }, limits: LIMITS });
});

testEach("a client that leaves with much unread stops the upstream", async () => {
  await withGateway(async (setting) => {
    const { client, asked, all } = await stall(setting);
    client.close();
    await asked.left;
    await all.catch(() => {}); // what it still wanted to send
    await until(() => setting.app.logs.length === 1);
    assertEquals(setting.app.logs[0]!.status, 499);
  }, { limits: LIMITS });
});
