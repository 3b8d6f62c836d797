/** Who is asked, how often and in which order, through the whole app: as the configuration has it, and as the client sees it. */
import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { CHAT, chatBody, type ConfigInput, ENV, newApp, NOW, type TestApp } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";
import { until, within } from "../support/wait.ts";

type Answer = (asked: Asked) => Response | Promise<Response>;
type UpstreamInput = NonNullable<ConfigInput["upstreams"]>[string];

interface Setting {
  /** How each upstream answers, by its name; they are targets in this order. */
  answers: Record<string, Answer>;
  upstreams?: Record<string, Partial<UpstreamInput>>;
  weights?: Record<string, number>;
  hedgeAfterMs?: number;
  retry?: ConfigInput["retry"];
  keys?: ConfigInput["keys"];
  now?(): number;
}

/** A gateway with a model that is at each of the upstreams; and who was asked, in order. */
function newSetting({ answers, upstreams = {}, weights = {}, hedgeAfterMs, retry, keys, now }: Setting) {
  const names = Object.keys(answers);
  const { fetch, asked } = fakeUpstream((call) => answers[call.url.hostname]!(call));
  const config: ConfigInput = {
    upstreams: Object.fromEntries(
      names.map((name) => [name, { driver: "chat", baseUrl: `http://${name}/v1`, ...upstreams[name] }]),
    ),
    lanes: {
      oss: {
        models: {
          model: {
            task: "chat",
            targets: names.map((name) => ({ upstream: name, model: "m", weight: weights[name] })),
            hedgeAfterMs,
          },
        },
      },
    },
    ...(retry && { retry }),
    ...(keys && { keys }),
  };
  const app = newApp({ config, fetch, ...(now && { now }) });
  return { app, asked, names: () => asked.map(({ url }) => url.hostname) };
}

/** An upstream that answers in turn, and at last always the same. */
function inTurn(...answers: Answer[]): Answer {
  return (asked) => (answers.length > 1 ? answers.shift()! : answers[0]!)(asked);
}

const isStreamed = ({ body }: Asked) => JSON.parse(body).stream === true;
const well: Answer = (asked) => isStreamed(asked) ? answerStream([word("whole"), ENDING]) : answerWhole();
const failing = (status: number, headers: HeadersInit = {}): Answer => () =>
  Response.json({ error: { message: "It failed" } }, { status, headers });

let conversations = 0;
/** A conversation that has no home yet. */
const newTalk = () => [{ role: "user", content: `Conversation ${++conversations}` }];

async function say(app: TestApp, more: object = {}) {
  const response = await within(app.post(CHAT, chatBody({ messages: newTalk(), ...more })));
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, served: response.headers.get("x-laneway-target") };
}

const MODES = [["whole", false], ["streamed", true]] as const;

// Retry

for (const [mode, stream] of MODES) {
  Deno.test(`attempt: one target that fails for a moment serves at its second time · ${mode}`, async () => {
    const { app, names } = newSetting({
      answers: { only: inTurn(failing(503), well) },
      retry: { budgetMs: 2_000 },
    });
    const begun = performance.now();
    const { status, text, served } = await say(app, { stream });
    assertEquals([status, names().length], [200, 2]);
    assert(text.includes("whole"), text);
    // A pause, so that the target has the time to recover.
    assertGreater(performance.now() - begun, 100);
    await until(() => app.logs.length === 1);
    assertEquals([app.logs[0]!.attempts, app.logs[0]!.target], [2, "only/m"]);
    // A stream's head is out before its content says who serves, where the upstream is slow.
    assertEquals(served, "only/m; attempts=2");
  });

  Deno.test(`attempt: the caller's own mistake is asked once · ${mode}`, async () => {
    for (const status of [400, 413, 422]) {
      const { app, names } = newSetting({
        answers: { first: failing(status), second: well },
        retry: { budgetMs: 2_000 },
      });
      const answer = await say(app, { stream });
      assertGreater(answer.status, 399);
      assertLess(answer.status, 500);
      assertEquals([names(), answer.served], [["first"], "none; attempts=1"]);
    }
  });

  Deno.test(`attempt: a failure of all says how many were asked, and of none whom · ${mode}`, async () => {
    const { app, names } = newSetting({
      answers: { first: failing(503), second: failing(500), third: () => Promise.reject(new TypeError("refused")) },
    });
    const { status, served } = await say(app, { stream });
    assertEquals([status >= 500, served], [true, `none; attempts=${names().length}`]);
    await until(() => app.logs.length === 1);
    assertEquals(app.logs[0]!.attempts, names().length);
    // What nobody was asked for names nobody.
    assertEquals((await say(app, { stream, model: "unknown" })).served, null);
  });

  Deno.test(`attempt: an upstream that says that it took too long is not asked again · ${mode}`, async () => {
    const { app, names } = newSetting({ answers: { only: failing(504) }, retry: { budgetMs: 2_000 } });
    assertEquals((await say(app, { stream })).status, 504);
    assertEquals(names(), ["only"]);
  });

  Deno.test(`attempt: an upstream that refuses the gateway's credential is not asked again · ${mode}`, async () => {
    const { app, names } = newSetting({ answers: { only: failing(401) }, retry: { budgetMs: 2_000 } });
    assertEquals((await say(app, { stream })).status, 502);
    assertEquals(names(), ["only"]);
  });
}

Deno.test("attempt: retry-after is waited for within the budget", async () => {
  const { app, names } = newSetting({
    answers: { only: inTurn(failing(429, { "retry-after": "1" }), well) },
    retry: { budgetMs: 3_000 },
  });
  const begun = performance.now();
  assertEquals([(await say(app)).status, names().length], [200, 2]);
  assertGreater(performance.now() - begun, 990);
});

Deno.test("attempt: a retry-after beyond the budget is the client's to wait for", async () => {
  const { app, names } = newSetting({
    answers: { only: failing(503, { "retry-after": "30" }) },
    retry: { budgetMs: 3_000 },
  });
  const { status, headers } = await say(app);
  assertEquals([status, headers.get("retry-after"), names().length], [503, "30", 1]);
});

Deno.test("attempt: each target is asked as often as there are rounds", async () => {
  for (const rounds of [1, 2]) {
    const { app, names } = newSetting({
      answers: { first: failing(429), second: failing(503) },
      retry: { rounds, budgetMs: 3_000 },
    });
    assertEquals((await say(app)).status, 503);
    assertEquals(names(), Array.from({ length: rounds }, () => ["first", "second"]).flat());
  }
});

Deno.test("attempt: a stream falls back until its content begins, and not from there on", async () => {
  const error = `data: {"error":{"message":"It failed","code":500}}\n\n`;
  const before = newSetting({ answers: { first: () => answerStream([word(""), error]), second: well } });
  const answer = await say(before.app, { stream: true });
  assert(answer.text.includes("whole") && answer.text.endsWith("data: [DONE]\n\n"), answer.text);
  assertEquals([before.names(), before.app.logs[0]!.attempts], [["first", "second"], 2]);

  const after = newSetting({ answers: { first: () => answerStream([word("half"), error]), second: well } });
  const broken = await say(after.app, { stream: true });
  assert(broken.text.includes("It failed") && !broken.text.includes("[DONE]"), broken.text);
  assertEquals([after.names(), broken.served], [["first"], "first/m"]);
});

Deno.test("attempt: what was left out for a target that failed is not told of the answer of another", async () => {
  for (const stream of [false, true]) {
    const upstreams = { first: { refuses: ["seed"] } };
    const { app, asked } = newSetting({ answers: { first: failing(500), second: well }, upstreams });
    const { headers, text } = await say(app, { stream, seed: 1 });
    assertEquals(asked.map(({ body }) => JSON.parse(body).seed), [undefined, 1]);
    const visible = [headers.get("x-laneway-notes") ?? "", ...app.logs[0]!.notes ?? [], text].join("\n");
    assert(!visible.includes("seed"), visible);
  }
});

// Weights

Deno.test("attempt: new conversations spread by weight, and each stays where it began", async () => {
  const { app, names, asked } = newSetting({
    answers: { large: well, small: well, none: well },
    weights: { large: 3, small: 1, none: 0 },
  });
  const talks = Array.from({ length: 1_000 }, newTalk);
  for (const messages of talks) await say(app, { messages });
  const first = names();
  const share = first.filter((name) => name === "large").length / first.length;
  // Five standard deviations.
  assert(Math.abs(share - 0.75) < 0.07, `${share}`);
  assert(!first.includes("none"));

  asked.length = 0;
  for (const messages of talks.slice(0, 200)) {
    await say(app, { messages: [...messages, { role: "assistant", content: "whole" }, ...newTalk()] });
  }
  assertEquals(names(), first.slice(0, 200));
});

Deno.test("attempt: a weighted target that fails leaves its share to the others", async () => {
  const { app, names } = newSetting({
    answers: { large: failing(500), small: well },
    weights: { large: 1_000_000, small: 0 },
  });
  assertEquals([(await say(app)).served, names()], ["small/m; attempts=2", ["large", "small"]]);
});

// Breaker

Deno.test("attempt: a target that fails again and again is asked last, and first again once it has recovered", async () => {
  const clock = { now: NOW };
  let isDown = true;
  const { app, asked, names } = newSetting({
    answers: { first: (call) => (isDown ? failing(500) : well)(call), second: well },
    now: () => clock.now,
  });
  const asks = async () => {
    asked.length = 0;
    assertEquals((await say(app)).status, 200);
    return names();
  };
  for (let time = 0; time < 5; time++) assertEquals(await asks(), ["first", "second"]);
  assertEquals(await asks(), ["second"]);
  clock.now += 10_001;
  // One request finds out that it is still down, and the others are spared for longer.
  assertEquals(await asks(), ["first", "second"]);
  assertEquals(await asks(), ["second"]);
  clock.now += 10_001;
  assertEquals(await asks(), ["second"]);
  isDown = false;
  clock.now += 10_001;
  assertEquals(await asks(), ["first"]);
  assertEquals(await asks(), ["first"]);
});

Deno.test("attempt: a target that rests is asked where no other one serves", async () => {
  let isDown = true;
  const { app } = newSetting({
    answers: { first: (call) => (isDown ? failing(500) : well)(call), second: failing(503) },
  });
  for (let time = 0; time < 6; time++) assertEquals((await say(app)).status, 503);
  isDown = false;
  const { served } = await say(app);
  assert(served?.startsWith("first/m"), served ?? "");
});

// Concurrency

/** An upstream that answers when it is let. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const answer: Answer = async (asked) => {
    await promise;
    return await well(asked);
  };
  return { answer, release: resolve };
}

const ONE_PLACE = { concurrency: { running: 1, waiting: 0, waitMs: 1_000 } };

Deno.test("attempt: where an upstream has no place left, the next target serves", async () => {
  const { answer, release } = held();
  const { app, names } = newSetting({ answers: { full: answer, other: well }, upstreams: { full: ONE_PLACE } });
  const slow = say(app);
  await until(() => names().length === 1);
  assertEquals((await say(app)).served, "other/m");
  release();
  assertEquals([(await slow).served, names()], ["full/m", ["full", "other"]]);
});

Deno.test("attempt: where no upstream has a place left, the client is told when to come back", async () => {
  const { answer, release } = held();
  const { app, names } = newSetting({ answers: { full: answer }, upstreams: { full: ONE_PLACE } });
  const slow = say(app);
  await until(() => names().length === 1);
  for (const stream of [false, true]) {
    const { status, headers } = await say(app, { stream });
    assertEquals([status, headers.get("retry-after")], [503, "1"]);
  }
  release();
  assertEquals((await slow).status, 200);
  assertEquals((await say(app)).status, 200);
});

Deno.test("attempt: an upstream that had no place is asked again when it may have one", async () => {
  const { answer, release } = held();
  const { app, names } = newSetting({
    answers: { full: answer },
    upstreams: { full: ONE_PLACE },
    retry: { rounds: 2, budgetMs: 3_000 },
  });
  const slow = say(app);
  await until(() => names().length === 1);
  const refused = say(app);
  // It is refused by the time at which one that takes as many steps is answered; its next round is in a second.
  for (let time = 0; time < 2; time++) await app.post(CHAT, chatBody(), { "x-laneway-explain": "true" });
  release();
  assertEquals([(await slow).status, (await refused).status, names().length], [200, 200, 2]);
});

Deno.test("attempt: requests wait their turn for a place", async () => {
  const { answer, release } = held();
  const upstreams = { full: { concurrency: { running: 1, waiting: 5 } } };
  const { app, names } = newSetting({ answers: { full: answer }, upstreams });
  const all = Array.from({ length: 4 }, () => say(app, { stream: true }));
  await until(() => names().length === 1);
  release();
  assertEquals((await Promise.all(all)).map(({ status }) => status), [200, 200, 200, 200]);
});

Deno.test("attempt: a caller with many requests does not keep another one from a place", async () => {
  const { answer, release } = held();
  const { app, asked } = newSetting({
    answers: { full: answer },
    upstreams: { full: { concurrency: { running: 1, waiting: 5 } } },
    keys: ["TEAM_KEY", "GUEST_KEY"].map((env) => ({ name: env, secret: { env } })),
  });
  const ask = async (key: string, user: string, headers = {}) => {
    const response = await app.post(CHAT, chatBody({ user }), { authorization: `Bearer ${ENV[key]}`, ...headers });
    return response.status;
  };
  const all = [ask("TEAM_KEY", "first")];
  await until(() => asked.length === 1);
  for (const user of ["second", "third"]) all.push(ask("TEAM_KEY", user));
  all.push(ask("GUEST_KEY", "guest"));
  // What takes as many steps and waits for nobody is answered once they stand in line.
  for (let time = 0; time < 2; time++) await ask("GUEST_KEY", "", { "x-laneway-explain": "true" });
  release();
  assertEquals(await Promise.all(all), [200, 200, 200, 200]);
  assertEquals(asked.map(({ body }) => JSON.parse(body).user), ["first", "second", "guest", "third"]);
});

// Hedging

Deno.test("attempt: a silent target is joined by the next, and given up when that one speaks", async () => {
  let stopped = false;
  const silent: Answer = ({ signal }) => {
    signal.addEventListener("abort", () => stopped = true);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const { app, names } = newSetting({ answers: { silent, quick: well }, hedgeAfterMs: 30 });
  const { text, served } = await say(app, { stream: true });
  assert(text.endsWith("data: [DONE]\n\n"), text);
  assertEquals([served, names(), stopped], ["quick/m; attempts=2", ["silent", "quick"], true]);
});

Deno.test("attempt: at most one request in ten is asked twice, once what was saved up is spent", async () => {
  const slow: Answer = async (asked) => {
    await new Promise((resolve) => setTimeout(resolve, 15));
    return await well(asked);
  };
  const { app, names } = newSetting({ answers: { first: slow, second: slow }, hedgeAfterMs: 1 });
  for (let time = 0; time < 60; time++) assertEquals((await say(app, { stream: true })).status, 200);
  const twice = names().length - 60;
  assert(twice >= 10 + 3 && twice <= 10 + 6, `${twice} were asked twice`);
});
