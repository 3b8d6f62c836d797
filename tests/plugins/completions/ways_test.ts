import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CONFIG, type ConfigInput, newApp } from "../../support/app.ts";
import { ANSWERS, configFor, lines, QWEN, type Setup, USAGE } from "../../support/completions.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";

/** The path and the body of what each kind of server is asked for the gap between `a` and `c`. */
const ASKED: Record<Exclude<Setup, "off">, { answer: keyof typeof ANSWERS; path: string; body: object }> = {
  plain: {
    answer: "completions",
    path: "/v1/completions",
    body: { prompt: "<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>" },
  },
  suffix: { answer: "completions", path: "/v1/completions", body: { prompt: "a", suffix: "c" } },
  beta: { answer: "completions", path: "/v1/beta/completions", body: { prompt: "a", suffix: "c" } },
  fim: { answer: "fim", path: "/v1/fim/completions", body: { prompt: "a", suffix: "c" } },
  infill: { answer: "infill", path: "/infill", body: { input_prefix: "a", input_suffix: "c" } },
  generate: { answer: "generate", path: "/api/generate", body: { prompt: "a", suffix: "c" } },
  chat: { answer: "chat", path: "/v1/chat/completions", body: {} },
};

/** The fields of an answer, or of one frame, on any of the wires. */
interface Answer {
  choices?: { text?: string; message?: { content: string }; delta?: { content: string }; finish_reason: string }[];
  usage?: { completion_tokens: number };
  content?: string;
  stop_type?: string;
  tokens_predicted?: number;
  response?: string;
  done_reason?: string;
  eval_count?: number;
}

/** How each client asks for that gap, and what it reads of the answer. */
const CLIENTS: Record<string, {
  path: string;
  body: object;
  whole(answer: Answer): unknown[];
  piece(frame: Answer): string | undefined;
}> = {
  completions: {
    path: "/oss/v1/completions",
    body: { prompt: "a", suffix: "c", max_tokens: 8 },
    whole: ({ choices: [choice] = [], usage }) => [choice?.text, choice?.finish_reason, usage?.completion_tokens],
    piece: ({ choices: [choice] = [] }) => choice?.text,
  },
  fim: {
    path: "/oss/v1/fim/completions",
    body: { prompt: "a", suffix: "c", max_tokens: 8 },
    whole({ choices: [choice] = [], usage }) {
      return [choice?.message?.content, choice?.finish_reason, usage?.completion_tokens];
    },
    piece: ({ choices: [choice] = [] }) => choice?.delta?.content,
  },
  infill: {
    path: "/oss/infill",
    body: { input_prefix: "a", input_suffix: "c", n_predict: 8 },
    whole({ content, stop_type, tokens_predicted }) {
      return [content, stop_type === "eos" ? "stop" : stop_type, tokens_predicted];
    },
    piece: ({ content }) => content,
  },
  generate: {
    path: "/oss/api/generate",
    body: { prompt: "a", suffix: "c", options: { num_predict: 8 } },
    whole: ({ response, done_reason, eval_count }) => [response, done_reason, eval_count],
    piece: ({ response }) => response,
  },
};

for (const [client, { path, body, whole, piece }] of Object.entries(CLIENTS)) {
  for (const [setup, { answer, path: asked, body: sent }] of Object.entries(ASKED)) {
    for (const stream of [false, true]) {
      Deno.test(`completions: ${client} over ${setup}${stream ? ", streamed" : ""}: the gap is asked and filled`, async () => {
        const upstream = fakeUpstream(() => ANSWERS[answer]!(stream));
        const app = newApp({ config: configFor(setup as Setup), fetch: upstream.fetch });
        const response = await app.post(path, { model: "coder", ...body, stream });
        const text = await response.text();
        assertEquals(response.status, 200, text);
        const { url, body: got } = upstream.asked[0]!;
        assertEquals(url.pathname, asked);
        const parsed = JSON.parse(got);
        for (const [name, value] of Object.entries(sent)) assertEquals(parsed[name], value);
        const limit = parsed.max_tokens ?? parsed.n_predict ?? parsed.options?.num_predict;
        assertEquals([parsed.model, limit], [QWEN, 8]);
        if (setup !== "generate" && setup !== "infill") assert((parsed.stop?.length ?? 0) <= 4);
        if (stream) {
          const frames = text.split(/\n+/).map((line) => line.replace(/^data: /, ""))
            .filter((line) => line !== "" && line !== "[DONE]" && !line.startsWith(":")).map((line) =>
              JSON.parse(line)
            );
          assertEquals(frames.map((frame) => piece(frame) ?? "").join(""), " + b");
        } else {
          assertEquals(whole(JSON.parse(text)), [" + b", "stop", 2]);
        }
        assertEquals(app.logs[0]!.usage, { inputTokens: 9, outputTokens: 2 });
      });
    }
  }

  Deno.test(`completions: ${client}: where the upstream does not continue texts, the client gets a 400`, async () => {
    const upstream = fakeUpstream();
    for (const config of [configFor("off"), configFor(undefined, "org/unknown")]) {
      const app = newApp({ config, fetch: upstream.fetch });
      const response = await app.post(path, { model: "coder", ...body, stream: false });
      assertEquals([response.status, upstream.asked.length], [400, 0]);
      const { error } = await response.json();
      assertEquals(typeof error, client === "generate" ? "string" : "object");
      if (client === "infill") assertEquals([error.code, error.type], [400, "invalid_request_error"]);
    }
  });
}

/** Marks and order of every family, by a model of it. */
const FAMILIES: [model: string, prompt: string][] = [
  [QWEN, "<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>"],
  ["Qwen/Qwen3-Coder-30B-A3B-Instruct", "<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>"],
  ["qwen2.5-coder:1.5b-base", "<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>"],
  ["google/codegemma-7b", "<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>"],
  ["Qwen/CodeQwen1.5-7B", "<fim_prefix>a<fim_suffix>c<fim_middle>"],
  ["bigcode/starcoder2-7b", "<fim_prefix>a<fim_suffix>c<fim_middle>"],
  ["stabilityai/stable-code-3b", "<fim_prefix>a<fim_suffix>c<fim_middle>"],
  ["ibm-granite/granite-8b-code-base", "<fim_prefix>a<fim_suffix>c<fim_middle>"],
  ["deepseek-ai/deepseek-coder-6.7b-base", "<｜fim▁begin｜>a<｜fim▁hole｜>c<｜fim▁end｜>"],
  ["deepseek-ai/DeepSeek-Coder-V2-Lite-Base", "<｜fim▁begin｜>a<｜fim▁hole｜>c<｜fim▁end｜>"],
  ["mistralai/Codestral-22B-v0.1", "[SUFFIX]c[PREFIX]a"],
  ["codellama/CodeLlama-7b-hf", "<PRE> a <SUF>c <MID>"],
  ["zai-org/GLM-4-9B", "<|code_prefix|>a<|code_suffix|>c<|code_middle|>"],
  [
    "zai-org/codegeex4-all-9b",
    "<|user|>\n###MODE:BLOCK\n<|code_suffix|>c<|code_prefix|>a<|code_middle|><|assistant|>\n",
  ],
  ["ByteDance-Seed/Seed-Coder-8B-Base", "<[fim-suffix]>c<[fim-prefix]>a<[fim-middle]>"],
  ["zed-industries/zeta2", "<[fim-suffix]>c<[fim-prefix]>a<[fim-middle]>"],
];

for (const [model, prompt] of FAMILIES) {
  Deno.test(`completions: the marks of ${model}`, async () => {
    const upstream = fakeUpstream(() => ANSWERS.completions!(false));
    const app = newApp({ config: configFor("plain", model), fetch: upstream.fetch });
    const response = await app.post("/oss/v1/completions", { model: "coder", prompt: "a", suffix: "c" });
    assertEquals(response.status, 200);
    const body = JSON.parse(upstream.asked[0]!.body);
    assertEquals([body.prompt, "suffix" in body], [prompt, false]);
    assert(body.stop.length <= 4);
  });
}

Deno.test("completions: a configured template is the form of a gap, for an upstream and for a model", async () => {
  for (const [fillTemplate, prompt] of [["<P>{prefix}<S>{suffix}<M>", "<P>a<S>c<M>"], ["S{suffix}P{prefix}", "ScPa"]]) {
    const upstream = fakeUpstream(() => ANSWERS.completions!(false));
    const app = newApp({ config: configFor("plain", "org/own", { fillTemplate }), fetch: upstream.fetch });
    await app.post("/oss/v1/completions", { model: "coder", prompt: "a", suffix: "c" });
    assertEquals(JSON.parse(upstream.asked[0]!.body).prompt, prompt);
  }
});

Deno.test("completions: other files and the beginning of the gap stand where the family has them", async () => {
  const body = {
    model: "coder",
    input_prefix: "a",
    input_suffix: "c",
    prompt: "b",
    input_extra: [{ filename: "x.ts", text: "let x;" }],
  };
  for (
    const [setup, expected] of [
      ["plain", { prompt: "<|file_sep|>x.ts\nlet x;\n<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>b" }],
      ["infill", { input_prefix: "a", input_suffix: "c", prompt: "b", input_extra: body.input_extra }],
      ["fim", { prompt: "+++++ x.ts\nlet x;\nab", suffix: "c" }],
    ] as const
  ) {
    const upstream = fakeUpstream(() => ANSWERS[ASKED[setup].answer]!(false));
    const app = newApp({ config: configFor(setup), fetch: upstream.fetch });
    assertEquals((await app.post("/oss/infill", body)).status, 200);
    const got = JSON.parse(upstream.asked[0]!.body);
    for (const [name, value] of Object.entries(expected)) assertEquals(got[name], value);
  }
});

Deno.test("completions: a prompt with marks is read for servers that write their own", async () => {
  for (const [, prompt] of FAMILIES) {
    const upstream = fakeUpstream(() => ANSWERS.fim!(false));
    const app = newApp({ config: configFor("fim"), fetch: upstream.fetch });
    await app.post("/oss/v1/completions", { model: "coder", prompt });
    const { prompt: before, suffix } = JSON.parse(upstream.asked[0]!.body);
    assertEquals([before.trim(), suffix.trim()], ["a", "c"], prompt);
  }
});

Deno.test("completions: a chat model that was not configured for it is never asked", async () => {
  for (const driver of ["messages", "responses"]) {
    const upstream = fakeUpstream();
    const app = newApp({ config: configFor(undefined, QWEN, { driver }), fetch: upstream.fetch });
    const response = await app.post("/oss/v1/completions", { model: "coder", prompt: "a" });
    assertEquals([response.status, upstream.asked.length], [400, 0]);
  }
});

Deno.test("completions: a chat model that is asked in words gives its text without a fence, and the client hears of it", async () => {
  for (const pieces of [["```ts\n + b\n```"], ["``", "`t", "s\n + b", "\n``", "`\nThis adds b."], [" + b"]]) {
    for (const stream of [false, true]) {
      const upstream = fakeUpstream(() => {
        const end = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
        const deltas = pieces.map((content) => ({ choices: [{ index: 0, delta: { content } }] }));
        const message = { content: pieces.join("") };
        return stream ? lines("sse", ...deltas, end, "[DONE]") : Response.json({
          choices: [{ index: 0, message, finish_reason: "stop" }],
        });
      });
      const app = newApp({ config: configFor("chat"), fetch: upstream.fetch });
      const response = await app.post("/oss/v1/completions", { model: "coder", prompt: "a", suffix: "c", stream });
      const text = await response.text();
      assertEquals([...text.matchAll(/"text":"(.*?)"/g)].map(([, one]) => one).join(""), " + b");
      assertStringIncludes(response.headers.get("x-laneway-notes") ?? "", "in words");
      assertStringIncludes(upstream.asked[0]!.body, "a{{FILL_HERE}}c");
    }
  }
});

Deno.test("completions: the next target serves where the first cannot fill the gap", async () => {
  const upstream = fakeUpstream(() => ANSWERS.completions!(false));
  const config: ConfigInput = {
    upstreams: { first: { ...CONFIG.upstreams.fake, completions: "off" }, second: CONFIG.upstreams.fake },
    lanes: {
      oss: {
        models: {
          coder: { task: "chat", targets: [{ upstream: "first", model: QWEN }, { upstream: "second", model: QWEN }] },
        },
      },
    },
  };
  const app = newApp({ config, fetch: upstream.fetch });
  const response = await app.post("/oss/v1/completions", { model: "coder", prompt: "a", suffix: "c" });
  assertEquals([response.status, app.logs[0]!.target], [200, `second/${QWEN}`]);
});

Deno.test("completions: several of one prompt are several calls where a server makes one, and no stream", async () => {
  const upstream = fakeUpstream(...new Array(4).fill(() => ANSWERS.infill!(false)));
  const app = newApp({ config: configFor("infill"), fetch: upstream.fetch });
  const asked = { model: "coder", prompt: ["a", "b"], suffix: "c", n: 2 };
  const answer = await (await app.post("/oss/v1/completions", asked)).json();
  assertEquals(answer.choices.map(({ index, text }: { index: number; text: string }) => [index, text]), [
    [0, " + b"],
    [1, " + b"],
    [2, " + b"],
    [3, " + b"],
  ]);
  assertEquals(answer.usage, { prompt_tokens: 36, completion_tokens: 8, total_tokens: 44 });
  assertEquals(upstream.asked.map(({ body }) => JSON.parse(body).input_prefix), ["a", "a", "b", "b"]);
  const refused = await app.post("/oss/v1/completions", { ...asked, stream: true });
  assertEquals([refused.status, upstream.asked.length], [400, 4]);
});

Deno.test("completions: one request makes at most 128 calls, wherever a server makes one completion at a time", async () => {
  for (const suffix of [undefined, "c"]) {
    const upstream = fakeUpstream();
    const app = newApp({ config: configFor("infill"), fetch: upstream.fetch });
    const asked = { model: "coder", prompt: new Array(65).fill("a"), suffix, n: 2 };
    const refused = await app.post("/oss/v1/completions", asked);
    assertEquals([refused.status, upstream.asked.length], [400, 0]);
  }
});

Deno.test("completions: a gap with other files ends at every mark of the family, streamed as well", async () => {
  const body = { model: "coder", input_prefix: "a", input_suffix: "c", input_extra: [{ text: "let x;" }] };
  for (const setup of ["plain", "suffix", "beta"] as const) {
    for (const stream of [false, true]) {
      const choice = { index: 0, text: " + b<|im_end|>c<|fim_middle|>d", finish_reason: "stop" };
      const answer = { choices: [choice] };
      const upstream = fakeUpstream(() => stream ? lines("sse", answer, "[DONE]") : Response.json(answer));
      const app = newApp({ config: configFor(setup), fetch: upstream.fetch });
      const text = await (await app.post("/oss/infill", { ...body, stream })).text();
      assertStringIncludes(text, '"content":" + b"');
      assertEquals([text.includes("|>c"), text.includes("|>d")], [false, false], setup);
    }
  }
});

Deno.test("completions: an echo is made by the gateway where the server makes none", async () => {
  for (const stream of [false, true]) {
    const upstream = fakeUpstream(() => ANSWERS.completions!(stream));
    const app = newApp({ config: configFor("infill"), fetch: upstream.fetch });
    const response = await app.post("/oss/v1/completions", { model: "coder", prompt: "a", echo: true, stream });
    const text = await response.text();
    const all = stream
      ? [...text.matchAll(/"text":"(.*?)"/g)].map(([, one]) => one).join("")
      : JSON.parse(text).choices[0].text;
    assertEquals([all, "echo" in JSON.parse(upstream.asked[0]!.body)], ["a + b", false]);
  }
});

Deno.test("completions: what a server refuses is left out and noted, but never what makes it another request", async () => {
  const refusal = (field: string) =>
    Response.json({ error: { message: `Unsupported parameter: '${field}'`, param: field } }, { status: 400 });
  const asked = { model: "coder", prompt: "a", suffix: "c", seed: 7, n: 2, echo: true };
  const two = { choices: [0, 1].map((index) => ({ index, text: " + b", finish_reason: "stop" })), usage: USAGE };
  const relaxed = fakeUpstream(() => refusal("seed"), () => Response.json(two));
  const app = newApp({ config: configFor("suffix"), fetch: relaxed.fetch });
  const response = await app.post("/oss/v1/completions", asked);
  assertEquals([response.status, relaxed.asked.length], [200, 2]);
  assertStringIncludes(response.headers.get("x-laneway-notes") ?? "", "dropped seed");
  for (const field of ["n", "echo"]) {
    const upstream = fakeUpstream(() => refusal(field));
    const refused = await newApp({ config: configFor("suffix"), fetch: upstream.fetch }).post(
      "/oss/v1/completions",
      asked,
    );
    assertEquals([refused.status, upstream.asked.length], [400, 1], field);
  }
});

Deno.test("completions: a vendor's limit for conversations does not rename that of completions", async () => {
  const upstream = fakeUpstream(() => ANSWERS.completions!(false));
  const app = newApp({ config: configFor("suffix", QWEN, { refuses: ["max_tokens"] }), fetch: upstream.fetch });
  await app.post("/oss/v1/completions", { model: "coder", prompt: "a", max_tokens: 8 });
  const body = JSON.parse(upstream.asked[0]!.body);
  assertEquals([body.max_tokens, body.max_completion_tokens], [8, undefined]);
});

Deno.test("completions: many long stops are refused rather than looked for", async () => {
  const upstream = fakeUpstream(() => ANSWERS.completions!(false));
  const app = newApp({ config: configFor("plain"), fetch: upstream.fetch });
  const stop = Array.from({ length: 60 }, (_, at) => `${at}${"a".repeat(100_000)}`);
  const response = await app.post("/oss/v1/completions", { model: "coder", prompt: "a", stop });
  assertEquals([response.status, upstream.asked.length], [400, 0]);
  const infill = await app.post("/oss/v1/completions", { model: "coder", prompt: "a", stop: new Array(65).fill("x") });
  assertEquals(infill.status, 400);
});

for (const driver of ["messages", "responses"] as const) {
  Deno.test(`completions: a chat model on ${driver} is asked in words, where the configuration says so`, async () => {
    const upstream = fakeUpstream(({ body }) => {
      assertEquals(JSON.parse(body).model, QWEN);
      const facts = { id: "1", model: QWEN, usage: { input_tokens: 9, output_tokens: 2 } };
      return Response.json(
        driver === "messages"
          ? {
            ...facts,
            type: "message",
            role: "assistant",
            content: [{ type: "text", text: " + b" }],
            stop_reason: "end_turn",
          }
          : {
            ...facts,
            object: "response",
            status: "completed",
            output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: " + b" }] }],
          },
      );
    });
    const app = newApp({ config: configFor("chat", QWEN, { driver }), fetch: upstream.fetch });
    for (const stream of [false, true]) {
      const asked = { model: "coder", prompt: "a", suffix: "c", stream, seed: 7, top_k: 3, presence_penalty: 0.5 };
      const response = await app.post("/oss/v1/completions", { ...asked, stop: ["b"] });
      const text = await response.text();
      assertEquals([...text.matchAll(/"text":"(.*?)"/g)].map(([, one]) => one).join(""), " + ", text);
      const notes = response.headers.get("x-laneway-notes") ?? "";
      assertStringIncludes(notes, driver === "messages" ? "dropped presence_penalty" : "dropped top_k");
      assertStringIncludes(notes, "dropped seed");
    }
  });
}

Deno.test("completions: an explanation shows the call at each kind of server, and asks nobody", async () => {
  for (const [setup, { path }] of Object.entries(ASKED)) {
    const upstream = fakeUpstream();
    const app = newApp({ config: configFor(setup as Setup), fetch: upstream.fetch });
    const asked = { model: "coder", prompt: "a", suffix: "c", stream: true };
    const response = await app.post("/oss/v1/completions", asked, { "x-laneway-explain": "true" });
    const { operation, targets: [{ requests: [{ url }] }] } = await response.json();
    assertEquals([operation, new URL(url).pathname, upstream.asked.length], ["complete", path, 0]);
  }
});

Deno.test("completions: a strict client gets no answer that lost something", async () => {
  const upstream = fakeUpstream(() => ANSWERS.completions!(false));
  const app = newApp({ config: configFor("plain"), fetch: upstream.fetch });
  const asked = { model: "coder", input_prefix: "a", input_suffix: "c", samplers: ["infill"] };
  const response = await app.post("/oss/infill", asked, { "x-laneway-strict": "true" });
  assertEquals([response.status, upstream.asked.length], [400, 0]);
  assertStringIncludes((await response.json()).error.message, "dropped samplers");
});
