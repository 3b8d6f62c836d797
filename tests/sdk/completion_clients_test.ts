/** Clients of completions besides the vendor's SDK: libraries, and editors by the requests that they send. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Mistral } from "@mistralai/mistralai";
import { HTTPClient } from "@mistralai/mistralai/lib/http.js";
import { Ollama } from "ollama";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { type Asked, type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";
import { fetchFrom } from "./chat_clients.ts";

const PREFIX = "function add(a, b) {\n  return ";
const SUFFIX = ";\n}\n";
const FILLED = "a + b";
const MARKED = `<|fim_prefix|>${PREFIX}<|fim_suffix|>${SUFFIX}<|fim_middle|>`;
/** The stops of Continue's template for this family. */
const STOPS = [
  "<|endoftext|>",
  "<|fim_prefix|>",
  "<|fim_middle|>",
  "<|fim_suffix|>",
  "<|fim_pad|>",
  "<|repo_name|>",
  "<|file_sep|>",
  "<|im_start|>",
  "<|im_end|>",
];

const CODER: ConfigInput = {
  upstreams: { fake: CONFIG.upstreams.fake, sandbox: CONFIG.upstreams.sandbox },
  lanes: {
    oss: {
      models: {
        "qwen2.5-coder": { task: "chat", targets: [{ upstream: "fake", model: "Qwen/Qwen2.5-Coder-7B" }] },
        sandbox: CONFIG.lanes.oss.models.sandbox,
      },
    },
  },
};

const model = "qwen2.5-coder";

/** A server of raw completions that fills the gap, and writes a mark after it as some do. */
function fill({ body }: Pick<Asked, "body">): Response {
  const choice = (text: string, finish_reason: string | null) => ({ choices: [{ index: 0, text, finish_reason }] });
  const usage = { prompt_tokens: 20, completion_tokens: 4, total_tokens: 24 };
  if (!JSON.parse(body).stream) return Response.json({ ...choice(FILLED, "stop"), usage });
  const frames = [choice("a +", null), choice(" b", null), { ...choice("", "stop"), usage }];
  const text = frames.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
  return new Response(`${text}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
}

function newScene(): { app: TestApp; upstream: FakeUpstream; asked(): { prompt: string; [name: string]: unknown } } {
  const upstream = fakeUpstream(fill);
  const app = newApp({ config: CODER, fetch: upstream.fetch });
  return { app, upstream, asked: () => JSON.parse(upstream.asked[0]!.body) };
}

interface Line {
  choices?: { text?: string; delta?: { content?: string } }[];
  response?: string;
  content?: string;
  stop?: boolean;
  stop_type?: string;
  tokens_evaluated?: number;
}

async function linesOf(response: Response, prefix = ""): Promise<Line[]> {
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith(prefix) && line !== "");
  return lines.map((line) => line.slice(prefix.length)).filter((line) => line !== "[DONE]").map((line) =>
    JSON.parse(line)
  );
}

function newMistral(app: TestApp): Mistral {
  const httpClient = new HTTPClient({ fetcher: fetchFrom(app) });
  return new Mistral({ apiKey: ENV.TEAM_KEY, serverURL: "http://gateway/oss", httpClient });
}

Deno.test("mistral: its SDK fills a gap, whole and streamed", async () => {
  const whole = newScene();
  const answer = await newMistral(whole.app).fim.complete({ model, prompt: PREFIX, suffix: SUFFIX, maxTokens: 16 });
  assertEquals(answer.choices?.[0]?.message?.content, FILLED);
  assertEquals([answer.choices?.[0]?.finishReason, answer.usage?.completionTokens], ["stop", 4]);
  assertEquals([whole.asked().prompt, whole.asked().max_tokens], [MARKED, 16]);

  const { app } = newScene();
  let text = "";
  for await (const { data } of await newMistral(app).fim.stream({ model, prompt: PREFIX, suffix: SUFFIX })) {
    text += data.choices[0]!.delta.content ?? "";
  }
  assertEquals(text, FILLED);
});

Deno.test("mistral: a wrong request is its SDK's error with the gateway's words", async () => {
  const error = await assertRejects(() => newMistral(newScene().app).fim.complete({ model: "nope", prompt: "x" }));
  assertStringIncludes(String(error), "nope");
});

Deno.test("ollama: its library fills a gap, goes on with a raw prompt and answers a plain one", async () => {
  const { app } = newScene();
  // Its client stops to read at the last line, although the end of the stream arrives.
  const arriving: Promise<void>[] = [];
  const fetchAll = (app: TestApp): typeof fetch => async (input, init) => {
    const response = await app.fetch(new Request(input, init));
    const { readable, writable } = new TransformStream({}, {}, { highWaterMark: 1_000 });
    if (response.body) arriving.push(response.body.pipeTo(writable));
    return new Response(response.body && readable, response);
  };
  const client = (app: TestApp) => new Ollama({ host: "http://gateway/oss", fetch: fetchAll(app) });
  const { response, done_reason, eval_count } = await client(app).generate({ model, prompt: PREFIX, suffix: SUFFIX });
  assertEquals([response, done_reason, eval_count], [FILLED, "stop", 4]);

  const raw = newScene();
  let text = "";
  for await (const part of await client(raw.app).generate({ model, prompt: MARKED, raw: true, stream: true })) {
    text += part.response;
  }
  assertEquals([text, raw.asked().prompt], [FILLED, MARKED]);

  const plain = await client(newApp()).generate({ model: "sandbox", prompt: "Hello", system: "Be brief" });
  assertStringIncludes(plain.response ?? "", 'your last text was "Hello"');
  const parts: string[] = [];
  for await (
    const { response } of await client(newApp()).generate({ model: "sandbox", prompt: "Hello", stream: true })
  ) {
    parts.push(response ?? "");
  }
  assert(parts.length > 5);
  assertStringIncludes(parts.join(""), 'your last text was "Hello"');
  await Promise.all(arriving);
});

Deno.test("ollama: a request for prompts that cannot be honoured is refused in its form", async () => {
  for (
    const [body, word] of [
      [{ prompt: "x", raw: true, system: "y" }, "system"],
      [{ prompt: "x", template: "{{ .Prompt }}" }, "template"],
      [{ prompt: "x", context: [1, 2] }, "context"],
      [{ prompt: "x", suffix: "y", images: ["aGVsbG8="] }, "images"],
      [{ prompt: "x", raw: true, format: "json" }, "format"],
      [{}, "load"],
      [{ prompt: 7 }, "prompt"],
      [{ prompt: 7, raw: true }, "prompt"],
    ] as const
  ) {
    const response = await newApp().post("/oss/api/generate", { model: "sandbox", ...body });
    assertEquals(response.status, 400, word);
    assertStringIncludes((await response.json()).error, word);
  }
});

Deno.test("Continue: autocomplete with a template of its own, by completions, by Mistral's wire and by Ollama's", async () => {
  const bodies = [
    ["/oss/v1/completions", { model, prompt: MARKED, max_tokens: 256, temperature: 0.01, stop: STOPS, stream: true }],
    ["/oss/v1/fim/completions", {
      model,
      prompt: PREFIX,
      suffix: SUFFIX,
      max_tokens: 256,
      temperature: 0.01,
      stream: true,
    }],
    ["/oss/api/generate", {
      model,
      prompt: MARKED,
      raw: true,
      keep_alive: 1_800,
      options: { temperature: 0.01, num_predict: 256, stop: STOPS, num_ctx: 4_096 },
    }],
  ] as const;
  for (const [path, body] of bodies) {
    const { app, asked } = newScene();
    const response = await app.post(path, body, { "x-api-key": "none" });
    const lines = await linesOf(response, path.startsWith("/oss/v1") ? "data: " : "");
    const texts = lines.map(({ choices: [choice] = [], response }) =>
      choice?.text ?? choice?.delta?.content ?? response ?? ""
    );
    assertEquals([texts.join(""), asked().prompt], [FILLED, MARKED], path);
    assert((asked().stop as string[]).length <= 4);
  }
});

Deno.test("Zed: edit prediction, whole, with the prompt in its own format", async () => {
  const { app, asked } = newScene();
  const stop = ["<|endoftext|>", "<|file_sep|>", "<|fim_pad|>", "<|im_end|>"];
  const response = await app.post("/oss/v1/completions", {
    model,
    prompt: MARKED,
    max_tokens: 512,
    stop,
    environment: null,
  });
  const answer = await response.json();
  assertEquals([answer.choices[0].text, typeof answer.id], [FILLED, "string"]);
  assertEquals([asked().prompt, asked().stop, "environment" in asked()], [MARKED, stop, false]);
});

/** The fields that llama.vim sends with each request. */
const VIM = {
  top_k: 40,
  top_p: 0.9,
  samplers: ["top_k", "top_p", "infill"],
  stream: false,
  cache_prompt: true,
  n_indent: 2,
  t_max_prompt_ms: 500,
  t_max_predict_ms: 1_000,
};
const FIELDS = [
  "content",
  "timings/prompt_n",
  "timings/prompt_ms",
  "timings/predicted_n",
  "truncated",
  "tokens_cached",
];

Deno.test("llama.vim, llama.vscode: infill with other files and chosen fields, and their warm-up", async () => {
  const { app, asked } = newScene();
  const response = await app.post("/oss/infill", {
    model,
    id_slot: 0,
    input_prefix: "function add(a, b) {\n",
    input_suffix: SUFFIX,
    prompt: "  return ",
    input_extra: [{ text: "let x;\n", time: 1, filename: "x.js" }],
    n_predict: 128,
    stop: [],
    response_fields: FIELDS,
    ...VIM,
  });
  const answer = await response.json();
  assertEquals(answer.content, FILLED);
  assertEquals([answer["timings/prompt_n"], answer["timings/predicted_n"], answer.truncated], [20, 4, false]);
  assertEquals(Object.keys(answer).every((name) => FIELDS.includes(name)), true);
  assertEquals(
    asked().prompt,
    `<|file_sep|>x.js\nlet x;\n<|fim_prefix|>function add(a, b) {\n<|fim_suffix|>${SUFFIX}<|fim_middle|>  return `,
  );
  assertStringIncludes(response.headers.get("x-laneway-notes") ?? "", "dropped samplers");

  const warm = newScene();
  const warmed = await warm.app.post("/oss/infill", {
    model,
    input_prefix: "",
    input_suffix: "",
    prompt: "",
    input_extra: [{ text: "let x;\n", filename: "x.js" }],
    n_predict: 0,
    samplers: [],
    cache_prompt: true,
    response_fields: [""],
  });
  assertEquals([warmed.status, await warmed.json(), warm.asked().max_tokens], [200, {}, 1]);
});

Deno.test("infill: without a model, or what is around the gap, llama.cpp's form of an error says so", async () => {
  const { app } = newScene();
  for (
    const [body, field] of [[{ input_prefix: "a", input_suffix: "b" }, "model"], [
      { model, input_prefix: "a" },
      "input_suffix",
    ]] as const
  ) {
    const response = await app.post("/oss/infill", body);
    const { error } = await response.json();
    assertEquals([response.status, error.code, error.type], [400, 400, "invalid_request_error"]);
    assertStringIncludes(error.message, field);
  }
});

Deno.test("infill: a stream has pieces and an end with figures", async () => {
  const { app } = newScene();
  const response = await app.post("/oss/infill", { model, input_prefix: PREFIX, input_suffix: SUFFIX, stream: true });
  const lines = await linesOf(response, "data: ");
  assertEquals(lines.map(({ content }) => content).join(""), FILLED);
  assertEquals(lines.map(({ stop }) => stop), [false, false, true]);
  assertEquals([lines.at(-1)!.tokens_evaluated, lines.at(-1)!.stop_type], [20, "eos"]);
});

Deno.test("Tabby: completions and Mistral's wire with its prompt template", async () => {
  for (
    const [path, body] of [
      ["/oss/v1/completions", {
        model,
        prompt: MARKED,
        max_tokens: 64,
        temperature: 0.1,
        stream: true,
        presence_penalty: 0,
      }],
      ["/oss/v1/completions", { model, prompt: PREFIX, suffix: SUFFIX, max_tokens: 64, stream: true }],
      ["/oss/v1/fim/completions", { model, prompt: PREFIX, suffix: SUFFIX, max_tokens: 64, stream: true }],
    ] as const
  ) {
    const { app, asked } = newScene();
    await (await app.post(path, body)).text();
    assertEquals([asked().prompt, app.logs[0]!.status], [MARKED, 200]);
  }
});

Deno.test("ollama: a client that takes a host only finds the lane of its model, for raw prompts, gaps and plain ones", async () => {
  for (const more of [{ raw: true }, { suffix: SUFFIX }]) {
    const { app, asked } = newScene();
    const response = await app.post("/api/generate", { model, prompt: PREFIX, stream: false, ...more });
    assertEquals((await response.json()).response, FILLED);
    assertEquals([asked().prompt.includes(PREFIX), app.logs[0]!.lane, app.logs[0]!.protocol], [
      true,
      "oss",
      "ollama-fill",
    ]);
  }
  const plain = newApp();
  const response = await plain.post("/api/generate", { model: "sandbox", prompt: "Hello", stream: false });
  assertStringIncludes((await response.json()).response, "Hello");
  assertEquals(plain.logs[0]!.protocol, "ollama-generate-root");
});
