/** The answer's length that a messages upstream is given where the client says nothing of it. */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { chatBody, type ConfigInput, newApp, type TestApp } from "../../support/app.ts";

type Lanes = NonNullable<ConfigInput["lanes"]>;
type Alias = NonNullable<Lanes[string]["models"]>[string];

const ANSWER = {
  id: "x",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 3, output_tokens: 5 },
};

/** A server with a window, which counts a token for every ten characters of the body's text. */
function newRig(
  { refuse, alias = {}, upstream = {} }: {
    refuse?(maxTokens: number, body: JsonObject): string | undefined;
    alias?: Partial<Alias>;
    upstream?: object;
  },
): { app: TestApp; limits: number[] } {
  const limits: number[] = [];
  const app = newApp({
    config: {
      upstreams: { fake: { driver: "messages", baseUrl: "http://upstream.test/v1", ...upstream } },
      lanes: {
        oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "org/model" }], ...alias } } },
      },
    },
    async fetch(input, init) {
      const body = await new Request(input, init).json();
      limits.push(body.max_tokens);
      const message = refuse?.(body.max_tokens, body);
      return message === undefined
        ? Response.json(ANSWER)
        : Response.json({ type: "error", error: { type: "invalid_request_error", message } }, { status: 400 });
    },
  });
  return { app, limits };
}

const CHAT = "/oss/v1/chat/completions";
const RESPONSES = "/oss/v1/responses";

Deno.test("a model's own limit is sent, or what its window leaves, or what the configuration says", async () => {
  const cases: [alias: Partial<Alias>, upstream: object, expected: (limit: number) => boolean][] = [
    [{}, {}, (limit) => limit === 32_000],
    [{ maxOutputTokens: 8_192 }, {}, (limit) => limit === 8_192],
    [{ maxOutputTokens: 64_000 }, {}, (limit) => limit === 64_000],
    [{ contextLength: 4_096 }, {}, (limit) => limit < 4_096 && limit > 4_000],
    [{ contextLength: 4_096, maxOutputTokens: 1_000 }, {}, (limit) => limit === 1_000],
    [{ contextLength: 4_096, maxOutputTokens: 8_000 }, {}, (limit) => limit < 4_096 && limit > 4_000],
    [{}, { defaultMaxTokens: 500 }, (limit) => limit === 500],
    [{ defaultMaxTokens: 700 }, { defaultMaxTokens: 500 }, (limit) => limit === 700],
    [{ defaultMaxTokens: 700, maxOutputTokens: 600 }, {}, (limit) => limit === 600],
  ];
  for (const [alias, upstream, expected] of cases) {
    for (const [path, body] of [[CHAT, chatBody()], [RESPONSES, { model: "model", input: "Hello" }]] as const) {
      const { app, limits } = newRig({ alias, upstream });
      assertEquals((await app.post(path, body)).status, 200);
      assert(limits.length === 1 && expected(limits[0]!), `${JSON.stringify([alias, upstream])}: ${limits}`);
    }
  }
});

/** The words of servers, each with the room that they tell of; the input is of 12 tokens. */
const REFUSALS: readonly [server: string, words: (limit: number) => string, room: number][] = [
  [
    "vLLM",
    (limit) =>
      `'max_tokens' or 'max_completion_tokens' is too large: ${limit}. This model's maximum context length is 4096 tokens and your request has 12 input tokens (${limit} > 4096 - 12).`,
    4_084,
  ],
  [
    "vLLM, older",
    (limit) =>
      `This model's maximum context length is 4096 tokens. However, you requested ${
        limit + 12
      } tokens (12 in the messages, ${limit} in the completion). Please reduce the length of the messages or completion.`,
    4_084,
  ],
  [
    "vLLM, newer",
    (limit) =>
      `This model's maximum context length is 4096 tokens. However, you requested ${limit} output tokens and your prompt contains 12 input tokens, for a total of ${
        limit + 12
      } tokens.`,
    4_084,
  ],
  [
    "SGLang",
    (limit) =>
      `Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of ${
        limit + 12
      } tokens: 12 tokens from the input messages and ${limit} tokens for the completion.`,
    4_084,
  ],
  [
    "Anthropic",
    (limit) => `input length and \`max_tokens\` exceed context limit: 12 + ${limit} > 4096, decrease input length`,
    4_084,
  ],
  [
    "Anthropic, by the answer",
    (limit) => `max_tokens: ${limit} > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku`,
    8_192,
  ],
  [
    "OpenAI",
    (limit) =>
      `max_tokens is too large: ${limit}. This model supports at most 16384 completion tokens, whereas you provided ${limit}.`,
    16_384,
  ],
  ["DeepSeek", () => "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192],
  [
    "Groq",
    () =>
      "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
    8_192,
  ],
];

for (const [server, words, room] of REFUSALS) {
  for (const stream of [false, true]) {
    Deno.test(`${server} is asked once more, with what its refusal leaves room for (stream: ${stream})`, async () => {
      const { app, limits } = newRig({ refuse: (limit) => limit > room ? words(limit) : undefined });
      const response = await app.post(CHAT, chatBody({ stream }));
      await response.text();
      assertEquals([response.status, limits], [200, [32_000, room]]);
    });
  }
  const isOwnBound = room > 4_096;
  Deno.test(`${server} is asked again for what the client itself asked for only if it names its own bound`, async () => {
    const { app, limits } = newRig({ refuse: (limit) => limit > room ? words(limit) : undefined });
    const response = await app.post(CHAT, chatBody({ max_tokens: 30_000 }));
    assertEquals([response.status, limits], isOwnBound ? [200, [30_000, room]] : [400, [30_000]]);
    assertEquals(/relaxed max_tokens to/.test(response.headers.get("x-laneway-notes") ?? ""), isOwnBound);
    await response.body?.cancel();
  });
}

/** vLLM, which looks at the limit before it counts the input: 0.32, those before it, and one that lost a space. */
const WINDOWS_ALONE: readonly ((limit: number) => string)[] = [
  (limit) =>
    `max_completion_tokens=${limit} cannot be greater than max_model_len=4096. Please request fewer output tokens. (parameter=max_completion_tokens, value=${limit})`,
  (limit) =>
    `max_tokens=${limit} cannot be greater than max_model_len=max_total_tokens=4096. Please request fewer output tokens.`,
  (limit) =>
    `max_tokens=${limit}cannot be greater than max_model_len=max_total_tokens=4096. Please request fewer output tokens.`,
];

Deno.test("a refusal that tells the window alone: what the input leaves of it is asked for, then what the server counts", async () => {
  for (const words of WINDOWS_ALONE) {
    for (const [input, asked] of [[5, 2], [4_000, 3]] as const) {
      const refuse = (limit: number) => {
        if (limit > 4_096) return words(limit);
        return limit + input > 4_096
          ? `This model's maximum context length is 4096 tokens. However, you requested ${limit} output tokens and your prompt contains at least ${input} input tokens, for a total of at least ${
            limit + input
          } tokens.`
          : undefined;
      };
      const { app, limits } = newRig({ refuse });
      const response = await app.post(CHAT, chatBody());
      assertEquals([response.status, limits.length], [200, asked], `${limits}`);
      assert(limits.at(-1)! > (input === 5 ? 3_500 : 90), `${limits}`);
    }
    const { app, limits } = newRig({ refuse: words });
    assertEquals([(await app.post(CHAT, chatBody())).status, limits.length], [400, 2], `${limits}`);
  }
});

Deno.test("a refusal that leaves no room, tells no numbers, or comes again is the client's to hear", async () => {
  const cases: [words: string, asked: number][] = [
    ["This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.", 1],
    ["The answer is too long", 1],
    // Asked once more, it says the same.
    ["max_tokens: 32000 > 100, which is the maximum allowed number of output tokens for m", 2],
  ];
  for (const [words, asked] of cases) {
    const { app, limits } = newRig({ refuse: () => words });
    assertEquals((await app.post(CHAT, chatBody())).status, 400);
    assertEquals(limits.length, asked, words);
  }
});

Deno.test("whatever the window and the input, what fits is answered", async () => {
  for (const window of [300, 1_000, 4_096, 33_000, 200_000]) {
    for (const share of [0.01, 0.3, 0.7, 0.9, 0.99]) {
      for (const alias of [{}, { contextLength: window }, { maxOutputTokens: window * 2 }]) {
        const input = Math.ceil(window * share);
        const refuse = (limit: number) =>
          input + limit > window
            ? `This model's maximum context length is ${window} tokens. However, you requested ${
              input + limit
            } tokens (${input} in the messages, ${limit} in the completion).`
            : undefined;
        const { app, limits } = newRig({ refuse, alias });
        // The estimate counts high or low: the server's count is its own.
        const response = await app.post(CHAT, chatBody({ messages: [{ role: "user", content: "x ".repeat(input) }] }));
        assertEquals(response.status, 200, `${window} ${share} ${JSON.stringify(alias)}: ${limits}`);
        assert(limits.length <= 2 && limits.at(-1)! >= 1);
      }
    }
  }
});
