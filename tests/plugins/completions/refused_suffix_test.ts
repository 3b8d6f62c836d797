/** A suffix that the server refuses is written with the marks of the model's family, at the same target. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { newApp, type TestApp } from "../../support/app.ts";
import { ANSWERS, configFor, QWEN } from "../../support/completions.ts";
import { type Asked, type FakeUpstream, fakeUpstream } from "../../support/fake_upstream.ts";

/** The refusals of servers that know no suffix, or know it of other models. */
const REFUSALS: [status: number, error: unknown][] = [
  [400, { message: "suffix is not currently supported", type: "BadRequestError", code: 400 }],
  [400, { message: "Unsupported parameter: 'suffix' is not supported with this model", param: "suffix" }],
  [422, { message: `[{"type":"extra_forbidden","loc":["body","suffix"],"msg":"Extra inputs are not permitted"}]` }],
  [400, { message: "registry.ollama.ai/library/qwen2.5:latest does not support insert" }],
];
const MARKED = "<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>";

function refusing(setup: "suffix" | "beta" | "generate", [status, error]: [number, unknown], model = QWEN) {
  const kind = setup === "generate" ? "generate" : "completions";
  const upstream = fakeUpstream(({ body }: Asked) => {
    const { suffix, stream } = JSON.parse(body);
    return suffix === undefined ? ANSWERS[kind]!(stream) : Response.json({ error }, { status });
  });
  return { upstream, app: newApp({ config: configFor(setup, model), fetch: upstream.fetch }) };
}

async function complete(
  app: TestApp,
  body: object = {},
): Promise<{ status: number; text: string; notes: string | null }> {
  const response = await app.post("/oss/v1/completions", { model: "coder", prompt: "a", suffix: "c", ...body });
  return { status: response.status, text: await response.text(), notes: response.headers.get("x-laneway-notes") };
}

function prompts({ asked }: FakeUpstream): unknown[] {
  return asked.map(({ body }) => [JSON.parse(body).prompt, JSON.parse(body).suffix]);
}

for (const setup of ["suffix", "beta", "generate"] as const) {
  for (const refusal of REFUSALS) {
    for (const stream of [false, true]) {
      const name = `${setup}${stream ? ", streamed" : ""}: ${JSON.stringify(refusal)}`;
      Deno.test(`completions: a refused suffix is asked for once, ${name}`, async () => {
        const { app, upstream } = refusing(setup, refusal);
        const { status, text } = await complete(app, { stream });
        assertEquals(status, 200, text);
        assertEquals(prompts(upstream), [["a", "c"], [MARKED, undefined]]);
        assertEquals((await complete(app, { stream })).status, 200);
        assertEquals(prompts(upstream).slice(2), [[MARKED, undefined]]);
        assertEquals(app.logs.map(({ notes }) => notes), [
          ["relaxed suffix: refused by fake"],
          ["relaxed suffix: refused by fake"],
        ]);
        // Without a gap there are no marks.
        await complete(app, { suffix: undefined, stream });
        assertEquals(prompts(upstream).at(-1), ["a", undefined]);
      });
    }
  }
}

for (const stream of [false, true]) {
  Deno.test(`completions: the text ends at a mark after a refused suffix${stream ? ", streamed" : ""}`, async () => {
    // More stops than the server takes: the gateway itself cuts at the marks.
    const text = " + b<|fim_middle|>c";
    const upstream = fakeUpstream(({ body }) => {
      const { suffix } = JSON.parse(body);
      if (suffix !== undefined) {
        return Response.json({ error: { message: "suffix is not supported" } }, { status: 400 });
      }
      const choices = [{ index: 0, text, finish_reason: "stop" }];
      if (!stream) return Response.json({ choices });
      const data = `data: ${JSON.stringify({ choices })}\n\ndata: [DONE]\n\n`;
      return new Response(data, { headers: { "content-type": "text/event-stream" } });
    });
    const app = newApp({ config: configFor("suffix"), fetch: upstream.fetch });
    const answer = await complete(app, { stream });
    assertStringIncludes(answer.text, `"text":" + b"`);
    assertEquals(answer.text.includes("fim_middle"), false);
  });
}

Deno.test("completions: each of several prompts keeps its own gap when the suffix is refused", async () => {
  const upstream = fakeUpstream(({ body }) => {
    const { prompt, suffix } = JSON.parse(body);
    if (suffix !== undefined) return Response.json({ error: "x does not support insert" }, { status: 400 });
    return Response.json({ response: ` after ${/prefix\|>(\w+)/.exec(prompt)?.[1]}`, done: true, done_reason: "stop" });
  });
  const app = newApp({ config: configFor("generate"), fetch: upstream.fetch });
  const { status, text } = await complete(app, { prompt: ["one", "two", "three"] });
  assertEquals(status, 200, text);
  const { choices } = JSON.parse(text);
  assertEquals(choices.map((choice: { text: string }) => choice.text), [" after one", " after two", " after three"]);
});

Deno.test("completions: where no marks are known, a refused suffix is the client's error", async () => {
  for (const refusal of REFUSALS) {
    const { app, upstream } = refusing("suffix", refusal, "org/unknown");
    const { status, text } = await complete(app);
    assertEquals([status, upstream.asked.length], [400, 1]);
    assertStringIncludes(text, "suffix");
  }
});

Deno.test("completions: a suffix that another fault is about is not written otherwise", async () => {
  const error = { message: "max_tokens is too large: the suffix and the prompt have 9 tokens" };
  const { app, upstream } = refusing("suffix", [400, error]);
  assertEquals((await complete(app)).status, 400);
  assertEquals(prompts(upstream), [["a", "c"]]);
});
