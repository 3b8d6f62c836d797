/** An answer that breaks off goes on: its client gets it as if it had not broken, or the error; no character twice, and none lost. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type ConfigInput, newApp } from "../support/app.ts";
import { answerFor, CLIENTS } from "../support/continued_answers.ts";
import { BREAKS, continuingEngine, type Engine, PREFILLS } from "../support/continuing_engine.ts";
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
