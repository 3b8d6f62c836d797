import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { BadRequestError } from "openai";
import { CONFIG, ENV, newApp, type TestApp } from "../support/app.ts";
import { type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";
import { MAJORS, newClient } from "./chat_clients.ts";

const USAGE = { prompt_tokens: 5, completion_tokens: 4, total_tokens: 9 };
const LOGPROBS = {
  tokens: [" one", " two"],
  token_logprobs: [-0.25, -1],
  top_logprobs: [{ " one": -0.25 }, { " two": -1, " 2": -2 }],
  text_offset: [0, 4],
};

function events(...chunks: object[]): Response {
  const frames = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return new Response(`${frames.join("")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
}

function piece(text: string, index = 0, finish_reason: string | null = null): object {
  return { choices: [{ text, index, logprobs: null, finish_reason }] };
}

function serve(...answers: (Response | object)[]): { app: TestApp; upstream: FakeUpstream } {
  const upstream = fakeUpstream(...answers.map((one) => () => one instanceof Response ? one : Response.json(one)));
  return { upstream, app: newApp({ fetch: upstream.fetch }) };
}

for (const version of MAJORS) {
  const test = (name: string, act: () => Promise<void>) =>
    Deno.test(`openai ${version.major}: completions: ${name}`, act);

  test("every prompt has its choices, with all parameters and log probabilities", async () => {
    const choices = [0, 1, 2, 3].map((index) => ({
      index,
      text: ` one two ${index}`,
      logprobs: LOGPROBS,
      finish_reason: "length",
    }));
    const { app, upstream } = serve({ choices: choices.toReversed(), usage: USAGE, system_fingerprint: "fp_1" });
    const asked = {
      prompt: ["a", "b"],
      n: 2,
      best_of: 3,
      echo: true,
      logprobs: 2,
      max_tokens: 2,
      temperature: 0.5,
      top_p: 0.9,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      seed: 7,
      stop: ["\n", "END"],
      logit_bias: { "50256": -100 },
      user: "somebody",
    };
    const answer = await newClient(version, app).completions.create({ model: "model", ...asked });
    assertEquals(answer.choices, choices as unknown as typeof answer.choices);
    assertEquals([answer.model, answer.object, answer.usage, answer.system_fingerprint], [
      "model",
      "text_completion",
      USAGE,
      "fp_1",
    ]);
    assert(answer.id.startsWith("cmpl-"));
    const { url, body } = upstream.asked[0]!;
    assertEquals(url.pathname, "/v1/completions");
    assertEquals(JSON.parse(body), { model: "org/model", ...asked });
    assertEquals(app.logs[0]!.usage, { inputTokens: 5, outputTokens: 4 });
  });

  test("token ids go to the model unchanged", async () => {
    const { app, upstream } = serve({
      choices: [{ index: 0, text: "x", finish_reason: "stop" }, { index: 1, text: "y", finish_reason: "stop" }],
      usage: USAGE,
    });
    const { choices } = await newClient(version, app).completions.create({ model: "model", prompt: [[1, 2], [3]] });
    assertEquals(choices.map(({ text }) => text), ["x", "y"]);
    assertEquals(JSON.parse(upstream.asked[0]!.body).prompt, [[1, 2], [3]]);
  });

  test("a stream has its pieces, its ends and its usage", async () => {
    const { app, upstream } = serve(events(
      piece(" one"),
      piece(" eins", 1),
      piece(" two", 0, "stop"),
      piece("", 1, "length"),
      { choices: [], usage: USAGE },
    ));
    const stream = await newClient(version, app).completions.create({
      model: "model",
      prompt: "Count:",
      n: 2,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    const texts = ["", ""];
    const ends: unknown[] = [];
    for (const { choices: [choice] } of chunks) {
      if (!choice) continue;
      texts[choice.index] += choice.text;
      if (choice.finish_reason) ends[choice.index] = choice.finish_reason;
    }
    assertEquals([texts, ends], [[" one two", " eins"], ["stop", "length"]]);
    assertEquals(chunks.at(-1)!.usage, USAGE);
    assertEquals(JSON.parse(upstream.asked[0]!.body).stream_options, { include_usage: true });
  });

  test("more stops than four: four are sent, and the gateway cuts at the rest, however the text is cut", async () => {
    const stop = ["a1", "a2", "a3", "a4", "<|end|>", "END"];
    for (
      const pieces of [["one<|e", "nd|>two"], ["one<|end", "|>two"], ["one", "<", "|", "end|>"], ["one<|end|>two"]]
    ) {
      const { app, upstream } = serve(events(...pieces.map((text) => piece(text)), piece("", 0, "length")));
      const stream = await newClient(version, app).completions.create({
        model: "model",
        prompt: "x",
        stop,
        stream: true,
      });
      const chunks = await Array.fromAsync(stream);
      assertEquals(chunks.map(({ choices: [choice] }) => choice?.text ?? "").join(""), "one");
      assertEquals(chunks.at(-1)!.choices[0]!.finish_reason, "stop");
      assertEquals(JSON.parse(upstream.asked[0]!.body).stop, stop.slice(0, 4));
    }
    const { app } = serve({ choices: [{ index: 0, text: "one<|endEND", finish_reason: "length" }], usage: USAGE });
    const { choices: [choice] } = await newClient(version, app).completions.create({
      model: "model",
      prompt: "x",
      stop,
    });
    assertEquals([choice!.text, choice!.finish_reason], ["one<|end", "stop"]);
  });

  test("an upstream that fails amid a stream is an error there", async () => {
    const { app } = serve(events(piece(" one"), { error: { message: "out of memory", code: 500 } }));
    const stream = await newClient(version, app).completions.create({ model: "model", prompt: "x", stream: true });
    const texts: string[] = [];
    const error = await assertRejects(async () => {
      for await (const { choices } of stream) texts.push(choices[0]!.text);
    }, Error);
    assertStringIncludes(error.message, "out of memory");
    assertEquals(texts, [" one"]);
  });

  test("a wrong request is a BadRequestError that names the field", async () => {
    const { app, upstream } = serve();
    for (
      const [wrong, field] of [
        [{ prompt: [] }, "prompt"],
        [{ prompt: ["a", 1] }, "prompt[1]"],
        [{ prompt: [1, -1] }, "prompt[1]"],
        [{ prompt: 7 }, "prompt"],
        [{ n: 2, best_of: 1 }, "best_of"],
        [{ best_of: 2, stream: true }, "best_of"],
        [{ prompt: new Array(2_048).fill("x"), n: 2 }, "n"],
        [{ prompt: new Array(1_025).fill([1]), best_of: 2 }, "best_of"],
        [{ prompt: "x".repeat(70_000), n: 128, echo: true }, "echo"],
        [{ max_tokens: -1 }, "max_tokens"],
        [{ logprobs: "many" }, "logprobs"],
      ] as const
    ) {
      const body = { model: "model", prompt: "x", ...wrong } as unknown as { model: string; prompt: string };
      const error = await assertRejects(
        () => newClient(version, app).completions.create(body),
        version.Sdk.BadRequestError,
      ) as BadRequestError;
      assertEquals(error.param, field);
    }
    assertEquals(upstream.asked.length, 0);
  });

  test("a gap at a model whose marks are not known is refused, and not left out", async () => {
    const { app, upstream } = serve();
    const error = await assertRejects(
      () => newClient(version, app).completions.create({ model: "model", prompt: "x", suffix: "y" }),
      version.Sdk.BadRequestError,
    ) as BadRequestError;
    assertEquals(error.param, "suffix");
    assertStringIncludes(error.message, "marks of its family");
    assertEquals(upstream.asked.length, 0);
  });

  test("the sandbox answers on the default start", async () => {
    const client = newClient(version, newApp());
    const asked = { model: "sandbox", prompt: "def add(a, b):", suffix: "\nprint(add(1, 2))" };
    const whole = await client.completions.create(asked);
    const stream = await client.completions.create({ ...asked, stream: true });
    const streamed = (await Array.fromAsync(stream)).map(({ choices }) => choices[0]?.text ?? "").join("");
    assertEquals(streamed, whole.choices[0]!.text);
    assertStringIncludes(streamed, "def add(a, b):");
    assertStringIncludes(streamed, "print(add(1, 2))");
  });

  test("the sandbox gives no more probabilities than it has room for", async () => {
    const client = newClient(version, newApp());
    const asked = { model: "sandbox", echo: true, max_tokens: 0, logprobs: 5 };
    const { choices: [choice] } = await client.completions.create({ ...asked, prompt: "x ".repeat(60_000) });
    assertEquals(choice!.logprobs!.tokens!.length >= 60_000, true);
    const error = await assertRejects(
      () => client.completions.create({ ...asked, prompt: "x ".repeat(30_000), n: 3 }),
      version.Sdk.BadRequestError,
    ) as BadRequestError;
    assertEquals(error.param, "logprobs");
  });

  test("a key that may not use the model is refused", async () => {
    const keys = [{ name: "team", secret: { env: "TEAM_KEY" }, models: ["sandbox"] }];
    const app = newApp({ config: { ...CONFIG, keys }, env: ENV });
    await assertRejects(
      () => newClient(version, app).completions.create({ model: "model", prompt: "x" }),
      version.Sdk.PermissionDeniedError,
    );
  });
}
