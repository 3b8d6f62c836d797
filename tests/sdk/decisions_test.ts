/** Decisions with the clients of vendors: OpenAI's SDK, and the AI SDK, which checks every answer. */
import { createOpenAI } from "@ai-sdk/openai";
import { assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import OpenAI from "openai";
import { ENV, newApp, type TestApp } from "../support/app.ts";
import { CLIENTS, configFor, SERVERS, type Setup } from "../support/decisions.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { fetchFrom } from "./chat_clients.ts";

const ASKED = CLIENTS.list!.body as unknown as OpenAI.DecisionCreateParams;

const clientOf = (app: TestApp) =>
  new OpenAI({ baseURL: "http://gateway/oss/v1", apiKey: ENV.TEAM_KEY, maxRetries: 0, fetch: fetchFrom(app) });

function serve(setup: Setup): TestApp {
  const upstream = fakeUpstream(SERVERS[setup as keyof typeof SERVERS]);
  return newApp({ config: configFor(setup), fetch: upstream.fetch });
}

for (const setup of ["list", "logprobs", "systemone", "tool"] as const) {
  Deno.test(`openai: decisions over ${setup}`, async () => {
    const { answers, model, usage } = await clientOf(serve(setup)).decisions.create(ASKED);
    const [spam, lang, anger] = answers;
    if (spam?.type !== "predicate" || lang?.type !== "choice" || anger?.type !== "score") throw new TypeError();
    assertEquals([model, spam.name, lang.name, anger.name], ["judge", "spam", "lang", "anger"]);
    assertAlmostEquals(spam.probability, setup === "tool" ? 1 : 0.75);
    assertEquals([lang.choice, lang.probabilities.map(({ value }) => value)], ["German", ["French", "German"]]);
    assertEquals(anger.probabilities.map(({ label, value }) => [label, value]), [["calm", 0], ["cross", 1], [
      "furious",
      2,
    ]]);
    assertEquals([usage.input_tokens, usage.output_tokens, usage.total_tokens], [27, 3, 30]);
    assertEquals(usage.input_tokens_details, { cached_tokens: 0, cache_write_tokens: 0 });
  });

  Deno.test(`AI SDK: a decision model over ${setup}`, async () => {
    const provider = createOpenAI({
      baseURL: "http://gateway/oss/v1",
      apiKey: ENV.TEAM_KEY,
      fetch: fetchFrom(serve(setup)),
    });
    const { answers } = await provider.decisionModel("judge").doDecide({
      state: [{ type: "text", text: "Buy now!" }, { type: "json", value: { from: "shop" } }],
      questions: {
        spam: { type: "boolean", instructions: "Is it spam?" },
        lang: { type: "choice", criteria: { French: null, German: "as in Bonn" } },
        anger: { type: "score", instructions: "How angry?", criteria: ["calm", "cross", "furious"] },
      },
    });
    const { spam, lang, anger } = answers;
    if (spam?.type !== "boolean" || lang?.type !== "choice" || anger?.type !== "score") throw new TypeError();
    assertAlmostEquals(spam.probability, setup === "tool" ? 1 : 0.75);
    assertEquals(lang.choice, "German");
    assertAlmostEquals(anger.score, setup === "tool" ? 0 : 0.75);
  });
}

Deno.test("openai: a bad decision is the SDK's own error, and names the field", async () => {
  const [first] = ASKED.questions;
  const error = await assertRejects(
    () =>
      clientOf(serve("list")).decisions.create({
        ...ASKED,
        questions: [first!, { ...first!, type: "rank" as "score" }] as never,
      }),
    OpenAI.BadRequestError,
  );
  assertEquals(error.param, "questions[1].type");
  await assertRejects(
    () => clientOf(serve("list")).decisions.create({ ...ASKED, model: "other" }),
    OpenAI.NotFoundError,
  );
});

Deno.test("openai: the sandbox decides on the default start", async () => {
  const { answers } = await clientOf(newApp()).decisions.create({
    model: "sandbox",
    input: "The parcel is late and I am furious",
    questions: [{ type: "choice", instructions: "Mood?", choices: [{ value: "calm" }, { value: "furious" }] }],
  });
  assertEquals(answers[0]?.type === "choice" && answers[0].choice, "furious");
});
