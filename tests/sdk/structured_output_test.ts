/** The vendors' own helpers for answers of a type, in front of upstreams that know of forms and of those that do not. */
import { assertEquals, assertRejects } from "@std/assert";
import { zodOutputFormat } from "anthropic-sdk/helpers/zod";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { missingEngine } from "../support/engine.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";
import { fetchFrom, MAJORS, newClient } from "./chat_clients.ts";
import { MAJORS as MESSAGES_MAJORS } from "./messages_clients.ts";
import { scriptedUpstream } from "./responses_clients.ts";

const Person = z.object({
  name: z.string(),
  age: z.number().int(),
  friends: z.array(z.object({ name: z.string(), since: z.number().nullable() })),
  kind: z.enum(["poet", "engineer"]),
});
const ADA = { name: "Ada", age: 36, friends: [{ name: "Charles", since: null }], kind: "engineer" as const };
const ASKED = [{ role: "user" as const, content: "Who is Ada?" }];
const PROSE = "Ada is an engineer.";
const FENCED = `Here:\n\n\`\`\`json\n${JSON.stringify(ADA, null, 2)}\n\`\`\``;

function configWith(structuredOutput: "native" | "instruct"): ConfigInput {
  return {
    upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", structuredOutput } },
    lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "org/model" }] } } } },
  };
}

/** What the upstream says, one time after the other, and how it is to be asked. */
const UPSTREAMS: [title: string, structuredOutput: "native" | "instruct", ...said: string[]][] = [
  ["that knows forms", "native", JSON.stringify(ADA)],
  ["that does not, and fences its JSON", "instruct", FENCED],
  ["that understands at the second time", "instruct", PROSE, FENCED],
];

/** A test of each kind of upstream. */
function testEach(name: string, run: (app: TestApp) => Promise<void>): void {
  for (const [title, structuredOutput, ...said] of UPSTREAMS) {
    Deno.test(`${name}: an upstream ${title}`, async () => {
      const { fetch } = scriptedUpstream(...said.map((text) => ({ text })));
      await run(newApp({ config: configWith(structuredOutput), fetch }));
    });
  }
}

for (const major of MAJORS) {
  const chat = { model: "model", messages: ASKED, response_format: zodResponseFormat(Person, "person") };
  const responses = { model: "model", input: "Who is Ada?", text: { format: zodTextFormat(Person, "person") } };

  testEach(`openai ${major.major}: chat, parsed`, async (app) => {
    const { choices } = await newClient(major, app).chat.completions.parse(chat);
    assertEquals(choices[0]!.message.parsed, ADA);
  });

  testEach(`openai ${major.major}: chat, streamed and parsed`, async (app) => {
    const { choices } = await newClient(major, app).chat.completions.stream(chat).finalChatCompletion();
    assertEquals(choices[0]!.message.parsed, ADA);
  });

  testEach(`openai ${major.major}: responses, parsed`, async (app) => {
    assertEquals((await newClient(major, app).responses.parse(responses)).output_parsed, ADA);
  });

  testEach(`openai ${major.major}: responses, streamed and parsed`, async (app) => {
    const { output_parsed } = await newClient(major, app).responses.stream(responses).finalResponse();
    assertEquals(output_parsed, ADA);
  });

  Deno.test(`openai ${major.major}: what never fits is an error of the server that is not tried again`, async () => {
    const upstream = scriptedUpstream({ text: PROSE });
    const client = newClient(major, newApp({ config: configWith("instruct"), fetch: upstream.fetch }), "oss", 2);
    await assertRejects(() => client.chat.completions.parse(chat), major.Sdk.InternalServerError, "it is not JSON");
    assertEquals(upstream.asked.length, 2);
  });
}

for (const { major, Sdk } of MESSAGES_MAJORS) {
  const body = {
    model: "model",
    max_tokens: 1000,
    messages: ASKED,
    output_config: { format: zodOutputFormat(Person) },
  };
  const clientOf = (app: TestApp) =>
    new Sdk({ apiKey: "key", baseURL: "http://gateway/oss", maxRetries: 0, fetch: fetchFrom(app) });

  testEach(`messages SDK ${major}: parsed`, async (app) => {
    assertEquals((await clientOf(app).messages.parse(body)).parsed_output, ADA);
  });

  testEach(`messages SDK ${major}: streamed and parsed`, async (app) => {
    assertEquals((await clientOf(app).messages.stream(body).finalMessage()).parsed_output, ADA);
  });

  Deno.test(`messages SDK ${major}: the older field means the same`, async () => {
    let asked: Asked | undefined;
    const { fetch } = fakeUpstream((one) => {
      asked = one;
      return scriptedUpstream({ text: JSON.stringify(ADA) }).fetch(one.url, { method: "POST", body: one.body });
    });
    const client = clientOf(newApp({ config: configWith("native"), fetch }));
    const { output_config: { format }, ...older } = body;
    const answer = await client.post("/v1/messages", { body: { ...older, output_format: format } });
    assertEquals(JSON.parse((answer as { content: [{ text: string }] }).content[0].text), ADA);
    assertEquals(JSON.parse(asked!.body).response_format.json_schema.schema, format.schema);
  });
}

// A real engine, whose weights are a script: asked for #json it says {"name": "Ada", "age": 36}.

const ENGINE = Deno.env.get("LANEWAY_TEST_ENGINE") ?? "http://127.0.0.1:38601/v1";
const missing = await missingEngine(ENGINE);
const Short = z.object({ name: z.string(), age: z.number() });

for (const driver of ["chat", "messages", "responses"]) {
  for (const structuredOutput of ["native", "instruct"] as const) {
    Deno.test({
      name: `an engine asked over ${driver}, ${structuredOutput}${missing ? ` (skipped: ${missing})` : ""}`,
      ignore: missing !== undefined,
      async fn() {
        const config: ConfigInput = {
          upstreams: { engine: { driver, baseUrl: ENGINE, structuredOutput } },
          lanes: {
            oss: { models: { model: { task: "chat", targets: [{ upstream: "engine", model: "tiny-chat" }] } } },
          },
        };
        const client = newClient(MAJORS[0], newApp({ config, fetch }));
        const { output_parsed } = await client.responses.parse({
          model: "model",
          input: "#json",
          max_output_tokens: 200,
          text: { format: zodTextFormat(Short, "short") },
        });
        assertEquals(output_parsed, { name: "Ada", age: 36 });
      },
    });
  }
}
