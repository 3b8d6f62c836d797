/** The wall clock steps, as clocks do that are set; how long things take is told by another one. */
import { assert, assertEquals } from "@std/assert";
import defaults from "../../gateway.default.json" with { type: "json" };
import { configSchema } from "../../src/config/schema.ts";
import { CHAT, chatBody, type ConfigInput, ENV, newApp, NOW, TWO_UPSTREAMS } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { fakeHub, TOKEN } from "../support/fake_hub.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

const HOUR = 3_600_000;

/** What the wall clock says beside the time that has passed, by how many requests there were before. */
const WALLS: Record<string, (request: number) => number> = {
  "steady": () => 0,
  "an hour back, once": (request) => request === 0 ? 0 : -HOUR,
  "an hour forward, once": (request) => request === 0 ? 0 : HOUR,
  "back and forth": (request) => request % 2 === 0 ? 0 : -HOUR,
  "a minute back with each request": (request) => -60_000 * request,
  "a minute forward with each request": (request) => 60_000 * request,
};

const AUTHORIZED = { authorization: `Bearer ${ENV.TEAM_KEY}` };

/** Two clocks, of which the wall's steps with each request. */
function clocksOf(stepOf: (request: number) => number) {
  const state = { passed: 0, requests: 0 };
  return {
    state,
    monotonic: () => state.passed,
    now: () => NOW + state.passed + stepOf(state.requests),
  };
}

/** What becomes of requests, `waitMs` after each other, whose first upstream answers as told by `first`. */
async function story(
  stepOf: (request: number) => number,
  { quota, waits, first }: { quota?: object; waits: readonly number[]; first?: (request: number) => Response },
) {
  const { state, now, monotonic } = clocksOf(stepOf);
  const upstream = fakeUpstream(({ url }) =>
    url.hostname === "first.test" ? first?.(state.requests) ?? answerWhole() : answerWhole()
  );
  const config: ConfigInput = {
    ...TWO_UPSTREAMS,
    keys: [{ name: "team", secret: { env: "TEAM_KEY" }, quota }],
  };
  const app = newApp({ config, fetch: upstream.fetch, now, monotonic });
  const results: unknown[] = [];
  for (const waitMs of waits) {
    state.passed += waitMs;
    // A conversation of its own each time, which no target has served before.
    const messages = [{ role: "user", content: `Hello ${state.requests}` }];
    const response = await app.post(CHAT, chatBody({ messages, top_k: 1 }), AUTHORIZED);
    await response.body?.cancel();
    state.requests++;
    results.push({
      status: response.status,
      retryAfter: response.headers.get("retry-after"),
      asked: upstream.asked.splice(0).map(({ url, body }) => [url.hostname, "top_k" in JSON.parse(body)]),
    });
  }
  assert(app.logs.every(({ durationMs }) => durationMs === 0), JSON.stringify(app.logs));
  return results;
}

/** By a clock of its own, which has no part in the steps. */
function busyUntil(ms: number): Response {
  const headers = { "retry-after": new Date(ms + 30_000).toUTCString(), date: new Date(ms).toUTCString() };
  return Response.json({ error: { message: "Slow down" } }, { status: 429, headers });
}

const unavailable = () => Response.json({ error: { message: "Overloaded" } }, { status: 503 });
const STORIES: Record<string, Parameters<typeof story>[1]> = {
  "requests a minute": { quota: { requestsPerMinute: 2 }, waits: [0, 0, 0, 10_000, 20_000, 0, 60_000, 0, 0] },
  "tokens a minute": { quota: { tokensPerMinute: 40 }, waits: [0, 0, 0, 0, 30_000, 0, 0, 60_000, 0, 0, 0] },
  "a target that rests": {
    first: (request) => request < 6 ? unavailable() : answerWhole(),
    waits: [0, 0, 0, 0, 0, 0, 0, 5_000, 5_000, 0, 0],
  },
  "a target that asks for a rest": {
    first: (request) =>
      request === 0
        ? Response.json({ error: { message: "Slow down" } }, { status: 429, headers: { "retry-after": "30" } })
        : answerWhole(),
    waits: [0, 0, 10_000, 21_000, 0],
  },
  "a target that asks for a rest until a date": {
    first: (request) => request === 0 ? busyUntil(NOW) : answerWhole(),
    waits: [0, 0, 10_000, 21_000, 0],
  },
};

for (const [what, options] of Object.entries(STORIES)) {
  Deno.test(`clock: ${what}: a wall clock that steps changes nothing`, async () => {
    const steady = await story(WALLS.steady!, options);
    for (const [name, stepOf] of Object.entries(WALLS)) assertEquals(await story(stepOf, options), steady, name);
  });
}

Deno.test("clock: a step refuses nobody who may come: what a minute's quota gives, it gives a minute later", async () => {
  for (const stepOf of Object.values(WALLS)) {
    const waits = [0, 60_000, 60_000, 60_000];
    const results = await story(stepOf, { quota: { requestsPerMinute: 1 }, waits });
    assertEquals(results.map((one) => (one as { status: number }).status), waits.map(() => 200));
  }
});

Deno.test("clock: a catalog's list and the places of its models are asked for again when they are old, whatever the wall says", async () => {
  const count = async (stepOf: (request: number) => number) => {
    const { state, now, monotonic } = clocksOf(stepOf);
    const hub = fakeHub();
    const config = configSchema.parse(defaults);
    const app = newApp({ config, env: { HF_TOKEN: TOKEN }, fetch: hub.fetch, now, monotonic });
    const counts = [];
    for (const waitMs of [0, 1_000, 700_000, 0]) {
      state.passed += waitMs;
      await (await app.get("/hf/v1/models")).body?.cancel();
      // An old list is given while a new one is on its way.
      await untilQuiet(() => hub.asked.length);
      state.requests++;
      counts.push(hub.asked.length);
    }
    app.abort();
    return counts;
  };
  const steady = await count(WALLS.steady!);
  for (const [name, stepOf] of Object.entries(WALLS)) assertEquals(await count(stepOf), steady, name);
});

/** Waits until nothing more is counted, however often others have a turn. */
async function untilQuiet(count: () => number): Promise<void> {
  for (let known = -1, turns = 0; turns < QUIET_TURNS; turns++) {
    if (count() !== known) turns = 0;
    known = count();
    await new Promise((resolve) => setTimeout(resolve));
  }
}

/** Work on an answer gives others no more turns than this before it asks for the next. */
const QUIET_TURNS = 20;
