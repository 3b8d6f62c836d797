/** An answer that breaks off goes on: its client gets it as if it had not broken, or the error; no character twice, and none lost. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type ConfigInput, newApp } from "../support/app.ts";
import { answerFor, CLIENTS } from "../support/continued_answers.ts";
import { BREAKS, continuingEngine, type Engine, PREFILLS, type Said } from "../support/continuing_engine.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { law } from "../support/law.ts";

const MODELS = { chat: "org/model", messages: "claude-haiku-4-5" };

function configFor({ wire, prefill }: Engine, more: object = {}): ConfigInput {
  return {
    upstreams: {
      fake: { driver: wire, baseUrl: "http://upstream.test/v1", ...(wire === "chat" && prefill && { prefill }) },
    },
    lanes: {
      oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: MODELS[wire] }], ...more } } },
    },
  };
}

/** Words, blank space, repetitions, code, and characters of two units: whatever a seam could take for something else. */
const snippet = fc.constantFrom(
  "word",
  "ha",
  " ",
  "  ",
  "\n",
  "\n\n",
  ".",
  "é",
  "😀",
  "👩‍👩‍👧",
  "```\n",
  "| --- | --- |\n",
  "0, ",
  "\t",
  "“",
  "long words that repeat themselves ",
);
const text = fc.array(snippet, { minLength: 1, maxLength: 24 }).map((snippets) => `A${snippets.join("")}z`);
const pieces = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
const oneBreak = fc.record({ after: fc.integer({ min: 1, max: 40 }), how: fc.constantFrom(...BREAKS) });
const server = fc.oneof(
  fc.constantFrom(...PREFILLS).map((prefill) => ({ wire: "chat" as const, prefill })),
  fc.constant({ wire: "messages" as const, prefill: "turn" as const }),
);
const client = fc.constantFrom(...Object.keys(CLIENTS));

/** Whether it shows anything at all: failures before that are not continued, but tried again. */
const engineOf = (breaks: fc.Arbitrary<Engine["breaks"]>) =>
  fc.record({ server, text, pieces, breaks }).map(({ server, text, pieces, breaks }): Engine => ({
    ...server,
    says: [{ text }],
    pieces,
    breaks,
  }));

law(
  "a text that breaks off once or twice arrives whole, on all wires",
  fc.record({ engine: engineOf(fc.array(oneBreak, { minLength: 1, maxLength: 2 })), client }),
  async ({ engine, client }) => {
    const upstream = fakeUpstream(continuingEngine(engine));
    const app = newApp({ config: configFor(engine), fetch: upstream.fetch });
    const got = await answerFor(app, client);
    const [{ text = "" }] = engine.says as [{ text?: string }];
    assertEquals({ text: got.text, ends: got.ends, errors: got.errors }, { text, ends: 1, errors: 0 });
    assert(upstream.asked.length <= 3);
    await app.close();
  },
);

law(
  "a text that breaks off three times is continued twice, and then ends in an error",
  fc.record({ engine: engineOf(fc.array(oneBreak, { minLength: 5, maxLength: 5 })), client }),
  async ({ engine, client }) => {
    const upstream = fakeUpstream(continuingEngine(engine));
    const app = newApp({ config: configFor(engine), fetch: upstream.fetch });
    const got = await answerFor(app, client);
    const [{ text = "" }] = engine.says as [{ text?: string }];
    assert(text.startsWith(got.text), got.text);
    assertEquals(got.ends + got.errors, 1);
    if (got.ends === 1) assertEquals(got.text, text);
    assert(upstream.asked.length <= 3);
    await app.close();
  },
);

const call = fc.record({
  call: fc.constantFrom("look", "find"),
  input: fc.constantFrom("{}", '{"place":"here"}', '{"text":"😀 \\"quoted\\" {}","n":[1,2]}'),
});
const says = fc.tuple(
  fc.option(text.map((reasoning) => ({ reasoning })), { nil: undefined }),
  fc.option(text.map((one) => ({ text: one })), { nil: undefined }),
  fc.array(call, { maxLength: 2 }),
).map(([reasoning, text, calls]): Said[] => [reasoning ?? [], text ?? [], calls].flat())
  .filter((said) => said.length > 0 && !(said.length === 1 && "reasoning" in said[0]!));

/** A call as its client reads it: some get its arguments as an object. */
const readCalls = (calls: readonly { name: string; input: string }[]) =>
  calls.map(({ name, input }) => [name, JSON.stringify(JSON.parse(input))]);

law(
  "an answer with reasoning and calls that breaks off anywhere arrives whole, or ends in the error after a beginning of it",
  fc.record({ server, says, pieces, breaks: fc.array(oneBreak, { minLength: 1, maxLength: 2 }), client }),
  async ({ server, says, pieces, breaks, client }) => {
    const engine = { ...server, says, pieces, breaks };
    const upstream = fakeUpstream(continuingEngine(engine));
    const app = newApp({ config: configFor(engine), fetch: upstream.fetch });
    const got = await answerFor(app, client, { tools: ["look", "find"] });
    await app.close();
    const whole = { text: "", reasoning: "", calls: [] as { name: string; input: string }[] };
    for (const said of says) {
      if ("text" in said) whole.text += said.text;
      else if ("reasoning" in said) whole.reasoning += said.reasoning;
      else whole.calls.push({ name: said.call, input: said.input });
    }
    assertEquals(got.ends + got.errors, 1);
    if (got.ends === 1) {
      assertEquals([got.text, got.reasoning], [whole.text, whole.reasoning]);
      assertEquals(readCalls(got.calls), readCalls(whole.calls));
      return;
    }
    assert(whole.text.startsWith(got.text), got.text);
    assert(whole.reasoning.startsWith(got.reasoning), got.reasoning);
    for (const [at, { name, input }] of got.calls.entries()) {
      assertEquals(name, whole.calls[at]!.name);
      if (!["gemini", "ollama"].includes(client)) assert(whole.calls[at]!.input.startsWith(input), input);
    }
    // Only reasoning is not continued.
    assert(got.text === "" && got.calls.length === 0, JSON.stringify(got));
  },
);

law(
  "a text whose server is gone after the break goes on at another one, whatever wires both speak",
  fc.record({
    one: server,
    other: server,
    text,
    pieces,
    first: oneBreak,
    second: fc.option(oneBreak, { nil: undefined }),
    client,
  }),
  async ({ one, other, text, pieces, first, second, client }) => {
    const says = [{ text }];
    const engines = {
      "one.test": continuingEngine({ ...one, says, pieces, breaks: [first] }),
      "other.test": continuingEngine({ ...other, says, pieces, breaks: second ? [second] : [] }),
    };
    let isGone = false;
    const upstream = fakeUpstream((asked) => {
      const host = asked.url.hostname as keyof typeof engines;
      if (host === "one.test" && isGone) return new Response("busy", { status: 503 });
      if (host === "one.test") isGone = true;
      return engines[host](asked);
    });
    const configOf = ({ wire, prefill }: typeof one, host: string) => ({
      driver: wire,
      baseUrl: `http://${host}/v1`,
      ...(wire === "chat" && { prefill }),
    });
    const app = newApp({
      config: {
        upstreams: { one: configOf(one, "one.test"), other: configOf(other, "other.test") },
        lanes: {
          oss: {
            continuation: "any",
            models: {
              model: {
                task: "chat",
                targets: [
                  { upstream: "one", model: MODELS[one.wire] },
                  { upstream: "other", model: MODELS[other.wire] },
                ],
              },
            },
          },
        },
        retry: { rounds: 1 },
      },
      fetch: upstream.fetch,
    });
    const got = await answerFor(app, client);
    assertEquals({ text: got.text, ends: got.ends, errors: got.errors }, { text, ends: 1, errors: 0 });
    await app.close();
  },
);
