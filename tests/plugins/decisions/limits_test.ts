/** Decisions at their limits: hostile servers, bad requests, clients that leave, strict requests, and redaction. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { CHAT, chatBody, newApp } from "../../support/app.ts";
import { chatAnswer, chosen, CLIENTS, configFor, SERVERS, type Setup } from "../../support/decisions.ts";
import { type Asked, fakeUpstream } from "../../support/fake_upstream.ts";
import { assertReceivedClean, newRedactionRig, PASSWORD, SAID } from "../../support/redaction_rig.ts";
import { until } from "../../support/wait.ts";

const PATH = "/oss/v1/decisions";
const PREDICATE = { type: "predicate", instructions: "Is it?" };
const CHOICE = { type: "choice", instructions: "Which?", choices: [{ value: "a" }, { value: "b" }] };

async function ask(setup: Setup, answer: (asked: Asked) => Response, question: JsonObject = PREDICATE) {
  const app = newApp({ config: configFor(setup), fetch: fakeUpstream(answer).fetch });
  const response = await app.post(PATH, { model: "judge", input: "x", questions: [question] });
  return { status: response.status, answer: await response.json(), notes: response.headers.get("x-laneway-notes") };
}

const share = (value: unknown, probability: unknown) => ({ value, probability });
const choice = (probabilities: unknown, chosen: unknown = "a") => ({ type: "choice", choice: chosen, probabilities });

/** Answers that are none, and their questions. */
const BAD: Record<string, [answer: unknown, question?: JsonObject]> = {
  "no probability": [{ type: "predicate" }],
  "a negative one": [{ type: "predicate", probability: -0.1 }],
  "one above 1": [{ type: "predicate", probability: 1.5 }],
  "a text": [{ type: "predicate", probability: "0.5" }],
  "another type": [{ type: "score", score: 1, probabilities: [] }],
  "null": [null],
  "one value only": [choice([share("a", 1)]), CHOICE],
  "a value that was not asked": [choice([share("a", 0.5), share("c", 0.5)]), CHOICE],
  "a value twice": [choice([share("a", 0.5), share("a", 0.5)]), CHOICE],
  "a sum of less than 1": [choice([share("a", 0.3), share("b", 0.3)]), CHOICE],
  "a choice of none": [choice([share("a", 0.5), share("b", 0.5)], "c"), CHOICE],
  "no list": [choice("all"), CHOICE],
};

for (const [what, [answer, question]] of Object.entries(BAD)) {
  Deno.test(`decisions: a server's answer with ${what} is an error and never a decision`, async () => {
    const { status, answer: { error } } = await ask("list", () => Response.json({ answers: [answer] }), question);
    assertEquals([status, error.code], [502, "upstream_error"]);
  });
}

Deno.test("decisions: numbers that are none, and answers without decisions, are errors", async () => {
  for (
    const text of ['{"answers":[{"type":"predicate","probability":NaN}]}', "{}", "[]", "", "<html>", '{"answers":[]}']
  ) {
    for (const setup of ["list", "list-by-id", "systemone"] as const) {
      const served = () => new Response(text, { headers: { "content-type": "application/json" } });
      assertEquals((await ask(setup, served)).status, 502, text);
    }
  }
});

Deno.test("decisions: rounded probabilities get a sum of 1", async () => {
  const { answer } = await ask(
    "list",
    () => Response.json({ answers: [choice([share("b", 0.667), share("a", 0.334)])] }),
    CHOICE,
  );
  const [one, other] = answer.answers[0].probabilities;
  assertEquals([one.value, other.value], ["a", "b"]);
  assert(Math.abs(one.probability + other.probability - 1) < 1e-12);
});

Deno.test("decisions: odd log probabilities are left out, and without any the model chooses", async () => {
  const odd = (top: unknown[]) => () =>
    Response.json({
      choices: [{
        index: 0,
        message: { role: "assistant", content: '{"answer":"no"}' },
        finish_reason: "stop",
        logprobs: { content: [{ top_logprobs: top }] },
      }],
    });
  const good = [{ token: "yes", logprob: -1 }, { token: "no", logprob: -1 }];
  const mixed = await ask(
    "logprobs",
    odd([null, { token: 7, logprob: -1 }, { token: "no", logprob: "x" }, ...good, ...good]),
  );
  assertEquals(mixed.answer.answers[0].probability, 0.5);
  for (const top of [[], [null], [{ token: "yes", logprob: 3 }, { token: "no", logprob: 5 }], [{ token: "yes" }]]) {
    const { answer, notes } = await ask("logprobs", odd(top));
    assertEquals(answer.answers[0].probability, 0);
    assertStringIncludes(notes!, "not measured");
  }
});

Deno.test("decisions: replies that are long together are refused", async () => {
  const pad = "x".repeat(1_000);
  const upstream = fakeUpstream(() => {
    const answer = { choices: [{ index: 0, message: { role: "assistant", content: "yes" }, finish_reason: "length" }] };
    return Response.json({ ...answer, pad });
  });
  const config = { ...configFor("schema"), limits: { answerBytes: 10_000 } };
  const app = newApp({ config, fetch: upstream.fetch });
  const status = async (count: number) => {
    const response = await app.post(PATH, { model: "judge", input: "x", questions: Array(count).fill(PREDICATE) });
    const text = await response.text();
    return text.includes("longer than 10000 bytes") ? 502 : response.status;
  };
  assertEquals([await status(5), await status(100)], [200, 502]);
  assert(upstream.asked.length < 105, `${upstream.asked.length} calls`);
});

Deno.test("decisions: the reply to one of several questions has at most a mebibyte", async () => {
  const upstream = fakeUpstream(({ body }) =>
    body.includes("Which language") ? Response.json({ pad: "x".repeat(1_048_576) }) : SERVERS.logprobs({ body })
  );
  const app = newApp({ config: configFor("logprobs"), fetch: upstream.fetch });
  const response = await app.post(PATH, CLIENTS.list!.body);
  assertEquals(response.status, 502);
  assertStringIncludes(await response.text(), "longer than 1048576 bytes");
});

Deno.test("decisions: an input that would be repeated too often is refused before any call", async () => {
  const upstream = fakeUpstream(SERVERS.logprobs);
  const app = newApp({ config: configFor("logprobs"), fetch: upstream.fetch });
  const response = await app.post(PATH, {
    model: "judge",
    input: "x".repeat(200_000),
    questions: Array(400).fill(PREDICATE),
  });
  assertEquals([response.status, upstream.asked.length], [400, 0]);
  await response.body?.cancel();
});

Deno.test("decisions: at most eight questions are asked at once, and none after the client has left", async () => {
  let open = 0;
  let most = 0;
  const ends: (() => void)[] = [];
  const upstream = fakeUpstream(async ({ signal }) => {
    // The first one shows that the server reports log probabilities.
    if (upstream.asked.length > 1) {
      most = Math.max(most, ++open);
      await new Promise<void>((resolve, reject) => {
        ends.push(resolve);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      open--;
    }
    return chatAnswer({ yes: 0.5, no: 0.5 });
  });
  const app = newApp({ config: configFor("logprobs"), fetch: upstream.fetch });
  const leaving = new AbortController();
  const body = JSON.stringify({ model: "judge", input: "x", questions: Array(100).fill(PREDICATE) });
  const request = new Request(`http://gateway${PATH}`, { method: "POST", body, signal: leaving.signal });
  const answering = app.fetch(request);
  await until(() => ends.length === 8);
  for (const end of ends.splice(0, 4)) end();
  await until(() => ends.length === 8);
  leaving.abort();
  assertEquals((await answering).status, 499);
  assertEquals([most, upstream.asked.length], [8, 13]);
  assert(upstream.asked.every(({ signal }, index) => index < 5 || signal.aborted));
});

Deno.test("decisions: the questions of all requests respect the limit of their upstream", async () => {
  let open = 0;
  let most = 0;
  const upstream = fakeUpstream(async () => {
    most = Math.max(most, ++open);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    open--;
    return chatAnswer({ yes: 0.5, no: 0.5 });
  });
  for (const running of [1, 3]) {
    const app = newApp({ config: configFor("logprobs", { concurrency: { running } }), fetch: upstream.fetch });
    const asked = Array.from({ length: 4 }, async () => {
      const response = await app.post(PATH, { model: "judge", input: "x", questions: Array(20).fill(PREDICATE) });
      return (await response.json()).answers.length;
    });
    assertEquals(await Promise.all(asked), [20, 20, 20, 20]);
    assertEquals([most, upstream.asked.length], [running, 80]);
    upstream.asked.length = 0;
  }
});

Deno.test("decisions: many questions leave turns and half of the queue to other requests of their key", async () => {
  const ends: (() => void)[] = [];
  const upstream = fakeUpstream(async ({ body }) => {
    // The first one shows that the server reports log probabilities.
    if (upstream.asked.length > 1) await new Promise<void>((resolve) => ends.push(resolve));
    return body.includes("logprobs") ? chatAnswer({ yes: 0.5, no: 0.5 }) : chosen("a");
  });
  const app = newApp({
    config: configFor("logprobs", { concurrency: { running: 2, waiting: 4, waitMs: 60_000 } }),
    fetch: upstream.fetch,
  });
  const deciding = app.post(PATH, { model: "judge", input: "x", questions: Array(60).fill(PREDICATE) });
  await until(() => ends.length === 2);
  const chats = [1, 2].map(async () => {
    const { status } = await app.post(CHAT, { ...chatBody(), model: "judge" });
    return { status, asked: upstream.asked.length };
  });
  for (let answered = 0; answered < 61; answered++) {
    await until(() => ends.length > 0);
    ends.shift()!();
  }
  const asked = (await Promise.all(chats)).map((chat) => (assertEquals(chat.status, 200), chat.asked));
  assert(Math.max(...asked) < 20, `${asked} calls came first`);
  assertEquals((await deciding).status, 200);
});

Deno.test("decisions: one failed question fails the request with the upstream's error, and the others are billed", async () => {
  const upstream = fakeUpstream(({ body }) =>
    body.includes("Which language")
      ? Response.json({ error: { message: "too busy" } }, { status: 429 })
      : SERVERS.schema({ body })
  );
  // One after the other, so that the first one is answered and the last one is not asked.
  const { lanes, ...config } = configFor("schema", { concurrency: { running: 1 } });
  const judge = { ...lanes!.oss!.models!.judge!, price: { input: 100_000, output: 0 } };
  const app = newApp({ config: { ...config, lanes: { oss: { models: { judge } } } }, fetch: upstream.fetch });
  const response = await app.post(PATH, CLIENTS.list!.body);
  assertEquals([response.status, (await response.json()).error.type], [429, "rate_limit_error"]);
  assertEquals([upstream.asked.length, app.logs[0]!.cost], [2, "0.9"]);
});

Deno.test("decisions: strict requests are refused where nothing would be measured", async () => {
  for (const [setup, status] of [["logprobs", 200], ["list", 200], ["schema", 400], ["tool", 400]] as const) {
    const app = newApp({ config: configFor(setup), fetch: fakeUpstream(SERVERS[setup]).fetch });
    const response = await app.post(PATH, CLIENTS.list!.body, { "x-laneway-strict": "true" });
    assertEquals(response.status, status, await response.text());
  }
});

Deno.test("decisions: each shape has its own errors", async () => {
  const app = newApp({ config: configFor("list") });
  const systemone = { model: "judge", state: "x", questions: { one: { type: "choice", criteria: { a: 1 } } } };
  for (const path of [PATH, "/oss/v1/systemone"]) {
    const response = await app.post(path, systemone);
    const { detail: [mistake] } = await response.json();
    assertEquals([response.status, mistake.loc], [422, ["body", "questions", "one", "criteria", "a"]]);
    assertStringIncludes(mistake.msg, "questions.one.criteria.a");
  }
  const lost = await app.post("/oss/v1/systemone", {
    ...systemone,
    model: "other",
    questions: { one: { type: "noul", instructions: "?" } },
  });
  assertEquals([lost.status, typeof (await lost.json()).detail], [404, "string"]);
  for (const name of ["__proto__", "constructor"]) {
    const body =
      `{"model":"judge","state":"x","questions":{"a":{"type":"noul","instructions":"?"},"${name}":{"type":"noul"}}}`;
    const response = await app.fetch(new Request("http://gateway/oss/v1/systemone", { method: "POST", body }));
    assertEquals(response.status, 422);
    await response.body?.cancel();
  }
  const twice = { id: "a", type: "yes_no", question: "?" };
  const listed = await app.post(PATH, { model: "judge", input: "x", questions: [twice, twice] });
  assertEquals([listed.status, (await listed.json()).error.param], [400, "questions[1]"]);
  const lone = { type: "function_call_output", call_id: "c", output: "x" };
  const unpaired = await app.post(PATH, { model: "judge", input: [lone], questions: [PREDICATE] });
  assertEquals([unpaired.status, (await unpaired.json()).error.param], [400, "input[0].call_id"]);
});

Deno.test("decisions: a conversation becomes one text with who spoke, and images go along", async () => {
  const upstream = fakeUpstream(() => chatAnswer({ yes: 0.5, no: 0.5 }));
  const app = newApp({ config: configFor("logprobs"), fetch: upstream.fetch });
  const response = await app.post(PATH, {
    model: "judge",
    input: [
      { role: "developer", content: "Be fair." },
      {
        role: "user",
        content: [{ type: "input_json", data: { a: 1 } }, {
          type: "input_image",
          image_url: "data:image/png;base64,aGk=",
        }],
      },
      { type: "function_call", call_id: "c", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "c", output: "It rains." },
      { role: "assistant", content: [{ type: "output_text", text: "Wet." }] },
    ],
    questions: [PREDICATE],
  });
  assertEquals(response.headers.get("x-laneway-notes"), "joined turns to one text");
  await response.body?.cancel();
  const { messages } = JSON.parse(upstream.asked[0]!.body);
  assertEquals(messages, [{
    role: "user",
    content: [
      {
        type: "text",
        text:
          'developer: Be fair.\n\nuser: {"a":1}\n\ncall c of look: {}\n\nresult of call c: It rains.\n\nassistant: Wet.',
      },
      { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
      { type: "text", text: 'Is it?\nyes: true\nno: false\n\nReply with only "yes" or "no".' },
    ],
  }]);
});

Deno.test("decisions: redacted values are found in the answer, natively and over a chat model", async () => {
  for (const decisions of ["systemone", "list", "logprobs"] as const) {
    const { app, received } = newRedactionRig({
      config: {
        ...configFor(decisions),
        upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", decisions } },
      },
      answers({ body }) {
        if (decisions === "logprobs") return chatAnswer({ A: 0.25, B: 0.75 });
        // deno-lint-ignore no-explicit-any -- a request of either shape
        const { questions } = body as any;
        if (decisions === "list") {
          const [{ value: first }, { value: second }] = questions[0].choices;
          return Response.json({ answers: [choice([share(first, 0.25), share(second, 0.75)], second)] });
        }
        const [[key, { criteria }]] = Object.entries<JsonObject>(questions) as [[string, { criteria: JsonObject }]];
        const [first, second] = Object.keys(criteria);
        const probabilities = { [first!]: 0.25, [second!]: 0.75 };
        return Response.json({ answers: { [key]: { type: "choice", choice: second, probabilities } } });
      },
    });
    const choices = [{ value: "nobody" }, { value: PASSWORD }];
    const response = await app.post(PATH, { model: "judge", input: SAID, questions: [{ ...CHOICE, choices }] });
    const { answers } = await response.json();
    assertEquals(answers[0].choice, PASSWORD);
    assertReceivedClean(received);
  }
});
