/** Retries, other targets, hedges, repetitions without refused parts and continuations share one bound, so that no outage is multiplied. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { CHAT, chatBody, type ConfigInput, newApp } from "../support/app.ts";
import { answerStream, ENDING, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { law } from "../support/law.ts";

const NAMES = Array.from({ length: 25 }, (_, at) => `upstream${at}`);

function configOf(calls?: number): ConfigInput {
  return {
    upstreams: Object.fromEntries(NAMES.map((name) => [
      name,
      { driver: "chat", baseUrl: `http://${name}.test/v1`, relax: "trusted", prefill: "turn" },
    ])),
    lanes: {
      oss: {
        models: {
          model: {
            task: "chat",
            targets: NAMES.map((upstream) => ({ upstream, model: "org/model" })),
            continuation: "any",
            hedgeAfterMs: 10_000,
          },
        },
      },
    },
    retry: { rounds: 1, failovers: 10, ...(calls !== undefined && { calls }) },
  };
}

const FIELDS = ["temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "stop", "user"];
const refused = (field: string) =>
  Response.json({ error: { message: `Unsupported parameter: '${field}' is not supported`, param: field } }, {
    status: 400,
  });

/** What an upstream may answer, by name. The last begins and breaks off. */
const OUTCOMES: Record<string, (at: number) => Response> = {
  busy: () => new Response("busy", { status: 503 }),
  failing: () => new Response("failed", { status: 500 }),
  limited: () => new Response("limited", { status: 429, headers: { "retry-after": "0" } }),
  refusing: (at) => refused(FIELDS[at % FIELDS.length]!),
  breaking: () => answerStream([word("A word ")]),
  serving: () => answerStream([word("Words "), ENDING]),
};

const BODY = chatBody({
  stream: true,
  temperature: 0.5,
  top_p: 0.5,
  seed: 1,
  presence_penalty: 0.1,
  frequency_penalty: 0.1,
  stop: ["x"],
});

law(
  "one request never causes more calls of upstreams than are allowed",
  fc.record({
    outcomes: fc.array(fc.constantFrom(...Object.keys(OUTCOMES)), { minLength: 1, maxLength: 40 }),
    calls: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
  }),
  async ({ outcomes, calls }) => {
    let at = 0;
    const upstream = fakeUpstream(() => {
      const outcome = outcomes[at % outcomes.length]!;
      return OUTCOMES[outcome]!(at++);
    });
    const app = newApp({ config: configOf(calls), fetch: upstream.fetch });
    await (await app.post(CHAT, BODY)).text();
    assert(upstream.asked.length <= (calls ?? 12), `${upstream.asked.length} calls`);
    await app.close();
  },
);

Deno.test("an outage of all upstreams takes all calls that are allowed, and no more", async () => {
  for (const calls of [1, 5, 12, 20]) {
    const upstream = fakeUpstream(() => OUTCOMES.busy!(0));
    const app = newApp({ config: configOf(calls), fetch: upstream.fetch });
    const response = await app.post(CHAT, BODY);
    await response.text();
    assertEquals(upstream.asked.length, calls);
    await app.close();
  }
});
