/** What an answer may cost its caller, whatever its upstream says of it, at every endpoint that tells a usage. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { type Task, TASKS } from "../../src/canonical/models.ts";
import { formatLogLine } from "../../src/observe/log.ts";
import { bodyFor, PATH, shortAnswer, type Wire, WIRES } from "../regressions/support.ts";
import { CHAT, chatBody, type ConfigInput, ENV, newApp, NOW } from "../support/app.ts";
import { ANSWER, answerStream, word } from "../support/chat.ts";
import { ENDPOINTS, payloadOf } from "../support/endpoints.ts";
import { png } from "../support/fake_hub.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";

const PER_MINUTE = 1_000_000;
/** What every answer is believed to have used. */
const BELIEVED = 200_000;
const KEY = { authorization: `Bearer ${ENV.TEAM_KEY}` };

function configFor(wire: Wire, tokensPerMinute = PER_MINUTE): ConfigInput {
  const model = (task: Task) => ({ task, targets: [{ upstream: "fake", model: "org/model" }] });
  return {
    keys: [{ name: "team", secret: { env: "TEAM_KEY" }, quota: { tokensPerMinute, tokensPerDay: 100_000_000 } }],
    upstreams: { fake: { driver: wire, baseUrl: "http://upstream.test/v1" } },
    lanes: {
      oss: { models: { ...Object.fromEntries(TASKS.map((task) => [task, model(task)])), model: model("chat") } },
    },
  };
}

/** Every count of an answer, under the name that each wire has for it. */
function usageOf(input: unknown, output: unknown): JsonObject {
  const usage = { prompt_tokens: input, completion_tokens: output, input_tokens: input, output_tokens: output };
  return usage as JsonObject;
}

interface Spoken {
  send(app: ReturnType<typeof newApp>): Promise<Response>;
  wire: Wire;
  answer(asked: Asked, usage: JsonObject): Response | Promise<Response>;
}

const withUsage = async (response: Response, usage: JsonObject) => Response.json({ ...await response.json(), usage });

const SPOKEN: Record<string, Spoken> = {
  ...Object.fromEntries(
    WIRES.flatMap((client) =>
      WIRES.flatMap((wire) =>
        [false, true].map((stream): [string, Spoken] => [
          `${client} of ${wire}, ${stream ? "streamed" : "whole"}`,
          {
            wire,
            send: (app) => app.post(PATH[client], bodyFor(client, { stream }, "model"), KEY),
            answer: (_, usage) => withUsage(shortAnswer(wire), usage),
          },
        ])
      )
    ),
  ),
  "chat, in chunks": {
    wire: "chat",
    send: (app) => app.post(CHAT, chatBody({ stream: true }), KEY),
    answer: (_, usage) =>
      answerStream([
        word("one"),
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage })}\n\n`,
        "data: [DONE]\n\n",
      ]),
  },
  ...Object.fromEntries(
    ["chat, relayed", "embeddings", "rerank", "transcription", "images"].map((name): [string, Spoken] => [name, {
      wire: "chat",
      send(app) {
        const request = ENDPOINTS[name]!((task) => task);
        const init = { method: "POST", headers: KEY, body: payloadOf(request) };
        return app.fetch(new Request(`http://gateway${request.path}`, init));
      },
      answer: (_, usage) =>
        Response.json({
          ...ANSWER,
          ...(name === "chat, relayed" && { choices: [...ANSWER.choices, { ...ANSWER.choices[0], index: 1 }] }),
          data: [{ index: 0, embedding: [1, 0], b64_json: png("a").toBase64() }],
          results: [{ index: 0, relevance_score: 1 }],
          text: "Hello",
          usage,
        }),
    }]),
  ),
};

/** Counts that no answer can have, and what at most they cost. */
const LIES: [input: unknown, output: unknown][] = [
  [1e9, 1e9],
  [1e9, 0],
  [1, 1e9],
  [2 ** 53, 2 ** 53],
  [1e300, 1e300],
  [-1e9, 5],
  [5, -1e9],
  [-1, -1],
  [0.5, 0.25],
  [null, null],
  ["1e9", "1e9"],
  [{}, []],
];

for (const [name, { send, wire, answer }] of Object.entries(SPOKEN)) {
  Deno.test(`law · charges: no usage that an upstream tells costs more than can be, or pays anything back · ${name}`, async () => {
    for (const [input, output] of LIES) {
      const where = JSON.stringify([input, output]);
      const clock = { ms: NOW };
      const fetch = fakeUpstream((asked) => answer(asked, usageOf(input, output))).fetch;
      const app = newApp({ config: configFor(wire), fetch, now: () => clock.ms, monotonic: () => clock.ms });
      const left = async () => {
        const response = await app.post(CHAT, chatBody(), { ...KEY, "x-laneway-explain": "true" });
        return Number(response.headers.get("x-ratelimit-remaining-tokens"));
      };
      const first = await send(app);
      const text = await first.text();
      assertEquals(first.status, 200, `${where} ${text}`);
      const charged = PER_MINUTE - await left();
      assert(charged >= 0 && charged <= BELIEVED, `${where}: ${charged}`);
      // Vectors and rankings have no tokens of their own.
      const counted = /embeddings|rerank/.test(name) ? [input] : [input, output];
      const reported = Math.max(...counted.map((count) => typeof count === "number" ? count : 0));
      const notes = `${first.headers.get("x-laneway-notes")} ${text} ${formatLogLine(app.logs[0]!)}`;
      if (charged === BELIEVED) {
        // Said to the client, in a header or at the end of its stream, and in the log.
        assertEquals(notes.match(/charged 200000 tokens of the \d+ that the upstream reported/g)?.length, 2, notes);
      } else assert(reported < BELIEVED || !Number.isSafeInteger(reported), `${where}: ${charged}`);
      // What was used before stays used.
      clock.ms += 60_000;
      assertEquals(await left(), PER_MINUTE, where);
      await app.close();
    }
  });

  Deno.test(`law · charges: no answer locks a key for longer than a minute · ${name}`, async () => {
    const clock = { ms: NOW };
    const fetch = fakeUpstream((asked) => answer(asked, usageOf(1e9, 1e9))).fetch;
    const app = newApp({ config: configFor(wire, 100), fetch, now: () => clock.ms, monotonic: () => clock.ms });
    await (await send(app)).text();
    const refused = await app.post(CHAT, chatBody(), KEY);
    assertEquals(refused.status, 429);
    await refused.body?.cancel();
    // As long as it takes until there is nothing owed, and the tokens of this request.
    const waitMs = Number(refused.headers.get("retry-after")) * 1_000;
    assert(waitMs <= 60_000 + 60_000 * 9 / 100 + 1_000, String(waitMs));
    clock.ms += waitMs;
    const again = await send(app);
    await again.text();
    assertEquals(again.status, 200);
    await app.close();
  });
}

Deno.test("a long answer is believed ten times what it is estimated at, and its upstream's counts stand in the log", async () => {
  const long = "word ".repeat(100_000);
  const usage = usageOf(5_000_000, 1_000_000);
  const fetch = fakeUpstream(() => withUsage(shortAnswer("chat"), usage)).fetch;
  const app = newApp({ config: configFor("chat", 100_000_000), fetch });
  const response = await app.post(CHAT, chatBody({ messages: [{ role: "user", content: long }] }), KEY);
  const notes = response.headers.get("x-laneway-notes") ?? "";
  await response.body?.cancel();
  const charged = Number(/charged (\d+) tokens of the 6000000 that the upstream reported/.exec(notes)?.[1]);
  assert(charged >= 10 * long.length / 4 && charged <= 10 * long.length / 4 + 500, notes);
  assertStringIncludes(formatLogLine(app.logs[0]!), '"inputTokens":5000000');
  await app.close();
});

Deno.test("an answer within what can be is charged what its upstream tells, and nothing is said", async () => {
  const fetch = fakeUpstream(() => withUsage(shortAnswer("chat"), usageOf(150_000, 50_000))).fetch;
  const app = newApp({ config: configFor("chat"), fetch });
  const response = await app.post(CHAT, chatBody(), KEY);
  await response.body?.cancel();
  assertEquals(response.headers.get("x-laneway-notes"), null);
  const after = await app.post(CHAT, chatBody(), { ...KEY, "x-laneway-explain": "true" });
  assertEquals(Number(after.headers.get("x-ratelimit-remaining-tokens")), PER_MINUTE - 200_000);
  await app.close();
});

Deno.test("of one key that answers far beyond the truth, the next counts stay as they were", async () => {
  const app = newApp({
    config: configFor("chat"),
    fetch: fakeUpstream(() => withUsage(shortAnswer("chat"), usageOf(1e9, 1))).fetch,
  });
  const body = chatBody({ messages: [{ role: "user", content: "word ".repeat(10_000) }] });
  const count = async () => {
    const response = await app.post("/oss/v1/messages/count_tokens", body, KEY);
    return (await response.json()).input_tokens;
  };
  const before = await count();
  for (let time = 0; time < 3; time++) await (await app.post(CHAT, body, KEY)).body?.cancel();
  assertEquals(await count(), before);
  await app.close();
});

const TEXT = "word ".repeat(8_000);
/** Much more text than the model said. */
const LOGPROBS = { content: TEXT.split(/(?= )/).map((token) => ({ token, logprob: -1, top_logprobs: [{ token }] })) };
const SOUND = { id: "audio_1", data: "QUJD".repeat(100_000), expires_at: 1, transcript: "" };

for (
  const [name, request, answer] of [
    ["whole", { logprobs: true }, () =>
      Response.json({
        choices: [{ index: 0, message: { role: "assistant", content: TEXT, audio: SOUND }, logprobs: LOGPROBS }],
      })],
    ["in one chunk", { logprobs: true, stream: true }, () =>
      answerStream([
        `data: ${
          JSON.stringify({
            choices: [{ index: 0, delta: { content: TEXT, audio: SOUND }, logprobs: LOGPROBS, finish_reason: "stop" }],
          })
        }\n\n`,
        "data: [DONE]\n\n",
      ])],
  ] as const
) {
  Deno.test(`a relayed answer whose upstream tells no usage costs what was said in it · ${name}`, async () => {
    const app = newApp({ config: configFor("chat"), fetch: fakeUpstream(answer).fetch });
    await (await app.post(CHAT, chatBody(request), KEY)).text();
    const after = await app.post(CHAT, chatBody(), { ...KEY, "x-laneway-explain": "true" });
    const charged = PER_MINUTE - Number(after.headers.get("x-ratelimit-remaining-tokens"));
    assert(charged >= TEXT.length / 4 && charged <= TEXT.length / 4 + 100, String(charged));
    await app.close();
  });
}
