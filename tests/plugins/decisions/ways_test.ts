import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { newApp } from "../../support/app.ts";
import {
  askedIn,
  chatAnswer,
  chosen,
  CLIENTS,
  configFor,
  PATHS,
  SERVERS,
  type Setup,
  SHARES,
} from "../../support/decisions.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";

const MEASURED = Object.values(SHARES);
const CHOSEN = MEASURED.map((shares) => shares.map((share) => share === Math.max(...shares) ? 1 : 0));

for (const [setup, answer] of Object.entries(SERVERS)) {
  const way = setup as keyof typeof SERVERS;
  const isChosen = way === "schema" || way === "tool";
  for (const [client, { path, body, read }] of Object.entries(CLIENTS)) {
    Deno.test(`decisions: a client of ${client} gets the answers of a server asked by ${way}`, async () => {
      const upstream = fakeUpstream(answer);
      const app = newApp({ config: configFor(way), fetch: upstream.fetch });
      const response = await app.post(path, body);
      const received = await response.json();
      assertEquals(response.status, 200, JSON.stringify(received));
      const { shares, choice, score } = read(received);
      const expected = isChosen ? CHOSEN : MEASURED;
      for (const [at, one] of expected.entries()) {
        for (const [index, share] of one.entries()) assertAlmostEquals(shares[at]![index]!, share, 1e-9);
      }
      assertEquals(choice, "German");
      assertAlmostEquals(score as number, isChosen ? 0 : 0.75, 1e-9);
      for (const { url } of upstream.asked) assertEquals(url.pathname, PATHS[way]);
      assertEquals(response.headers.get("x-laneway-notes")?.includes("not measured") ?? false, isChosen);
      const { usage } = app.logs[0]!;
      assertEquals([usage?.inputTokens, usage?.outputTokens], [27, 3]);
    });
  }
}

async function asked(setup: Setup | undefined, body = CLIENTS.list!.body) {
  const upstream = fakeUpstream(SERVERS[(setup ?? "logprobs") as keyof typeof SERVERS]);
  const app = newApp({ config: configFor(setup), fetch: upstream.fetch });
  await (await app.post("/oss/v1/decisions", body)).body?.cancel();
  return upstream.asked.map(({ body }) => JSON.parse(body));
}

Deno.test("decisions: a chat model is asked one question at a time, for one token with its alternatives", async () => {
  const bodies = await asked(undefined);
  assertEquals(bodies.length, 3);
  for (const { max_tokens, temperature, logprobs, top_logprobs, messages } of bodies) {
    assertEquals([max_tokens, temperature, logprobs, top_logprobs], [1, 0, true, 20]);
    assertEquals(messages.length, 1);
    assert(messages[0].content.startsWith("Buy now!\n\n"));
  }
  const [, lang] = bodies;
  assertStringIncludes(lang.messages[0].content, "Which language?\nA: French\nB: German - as in Bonn\n");
});

Deno.test("decisions: `explain` says which way is taken, and asks nobody", async () => {
  const words = { list: "natively", logprobs: "log probabilities", schema: "schema", tool: "tool" };
  for (const [setup, word] of Object.entries(words)) {
    const upstream = fakeUpstream();
    const app = newApp({ config: configFor(setup as Setup), fetch: upstream.fetch });
    const response = await app.post("/oss/v1/decisions", CLIENTS.list!.body, { "x-laneway-explain": "true" });
    const { targets: [target] } = await response.json();
    assertEquals([target.way, target.requests.length], [word, setup === "list" ? 1 : 3]);
    assertEquals(upstream.asked, []);
  }
});

Deno.test("decisions: a server without log probabilities is asked by a schema, one without that by a tool, and both are remembered", async () => {
  const upstream = fakeUpstream(({ body }) => {
    const { logprobs, response_format } = JSON.parse(body);
    if (logprobs) return Response.json({ error: { message: "logprobs are not supported" } }, { status: 400 });
    if (response_format) {
      return Response.json({ error: { message: "response_format is not supported" } }, { status: 400 });
    }
    return SERVERS.tool({ body });
  });
  const app = newApp({ config: configFor("logprobs"), fetch: upstream.fetch });
  const ask = async () => {
    const response = await app.post("/oss/v1/decisions", CLIENTS.list!.body);
    assertEquals(CLIENTS.list!.read(await response.json()).shares.map((one) => one.length), [2, 2, 3]);
    assertEquals(response.status, 200);
  };
  await ask();
  const before = upstream.asked.length;
  assert(before <= 8, `${before} calls`);
  await ask();
  assertEquals(upstream.asked.slice(before).map(({ body }) => "tools" in JSON.parse(body)), [true, true, true]);
  const explained = await app.post("/oss/v1/decisions", CLIENTS.list!.body, { "x-laneway-explain": "true" });
  const { targets: [target] } = await explained.json();
  assertEquals(target.way, "tool");
});

Deno.test("decisions: one question shows that a server ignores `logprobs`, and its tokens count", async () => {
  const upstream = fakeUpstream(({ body }) => SERVERS.schema({ body }));
  const app = newApp({ config: configFor("logprobs"), fetch: upstream.fetch });
  const response = await app.post("/oss/v1/decisions", CLIENTS.list!.body);
  assertEquals((await response.json()).usage.input_tokens, 36);
  assertEquals(upstream.asked.map(({ body }) => "logprobs" in JSON.parse(body)), [true, false, false, false]);
});

Deno.test("decisions: a question without a label among the likeliest tokens is asked by a schema, alone", async () => {
  const upstream = fakeUpstream(({ body }) => {
    const { logprobs } = JSON.parse(body);
    if (!logprobs) return SERVERS.schema({ body });
    return body.includes("Which language") ? chatAnswer({ "<think>": 0.9, "\n": 0.1 }) : SERVERS.logprobs({ body });
  });
  const app = newApp({ config: configFor("logprobs"), fetch: upstream.fetch });
  const response = await app.post("/oss/v1/decisions", CLIENTS.list!.body);
  assertStringIncludes(response.headers.get("x-laneway-notes")!, "not measured");
  const { shares } = CLIENTS.list!.read(await response.json());
  assertAlmostEquals(shares[0]![0]!, 0.75);
  assertEquals(shares[1], [0, 1]);
  assertEquals(upstream.asked.length, 4);
});

Deno.test("decisions: a server whose own decisions lack the model is asked as a chat model", async () => {
  for (const [status, message] of [[501, "no decisions for this model"], [404, "Not Found"]] as const) {
    const upstream = fakeUpstream(({ url, body }) =>
      url.pathname.endsWith("/decisions")
        ? Response.json({ error: { message } }, { status })
        : SERVERS.logprobs({ body })
    );
    const app = newApp({ config: configFor("list"), fetch: upstream.fetch });
    for (let time = 0; time < 2; time++) {
      const response = await app.post("/oss/v1/decisions", CLIENTS.list!.body);
      assertAlmostEquals((await response.json()).answers[0].probability, 0.75);
    }
    assertEquals(upstream.asked.filter(({ url }) => url.pathname.endsWith("/decisions")).length, 1);
  }
});

Deno.test("decisions: what the model refuses is a refusal, and no answer where the shape has none", async () => {
  const refusal = { role: "assistant", content: null, refusal: "No." };
  const upstream = fakeUpstream(({ body }) =>
    body.includes("Is it spam")
      ? Response.json({ choices: [{ index: 0, message: refusal, finish_reason: "stop" }], usage: {} })
      : SERVERS.logprobs({ body })
  );
  for (const [name, { path, body }] of Object.entries(CLIENTS)) {
    const app = newApp({ config: configFor("logprobs"), fetch: upstream.fetch });
    const response = await app.post(path, body);
    const { answers } = await response.json();
    if (name === "list") assertEquals(answers[0], { type: "refusal", name: "spam" });
    else {
      assertEquals(Object.keys(answers), ["lang", "anger"]);
      assertStringIncludes(response.headers.get("x-laneway-notes")!, "question 1 was refused");
    }
  }
});

Deno.test("decisions: the text `true` and the boolean are two values on every way", async () => {
  const choices = [{ value: "true" }, { value: true }, { value: false }];
  const body = { model: "judge", input: "x", questions: [{ type: "choice", instructions: "Which?", choices }] };
  const upstream = fakeUpstream(() => chatAnswer({ A: 0.1, B: 0.6, C: 0.3 }));
  const app = newApp({ config: configFor("logprobs"), fetch: upstream.fetch });
  const { answers: [answer] } = await (await app.post("/oss/v1/decisions", body)).json();
  assertEquals([answer.choice, answer.name], [true, null]);
  assertEquals(answer.probabilities.map(({ value }: { value: unknown }) => value), ["true", true, false]);
  const [native] = await asked("systemone", body);
  assertEquals(native.questions.q1.criteria, { "true": null, "true (boolean)": null, "false": null });
});

Deno.test("decisions: labels beyond the letters have two, and improbable ones are asked for by a schema", async () => {
  const choices = Array.from({ length: 255 }, (_, at) => ({ value: `v${at}` }));
  const body = { model: "judge", input: "x", questions: [{ type: "choice", instructions: "Which?", choices }] };
  const upstream = fakeUpstream(
    () => chatAnswer({ AA: 0.25, JU: 0.75 }),
    () => chatAnswer({ A: 0.7, JU: 0.2, AA: 0.1 }),
    () => chosen("JT"),
  );
  const app = newApp({ config: configFor("logprobs"), fetch: upstream.fetch });
  const first = await (await app.post("/oss/v1/decisions", body)).json();
  assertEquals([first.answers[0].choice, first.answers[0].confidence], ["v254", 0.75]);
  const second = await (await app.post("/oss/v1/decisions", body)).json();
  assertEquals([second.answers[0].choice, second.answers[0].confidence], ["v253", 1]);
});

Deno.test("decisions: a server that reports five alternatives is asked for five from then on", async () => {
  const upstream = fakeUpstream(({ body }) => {
    if (JSON.parse(body).top_logprobs <= 5) return SERVERS.logprobs({ body });
    return Response.json({ error: { message: "top_logprobs: must be between 0 and 5" } }, { status: 400 });
  });
  const app = newApp({ config: configFor("logprobs"), fetch: upstream.fetch });
  for (let time = 0; time < 2; time++) {
    const response = await app.post("/oss/v1/decisions", CLIENTS.list!.body);
    assertEquals(response.headers.get("x-laneway-notes"), "the possible answers had 0.90 of all probability at least");
    assertAlmostEquals((await response.json()).answers[0].probability, 0.75);
  }
  const asked = upstream.asked.map(({ body }) => JSON.parse(body).top_logprobs);
  assertEquals(asked, [20, 5, 5, 5, 5, 5, 5]);
});

Deno.test("decisions: servers of other conversations choose by a schema, and a target that is off is passed over", async () => {
  const answers: Record<string, (body: string) => Response> = {
    messages: (body) =>
      Response.json({
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: [{
          type: "text",
          text: JSON.stringify({ answer: { spam: "yes", lang: "B", anger: "0" }[askedIn(body)] }),
        }],
        stop_reason: "end_turn",
        usage: { input_tokens: 9, output_tokens: 1 },
      }),
    responses: (body) =>
      Response.json({
        id: "resp_1",
        object: "response",
        status: "completed",
        output: [{
          type: "message",
          id: "msg_1",
          role: "assistant",
          status: "completed",
          content: [{
            type: "output_text",
            text: JSON.stringify({ answer: { spam: "yes", lang: "B", anger: "0" }[askedIn(body)] }),
            annotations: [],
          }],
        }],
        usage: { input_tokens: 9, output_tokens: 1, total_tokens: 10 },
      }),
  };
  for (const [driver, answer] of Object.entries(answers)) {
    const upstream = fakeUpstream(({ body }) => answer(body));
    const app = newApp({
      config: {
        upstreams: {
          off: { driver: "chat", baseUrl: "http://off.test/v1", decisions: "off" },
          fake: { driver, baseUrl: "http://upstream.test/v1" },
        },
        lanes: {
          oss: {
            models: {
              judge: { task: "chat", targets: [{ upstream: "off", model: "m" }, { upstream: "fake", model: "m" }] },
            },
          },
        },
      },
      fetch: upstream.fetch,
    });
    const response = await app.post("/oss/v1/decisions", CLIENTS.list!.body);
    const answered = await response.json();
    assertEquals(response.status, 200, JSON.stringify(answered));
    assertEquals(CLIENTS.list!.read(answered).shares, CHOSEN);
    assertEquals(upstream.asked.map(({ url }) => url.hostname), Array(3).fill("upstream.test"));
  }
});
