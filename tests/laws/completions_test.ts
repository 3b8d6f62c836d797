/** Laws of completions: of their streams, however these are cut, and of the texts at which they end. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { StopCutter } from "../../plugins/completions/stops.ts";
import { readGap, writeGap } from "../../plugins/completions/families.ts";
import { newApp, type TestApp } from "../support/app.ts";
import { bodyOf, piecesOf } from "../support/chunks.ts";
import { ANSWERS, configFor, type Setup } from "../support/completions.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { law } from "../support/law.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** The kinds of servers by the wires of their streams. */
const KINDS: Record<string, Setup> = {
  completions: "suffix",
  fim: "fim",
  infill: "infill",
  generate: "generate",
  chat: "chat",
};

/** The clients whose streams are read here, and how they show that an answer is complete, or failed. */
const CLIENTS = {
  "/oss/v1/completions": { body: { prompt: "a", suffix: "c" }, isComplete: (text: string) => text.includes("[DONE]") },
  "/oss/v1/fim/completions": {
    body: { prompt: "a", suffix: "c" },
    isComplete: (text: string) => text.includes("[DONE]"),
  },
  "/oss/infill": {
    body: { input_prefix: "a", input_suffix: "c" },
    isComplete: (text: string) => text.includes('"stop":true'),
  },
  "/oss/api/generate": {
    body: { prompt: "a", suffix: "c" },
    isComplete: (text: string) => text.includes('"done":true'),
  },
};

async function ask(path: keyof typeof CLIENTS, setup: Setup, body: BodyInit, headers: Headers): Promise<string> {
  const upstream = fakeUpstream(() => new Response(body, { headers }));
  const app = newApp({ config: configFor(setup), fetch: upstream.fetch });
  const response = await app.post(path, { model: "coder", ...CLIENTS[path].body, stream: true });
  const text = await response.text();
  assertEquals(app.logs.length, 1);
  return text;
}

for (const [kind, setup] of Object.entries(KINDS)) {
  const served = ANSWERS[kind]!(true);
  const { headers } = served;
  const whole = served.bytes() as Promise<Bytes>;

  Deno.test(`completions: a stream of ${kind} is the same answer byte by byte, to every client`, async () => {
    const bytes = await whole;
    for (const path of Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]) {
      const answer = await ask(path, setup, bytes, headers);
      for (const size of [1, 7]) assertEquals(await ask(path, setup, bodyOf(piecesOf(bytes, size)), headers), answer);
    }
  });

  Deno.test(`completions: a stream of ${kind} that ends or breaks anywhere never looks complete, and fails once`, async () => {
    const bytes = await whole;
    const answer = await ask("/oss/v1/completions", setup, bytes, headers);
    for (const path of Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]) {
      // Every client is written by the same events: one of them sees all cuts.
      for (let end = 1; end < bytes.length; end += path === "/oss/v1/completions" ? 1 : 23) {
        for (const failure of [undefined, new Error("It broke")]) {
          const text = await ask(path, setup, bodyOf([bytes.slice(0, end)], failure), headers);
          const errors = [...text.matchAll(/"error":/g)].length;
          assertEquals(errors, CLIENTS[path].isComplete(text) ? 0 : 1, `cut at ${end}: ${text}`);
          const said = [...text.matchAll(/"text":"(.*?)"/g)].map(([, one]) => one).join("");
          assert(path !== "/oss/v1/completions" || " + b".startsWith(said), answer);
        }
      }
    }
  });
}

const letters = fc.string({ unit: fc.constantFrom("a", "b", "<", "|", "é", "😀"), maxLength: 24 });
const stops = fc.array(
  fc.string({ unit: fc.constantFrom("a", "b", "<", "|", "é", "😀"), minLength: 1, maxLength: 4 }),
  { minLength: 1, maxLength: 4 },
);

law(
  "completions: a text that comes in pieces ends where the whole one does, and no stop is shown",
  fc.record({ pieces: fc.array(letters, { maxLength: 6 }), stops }),
  ({ pieces, stops }) => {
    const cutter = new StopCutter(stops);
    let text = "";
    let stop: string | undefined;
    for (const [at, piece] of pieces.entries()) {
      const cut = cutter.push(piece, at === pieces.length - 1);
      text += cut.text;
      stop = cut.stop;
      if (stop !== undefined) break;
    }
    const all = pieces.join("");
    // As a server does that looks after each character.
    const ends = Array.from({ length: all.length + 1 }, (_, end) => end).filter((end) =>
      stops.some((one) => all.slice(0, end).endsWith(one))
    );
    const until = all.slice(0, ends[0]);
    const longest = Math.max(0, ...stops.filter((one) => until.endsWith(one)).map(({ length }) => length));
    assertEquals(text, ends.length === 0 ? all : until.slice(0, until.length - longest));
    assertEquals(stop !== undefined, ends.length > 0);
  },
);

const MARKS = { names: /^/, prefix: "<|fim_prefix|>", suffix: "<|fim_suffix|>", middle: "<|fim_middle|>" };

law(
  "completions: a gap that is written with marks is read back",
  fc.record({ prompt: letters, suffix: letters }),
  (gap) => assertEquals(readGap(writeGap(gap, MARKS)), gap),
);

const scalar = fc.oneof(fc.integer(), fc.boolean(), fc.string());
/** Fields that the gateway does not know, and fields that it does. */
const more = fc.record({
  unknown: fc.dictionary(fc.stringMatching(/^x_[a-z]{1,8}$/), scalar, { maxKeys: 4 }),
  known: fc.record({
    max_tokens: fc.integer({ min: 1, max: 4_096 }),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    n: fc.integer({ min: 2, max: 8 }),
    logprobs: fc.integer({ min: 0, max: 5 }),
    echo: fc.constant(true),
    seed: fc.integer({ min: 0 }),
    stop: fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 4 }),
    min_p: fc.double({ min: 0, max: 1, noNaN: true }),
  }, { requiredKeys: [] }),
  prompt: fc.oneof(
    fc.string(),
    fc.array(fc.string(), { minLength: 2, maxLength: 3 }),
    fc.array(fc.nat(), { minLength: 1 }),
  ),
});

law(
  "completions: a server of the same wire is sent the client's own request",
  more,
  async ({ unknown, known, prompt }) => {
    const upstream = fakeUpstream(() => Response.json({ error: { message: "No" } }, { status: 400 }));
    const app: TestApp = newApp({ config: configFor("plain"), fetch: upstream.fetch });
    const { stop, ...rest } = known;
    const asked = { ...rest, ...(stop && { stop: [...new Set(stop)] }), ...unknown, prompt };
    const response = await app.post("/oss/v1/completions", { model: "coder", ...asked });
    await response.body?.cancel();
    const { model: _, ...sent } = JSON.parse(upstream.asked[0]!.body);
    assertEquals(sent, JSON.parse(JSON.stringify(asked)));
  },
);

const odd = fc.oneof(
  { depthSize: "small" },
  fc.string(),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { maxLength: 3 }),
  fc.dictionary(fc.constantFrom("a", "__proto__", "text", "filename", "include_usage", "stop"), fc.string(), {
    maxKeys: 2,
  }),
  fc.constant([{ text: "let x;", filename: "__proto__" }]),
  fc.constant(["__proto__/x", "timings/prompt_n", "", "/", "constructor"]),
  fc.constant("<|fim_prefix|>a<|fim_suffix|><|fim_middle|>"),
  fc.constant("\ud800\u0000"),
);

const FIELDS = [
  ...[
    "prompt",
    "suffix",
    "input_prefix",
    "input_suffix",
    "input_extra",
    "response_fields",
    "stream",
    "n",
    "best_of",
    "echo",
  ],
  ...[
    "logprobs",
    "stop",
    "max_tokens",
    "n_predict",
    "seed",
    "options",
    "raw",
    "system",
    "template",
    "context",
    "images",
  ],
  ...["temperature", "top_k", "stream_options", "format", "think", "random_seed", "__proto__", "choices"],
];

const oddBodies = fc.record({
  path: fc.constantFrom(...Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]),
  setup: fc.constantFrom<Setup>("plain", "suffix", "beta", "fim", "infill", "generate", "chat", "off"),
  body: fc.dictionary(fc.constantFrom(...FIELDS), odd, { maxKeys: 4 }),
  isBase: fc.boolean(),
});

law(
  "completions: whatever a client sends, it is served or told why not",
  oddBodies,
  async ({ path, setup, body, isBase }) => {
    const answers = (url: URL, stream: boolean) => {
      const last = url.pathname.split("/").slice(-2).join("/");
      const kind = last.startsWith("chat/")
        ? "chat"
        : last.startsWith("fim/")
        ? "fim"
        : url.pathname.split("/").at(-1)!;
      return ANSWERS[kind]!(stream);
    };
    const upstream = fakeUpstream(({ url, body }) => answers(url, JSON.parse(body).stream === true));
    const app = newApp({ config: configFor(setup), fetch: upstream.fetch });
    const own = isBase ? CLIENTS[path].body : {};
    const response = await app.post(path, JSON.stringify({ model: "coder", ...own, ...body }));
    const text = await response.text();
    // The fake server gives one completion, however many are wanted.
    const isFewer = /completions"|completion/.test(text) && response.status === 502;
    assert(response.status === 200 || response.status === 400 || isFewer, `${response.status} ${text}`);
    if (response.status !== 200) assert(JSON.parse(text).error !== undefined);
    assert(!text.includes("failed while it handled"), text);
  },
);
