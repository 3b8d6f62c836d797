import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CHAT, chatBody } from "../support/app.ts";
import { ENDING, word } from "../support/chat.ts";
import { delay, until } from "../support/wait.ts";
import { type SettingOptions, testEach, withGateway } from "./gateway.ts";
import { type Asked, chunk, LAST_CHUNK, STREAM_HEAD } from "./tcp.ts";

/** Says `text` time after time, until the gateway has had enough. */
async function repeat(asked: Asked, text: string): Promise<void> {
  let isOver = false;
  asked.left.then(() => isOver = true);
  while (!isOver) {
    await asked.write(text).catch(() => {});
    await delay(20);
  }
}

const JSON_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n";

interface Case {
  stream: boolean;
  timeouts: NonNullable<SettingOptions["timeouts"]>;
  /** What the upstream does, and then no more. */
  act(asked: Asked): Promise<void>;
  message: string;
}

const BEFORE_THE_HEAD: Record<string, Case> = {
  "no head of a stream": {
    stream: true,
    timeouts: { headMs: 150 },
    act: () => Promise.resolve(),
    message: "The upstream did not begin to answer within 150 ms",
  },
  "a head and no event": {
    stream: true,
    timeouts: { firstEventMs: 150 },
    act: (asked) => asked.write(STREAM_HEAD),
    message: "The upstream did not send a first event within 150 ms",
  },
  "comments and no event": {
    stream: true,
    timeouts: { firstEventMs: 150 },
    async act(asked) {
      await asked.write(STREAM_HEAD);
      await repeat(asked, chunk(": ping\n\n"));
    },
    message: "The upstream did not send a first event within 150 ms",
  },
  "half an error": {
    stream: true,
    timeouts: { headMs: 150 },
    act: (asked) => asked.write(JSON_HEAD.replace("200 OK", "500 Internal Server Error")),
    message: "The upstream did not begin to answer within 150 ms",
  },
  "no whole answer": {
    stream: false,
    timeouts: { wholeMs: 150 },
    act: () => Promise.resolve(),
    message: "The upstream did not answer within 150 ms",
  },
  "half a whole answer": {
    stream: false,
    timeouts: { wholeMs: 150 },
    act: (asked) => asked.write(`${JSON_HEAD}{"choices":`),
    message: "The upstream did not answer within 150 ms",
  },
};

/** Whether the upstream was asked in time to be late: on a busy machine the gateway may give up before. */
async function isLate({ stream, timeouts, act, message }: Case, factor: number): Promise<boolean> {
  let isAsked = false;
  const times = Object.entries(timeouts).map(([name, ms]) => [name, ms * factor] as const);
  await withGateway(async ({ app, connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream }));
    const answered = client.readUntil('"upstream_timeout"');
    const asked = await Promise.race([upstream.next(), answered.then(() => undefined)]);
    if (!asked) return;
    isAsked = true;
    await act(asked);
    await answered;
    assertMatch(client.text, /^HTTP\/1\.1 504 /);
    assertStringIncludes(client.text, message.replace("150", String(150 * factor)));
    await asked.left;
    await until(() => app.logs.length === 1);
    assertEquals([app.logs[0]!.status, app.logs[0]!.error], [504, "upstream_timeout"]);
  }, { timeouts: Object.fromEntries(times) });
  return isAsked;
}

for (const [name, one] of Object.entries(BEFORE_THE_HEAD)) {
  testEach(`time-outs: ${name} is a 504, and the upstream is left`, async () => {
    for (let factor = 1; !await isLate(one, factor);) factor *= 4;
  });
}

const AFTER_THE_HEAD: Record<string, Omit<Case, "stream">> = {
  "silence between events": {
    timeouts: { idleMs: 150 },
    act: (asked) => asked.write(STREAM_HEAD + chunk(word("one"))),
    message: "The upstream did not send another event within 150 ms",
  },
  "an endless stream": {
    timeouts: { totalMs: 300 },
    async act(asked) {
      await asked.write(STREAM_HEAD);
      await repeat(asked, chunk(word("one")));
    },
    message: "The upstream did not answer within 300 ms",
  },
};

/** Whether the gateway had the first event in time: on a busy machine it may give up before. */
async function breaksOff({ timeouts, act, message }: Omit<Case, "stream">, factor: number): Promise<boolean> {
  const [[name, ms] = ["", 0]] = Object.entries(timeouts);
  let isBegun = false;
  await withGateway(async ({ app, connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const answered = client.readUntil('"upstream_timeout"');
    const asked = await Promise.race([upstream.next(), answered.then(() => undefined)]);
    if (!asked) return;
    await act(asked);
    await answered;
    isBegun = client.text.includes('"content":"one"');
    if (!isBegun) return;
    await client.readUntil(LAST_CHUNK);
    assertMatch(client.text, /^HTTP\/1\.1 200 /);
    assertStringIncludes(client.text, message.replace(`${ms} ms`, `${ms * factor} ms`));
    assert(!client.text.includes("[DONE]"));
    await asked.left;
    await until(() => app.logs.length === 1);
    assertEquals([app.logs[0]!.status, app.logs[0]!.error], [200, "upstream_timeout"]);
  }, { timeouts: { [name]: ms * factor } });
  return isBegun;
}

for (const [name, one] of Object.entries(AFTER_THE_HEAD)) {
  testEach(`time-outs: ${name} ends in an error, and the upstream is left`, async () => {
    for (let factor = 1; !await breaksOff(one, factor);) factor *= 4;
  });
}

testEach("time-outs: an upstream that is late after the early head is told as an error", async () => {
  await withGateway(async ({ connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const asked = await upstream.next();
    await client.readUntil(LAST_CHUNK);
    assertMatch(client.text, /^HTTP\/1\.1 200 /);
    assertStringIncludes(client.text, ": keep-alive");
    assertStringIncludes(client.text, '"code":"upstream_timeout"');
    assert(!client.text.includes("[DONE]"));
    await asked.left;
  }, { timeouts: { headMs: 1_000 }, pace: { headAfterMs: 20, keepAliveMs: 20 } });
});

/** Whether a stream with a comment every tenth of the time goes on, for longer than that; nothing where a comment was late. */
async function goesOn(idleMs: number): Promise<boolean | undefined> {
  let [isWhole, longestMs] = [false, 0];
  await withGateway(async ({ connect, upstream }) => {
    const client = await connect();
    await client.post(CHAT, chatBody({ stream: true }));
    const asked = await upstream.next();
    await asked.write(STREAM_HEAD + chunk(word("one")));
    let latest = performance.now();
    for (let pings = 0; pings < 15; pings++) {
      await delay(idleMs / 10);
      await asked.write(chunk(": ping\n\n")).catch(() => {}); // the gateway has left
      const now = performance.now();
      longestMs = Math.max(longestMs, now - latest);
      latest = now;
    }
    await asked.write(chunk(ENDING) + LAST_CHUNK).catch(() => {});
    await client.readUntil(LAST_CHUNK);
    isWhole = client.text.includes("[DONE]");
  }, { timeouts: { idleMs } });
  return isWhole || longestMs < idleMs / 2 ? isWhole : undefined;
}

testEach("time-outs: comments between events are a sign of life", async () => {
  let [idleMs, isWhole] = [500, await goesOn(500)];
  while (isWhole === undefined) isWhole = await goesOn(idleMs *= 4);
  assert(isWhole, "The stream was given up");
});
