/** The command `probe`, and answers that real engines were seen to give: each is one that it once read wrongly. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { chatQuestions } from "../../plugins/programs/probing/mod.ts";
import { answerThrough, type Body, chatServer, error, examine, type Fake, valueOf, withServer } from "./probed.ts";

const JSON_ANSWER = { content: '{"sum_of_both":5,"is_even":false}' };

/** As FastAPI and its like describe a server: title and version come first, then all of its paths. */
function description(title: string, version: string, paths: readonly string[] = []): () => Response {
  const info = { title, description: 'It says "no" to {most}', contact: {}, version };
  return () =>
    Response.json({ openapi: "3.1.0", info, paths: Object.fromEntries(paths.map((path) => [path, { post: {} }])) });
}

interface Seen {
  name: string;
  fake: Fake;
  title: string;
  entry: Body;
  values: Record<string, string>;
}

const SEEN: Seen[] = [
  {
    name: "transformers serve streams a response that nobody asked to be streamed, and fails at an empty logit_bias",
    fake: {
      paths: {
        "/openapi.json": description("FastAPI", "0.1.0", ["/v1/chat/completions", "/load_model", "/reset"]),
        "/v1/responses": (body) =>
          body?.stream === false
            ? Response.json({ object: "response", output: [] })
            : new Response('data: {"type":"response.created"}\n\n', {
              headers: { "content-type": "text/event-stream" },
            }),
      },
      message: () => ({ content: "<think>\nTwo.\n</think>\n\nThe answer is 4." }),
      refuse: (body) => "logit_bias" in body ? new Response("Internal Server Error", { status: 500 }) : undefined,
    },
    title: "transformers serve",
    entry: { textForms: "parse", structuredOutput: "instruct", refuses: ["logit_bias"], systemMessages: "anywhere" },
    values: { "responses wire": "served", fields: "refuses logit_bias" },
  },
  {
    name: "llama-cpp-python answers a schema that it does not know with 500",
    fake: {
      paths: { "/openapi.json": description("🦙 llama.cpp Python API", "0.3.36") },
      refuse: ({ response_format }) =>
        response_format ? error(500, "1 validation error: Input should be 'text' or 'json_object'") : undefined,
    },
    title: "llama-cpp-python 0.3.36",
    entry: { structuredOutput: "instruct", systemMessages: "anywhere" },
    values: { reasoning: "the model did not think" },
  },
  {
    name: "vLLM takes all that a model says for thoughts, and follows a schema once it may not think",
    fake: {
      models: [{ id: "m", owned_by: "vllm" }],
      paths: { "/version": () => Response.json({ version: "0.32.0" }) },
      message: ({ chat_template_kwargs: switches }) =>
        (switches as Body)?.enable_thinking === false ? JSON_ANSWER : { content: null, reasoning: "Hello" },
    },
    title: "vLLM 0.32.0",
    entry: { reasoningField: "reasoning", dialect: "template", systemMessages: "anywhere" },
    values: { "structured output": "follows a JSON schema while the model does not think" },
  },
  {
    name: "LiteLLM tells its version in a description of two megabytes only",
    fake: {
      paths: {
        "/openapi.json": description(
          "LiteLLM API",
          "1.106.2",
          Array.from({ length: 30_000 }, (_, at) => `/${at}/paths`),
        ),
        "/health/readiness": () => Response.json({ status: "healthy", db: "Not connected" }),
      },
      message: () => JSON_ANSWER,
    },
    title: "LiteLLM 1.106.2",
    entry: { systemMessages: "anywhere" },
    values: { "structured output": "follows a JSON schema" },
  },
  {
    name: "a template without a place for system messages",
    fake: {
      message: () => JSON_ANSWER,
      refuse: ({ messages }) =>
        (messages as Body[]).some(({ role }) => role === "system") ? error(400, "No system role") : undefined,
    },
    title: "an unknown server",
    entry: {},
    values: { "system messages": "none: refused with 400: No system role" },
  },
];

for (const { name, fake, title, entry, values } of SEEN) {
  Deno.test(`probe: ${name}`, () =>
    withServer(chatServer(fake), async (url) => {
      const examined = await examine(url);
      assertEquals(examined.title ?? "an unknown server", title);
      assertEquals(examined.entry, { driver: "chat", baseUrl: `${url}/v1`, ...entry });
      assertEquals(Object.keys(examined.reasons).sort(), Object.keys(examined.entry).sort());
      for (const [property, value] of Object.entries(values)) assertEquals(valueOf(examined, property), value);
      assertEquals(await answerThrough(examined.entry), 200);
    }));
}

Deno.test("probe: a server in trouble refuses no field", () => {
  let asked = 0;
  const refuse = ({ response_format }: Body) => response_format && asked++ === 0 ? error(503, "busy") : undefined;
  return withServer(chatServer({ refuse }), async (url) => {
    const examined = await examine(url);
    assertEquals(valueOf(examined, "structured output"), "refused with 503: busy");
    assertEquals(examined.entry.structuredOutput, undefined);
  });
});

Deno.test("probe: two settings that follow from one finding each keep both reasons", () => {
  const message = ({ tools }: Body) => ({
    content: tools ? '<tool_call>{"name": "get_time"}</tool_call>' : "<think>a</think>b",
  });
  return withServer(chatServer({ message }), async (url) => {
    const { entry, reasons } = await examine(url);
    assertEquals(entry.textForms, "parse");
    assertStringIncludes(reasons.textForms!, "writes tool calls into its text");
    assertStringIncludes(reasons.textForms!, "writes its reasoning into its text");
  });
});

Deno.test("probe: a gateway of this kind is not taken for an Ollama, whose wire it serves", () => {
  const paths = {
    "/openapi.json": description("Laneway", "0.1.0"),
    "/oss/api/version": () => Response.json({ version: "0.13.0" }),
    "/oss/v1/models": () => Response.json({ data: [{ id: "m" }] }),
    "/oss/v1/chat/completions": () => Response.json({ choices: [{ message: { content: "pong" } }] }),
  };
  return withServer(
    chatServer({ paths }),
    async (url) => assertEquals((await examine(`${url}/oss`)).title, "Laneway 0.1.0"),
  );
});

Deno.test("probe: Text Embeddings Inference has wires of its own, and tells its model", () => {
  const info = { model_id: "BAAI/bge-m3", model_type: { embedding: { pooling: "cls" } }, version: "1.8.2" };
  const paths = {
    "/info": () => Response.json(info),
    "/v1/models": () => error(404, "no"),
    "/v1/chat/completions": () => error(404, "no"),
    "/v1/embeddings": () => Response.json({ data: [{ embedding: [0.5] }] }),
  };
  return withServer(chatServer({ paths }), async (url) => {
    const { title, model, entry } = await examine(url);
    assertEquals([title, model], ["Text Embeddings Inference 1.8.2", "BAAI/bge-m3"]);
    assertEquals(entry, { driver: "tei", baseUrl: url });
  });
});

Deno.test("probe: vectors without numbers are none", () => {
  const paths = {
    "/v1/embeddings": () => Response.json({ data: [{ embedding: [0, null] }] }),
    "/v1/rerank": () => Response.json({ results: [{ index: 0, relevance_score: 0.5 }] }),
    "/v1/chat/completions": () => error(404, "no"),
  };
  return withServer(chatServer({ paths }), async (url) => {
    const examined = await examine(url);
    assertEquals(valueOf(examined, "embeddings wire"), "not served");
    assertEquals(examined.entry, { driver: "rerank", baseUrl: `${url}/v1` });
  });
});

Deno.test("probe: a server that begins late gets more time", async () => {
  const ask = (firstByteMs: number) => () =>
    Promise.resolve({
      status: 200,
      headers: new Headers(),
      text: ": wait\n\ndata: {}\n\n",
      firstByteMs,
      longestPauseMs: 40,
    });
  const findingsFor = (ms: number) => Promise.all(chatQuestions.map((question) => question(ask(ms), "m")));
  const timeOuts = (findings: Awaited<ReturnType<typeof findingsFor>>) =>
    findings.find(({ property }) => property === "time-outs")!;
  const quick = timeOuts(await findingsFor(25));
  assertEquals(quick.value, "first event after 25 ms, longest pause 40 ms; comments while it waits");
  assertEquals(quick.settings, undefined);
  const { timeouts } = timeOuts(await findingsFor(45_000)).settings!;
  assert((timeouts!.value as { firstEventMs: number }).firstEventMs > 300_000, "more than the gateway waits by itself");
});
