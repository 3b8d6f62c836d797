/** Redaction of everything that models are asked for besides a turn, and of turns that are asked again. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import {
  type Answering,
  assertClean,
  DOORS,
  echo,
  EMAIL,
  HELD,
  newRedactionRig,
  PASSWORD,
  readText,
  SAID,
  textsIn,
  written,
} from "../support/redaction_rig.ts";
import { CHAT, MESSAGES, RESPONSES } from "../support/wires.ts";

const { chat, messages, responses } = DOORS;
const NAMED = `The password is ${PASSWORD}`;

/** The password without what shows it to be one. */
const naming: Answering = ({ text }) => [{ type: "text", text: `The password is ${text.match(/redacted-secret-\w+/)![0]}` }];

Deno.test("redaction: relayed choices", async () => {
  for (const stream of [false, true]) {
    const { app, received } = newRedactionRig({
      answers: async ({ text }) => {
        const [mail] = text.match(HELD)!;
        const logprobs = { content: [{ token: "redacted", logprob: -1, bytes: [114], top_logprobs: [] }], refusal: null };
        const choice = (index: number) => ({ index, message: { role: "assistant", content: `${index} ${mail}` }, logprobs, finish_reason: "stop" });
        if (!stream) return Response.json({ id: "1", object: "chat.completion", created: 1, model: "m", choices: [choice(0), choice(1)] });
        const frames = [...mail!].flatMap((content) =>
          [0, 1].map((index) => ({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index, delta: { content }, logprobs, finish_reason: null }] }))
        );
        const end = [0, 1].map((index) => ({ id: "1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index, delta: {}, finish_reason: "stop" }] }));
        return await Promise.resolve(new Response([...frames, ...end].map((one) => `data: ${JSON.stringify(one)}\n\n`).join("") + "data: [DONE]\n\n", { headers: { "content-type": "text/event-stream" } }));
      },
    });
    const response = await app.post(chat!.path(stream), chat!.body(SAID, stream, { n: 2, logprobs: true }));
    const text = await response.text();
    assertEquals(response.status, 200, text);
    assertClean(JSON.stringify(received), "relay");
    if (!stream) assertEquals(text.split(EMAIL).length, 3, text);
    else {
      const texts = ["", ""];
      for (const line of text.split("\n").filter((one) => one.startsWith("data: {"))) {
        for (const { index, delta } of JSON.parse(line.slice(6)).choices) texts[index] += delta.content ?? "";
      }
      assertEquals(texts, [EMAIL, EMAIL]);
    }
    assertClean(JSON.stringify(app.logs), "log");
  }
});

Deno.test("redaction: countTokens", async () => {
  const { app, received } = newRedactionRig({ wire: MESSAGES, answers: () => Response.json({ input_tokens: 7 }) });
  const response = await app.post("/oss/v1/messages/count_tokens", messages!.body(SAID, false));
  assertEquals(response.status, 200);
  console.log(await response.text(), received.map(({ path, text }) => path + text));
  assertClean(JSON.stringify(received), "count");
});

const OTHERS = {
  upstreams: {
    fake: { driver: "chat", baseUrl: "http://upstream.test/v1" },
    vectors: { driver: "embeddings", baseUrl: "http://upstream.test/v1" },
    ranks: { driver: "rerank", baseUrl: "http://upstream.test/v1" },
    audio: { driver: "audio", baseUrl: "http://upstream.test/v1" },
  },
  lanes: {
    oss: {
      models: {
        vectors: { task: "embedding", targets: [{ upstream: "vectors", model: "org/v" }] },
        ranks: { task: "rerank", targets: [{ upstream: "ranks", model: "org/r" }] },
        voice: { task: "speech", targets: [{ upstream: "audio", model: "org/s" }] },
        ear: { task: "transcription", targets: [{ upstream: "audio", model: "org/t" }] },
      },
    },
  },
  console: { record: {} },
};

Deno.test("redaction: vectors, rankings, speech", async () => {
  const { app, received } = newRedactionRig({
    config: OTHERS,
    answers: ({ path, body }) => {
      if (path.endsWith("embeddings")) return Response.json({ data: (body.input as string[]).map((_, index) => ({ index, embedding: [0.5], object: "embedding" })), model: "m", usage: { prompt_tokens: 1, total_tokens: 1 } });
      if (path.includes("rerank")) return Response.json({ results: [{ index: 0, relevance_score: 0.5, document: { text: (body.documents as string[])[0] } }, { index: 1, relevance_score: 0.2 }] });
      return new Response(new Uint8Array(600).fill(1), { headers: { "content-type": "audio/mpeg" } });
    },
  });
  for (
    const [path, body] of [
      ["/oss/v1/embeddings", { model: "vectors", input: [SAID, NAMED], user: EMAIL }],
      ["/oss/v1/rerank", { model: "ranks", query: SAID, documents: [SAID, NAMED], return_documents: true }],
      ["/oss/v2/rerank", { model: "ranks", query: SAID, documents: [SAID, NAMED] }],
      ["/oss/v1/audio/speech", { model: "voice", input: SAID, voice: "alloy", instructions: NAMED }],
    ] as const
  ) {
    const response = await app.post(path, body);
    const text = await response.text();
    console.log(path, response.status, response.headers.get("x-laneway-notes"), text.slice(0, 300));
    const strict = await app.post(path, body, { "x-laneway-strict": "true" });
    console.log("strict", strict.status, await strict.text());
    const records = await (await app.get("/console/api/records")).json();
    for (const { id } of records.data) assertClean(await (await app.get(`/console/api/record?id=${id}`)).text(), "capture");
  }
  assertClean(JSON.stringify(received), "others");
});

Deno.test("redaction: transcription", async () => {
  for (const stream of ["false", "true"]) {
    const { app, received } = newRedactionRig({
      config: OTHERS,
      redact: { unreadable: ["audio"] },
      answers: ({ text }) => {
        const held = text.match(HELD)!.join(" ");
        return stream === "true" ? new Response([...held].map((delta) => `data: ${JSON.stringify({ type: "transcript.text.delta", delta })}\n\n`).join("") + `data: ${JSON.stringify({ type: "transcript.text.done", text: held })}\n\n`, { headers: { "content-type": "text/event-stream" } }) : Response.json({ text: held });
      },
    });
    const form = new FormData();
    form.set("file", new File([new Uint8Array([0xff, 0xfb, 1, 2])], `${EMAIL}.mp3`, { type: "audio/mpeg" }));
    form.set("model", "ear");
    form.set("prompt", SAID);
    form.set("stream", stream);
    const response = await app.fetch(new Request("http://gateway/oss/v1/audio/transcriptions", { method: "POST", body: form }));
    const text = await response.text();
    assertClean(JSON.stringify(received), "transcription");
    const records = await (await app.get("/console/api/records")).json();
    for (const { id } of records.data) assertClean(await (await app.get(`/console/api/record?id=${id}`)).text(), "capture");
  }
});

Deno.test("redaction: stored turns", async () => {
  for (const stream of [false, true]) {
    const { app, received } = newRedactionRig({ answers: naming, config: { console: { record: {} } } });
    const first = await app.post(responses!.path(stream), responses!.body(SAID, stream, { store: true }));
    const text = await first.text();
    assertEquals(readText(responses!, text, stream), NAMED);
    const id = /resp_\w+/.exec(text)![0];
    const stored = await (await app.get(`/oss/v1/responses/${id}`)).text();
    assertStringIncludes(stored, NAMED);
    assertStringIncludes(await (await app.get(`/oss/v1/responses/${id}/input_items`)).text(), SAID);
    const next = await app.post(responses!.path(stream), responses!.body(`Is ${PASSWORD} good?`, stream, { previous_response_id: id }));
    assertEquals(readText(responses!, await next.text(), stream), NAMED);
    const [one, two] = received.map(({ body }) => body.messages as JsonObject[]);
    assertEquals(two!.slice(0, one!.length), one);
    assertEquals(two!.length, one!.length + 2);
    assertClean(JSON.stringify(received), "stored");
    const records = await (await app.get("/console/api/records")).json();
    for (const { id } of records.data) assertClean(await (await app.get(`/console/api/record?id=${id}`)).text(), "capture");
  }
});

Deno.test("redaction: background", async () => {
  for (const stream of [false, true]) {
    const { app, received } = newRedactionRig({ answers: naming, config: { console: { record: {} } } });
    const first = await app.post(responses!.path(stream), responses!.body(SAID, stream, { background: true, store: true }));
    const text = await first.text();
    const id = /resp_\w+/.exec(text)![0];
    await app.settled();
    const stored = await (await app.get(`/oss/v1/responses/${id}`)).text();
    assertStringIncludes(stored, NAMED);
    assertClean(JSON.stringify(received), "stored");
    const records = await (await app.get("/console/api/records")).json();
    for (const { id } of records.data) assertClean(await (await app.get(`/console/api/record?id=${id}`)).text(), "capture");
    assertClean(JSON.stringify(app.logs), "logs");
  }
});

Deno.test("redaction: conversations", async () => {
  const { app, received } = newRedactionRig({ answers: naming, config: { console: { record: {} } } });
  const made = await (await app.post("/oss/v1/conversations", { metadata: { who: EMAIL }, items: [{ type: "message", role: "user", content: SAID }] })).json();
  console.log(made);
  const turn = await (await app.post(responses!.path(false), responses!.body(`Is ${PASSWORD} good?`, false, { conversation: made.id }))).text();
  assertEquals(readText(responses!, turn, false), NAMED);
  assertStringIncludes(await (await app.get(`/oss/v1/conversations/${made.id}/items`)).text(), NAMED);
  assertClean(JSON.stringify(received), "stored");
  const records = await (await app.get("/console/api/records")).json();
  for (const { id } of records.data) assertClean(await (await app.get(`/console/api/record?id=${id}`)).text(), "capture");
});

Deno.test("redaction: compaction", async () => {
  const { app, received } = newRedactionRig({ answers: naming });
  const compacted = await (await app.post("/oss/v1/responses/compact", { model: "model", input: [{ role: "user", content: SAID }, { role: "assistant", content: "ok" }] })).json();
  console.log(JSON.stringify(compacted));
  const next = await app.post(responses!.path(false), { model: "model", input: [...compacted.output, { role: "user", content: `PASSWORD=${PASSWORD}` }] });
  console.log(await next.text(), received.map(({ text }) => text));
  assertClean(JSON.stringify(received), "compaction");
});

const SCHEMA = { type: "object", properties: { mail: { type: "string", const: EMAIL }, pass: { type: "string" } }, required: ["mail", "pass"], additionalProperties: false };
for (const stream of [false, true]) {
  Deno.test(`redaction: structured ${stream}`, async () => {
    for (const inPrompt of [false, true]) {
      const { app, received } = newRedactionRig({
        config: { console: { record: {} } , ...inPrompt && { upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", structuredOutput: "instruct" } } } },
        answers: ({ text }, round) => {
          const [mail] = text.match(/redacted-email-\w+@mail.invalid/)!;
          const [secret] = text.match(/redacted-secret-\w+/)!;
          return [{ type: "text", text: round === 0 ? `no JSON but ${mail} ${secret}` : round === 1 ? JSON.stringify({ mail, pass: secret, [secret!]: 1 }) : JSON.stringify({ mail, pass: secret }) }];
        },
      });
      for (let i = 0; i < 2; i++) {
        const response = await app.post(chat!.path(stream), chat!.body(SAID, stream, { response_format: { type: "json_schema", json_schema: { name: "x", schema: SCHEMA } } }));
        console.log(inPrompt, response.status, await response.text());
      }
      assertClean(JSON.stringify(received), "structured");
      assertClean(JSON.stringify(app.logs.map(({cause, ...l}) => ({...l, cause: String(cause)}))), "log");
      const records = await (await app.get("/console/api/records")).json();
      for (const { id } of records.data) assertClean(await (await app.get(`/console/api/record?id=${id}`)).text(), "capture");
    }
  });
}

Deno.test("redaction: explain", async () => {
  const { app, received } = newRedactionRig();
  const response = await app.post(chat!.path(false), chat!.body(SAID, false), { "x-laneway-explain": "true" });
  console.log(await response.text());
  assertEquals(received, []);
});

Deno.test("redaction: lookalikes", async () => {
  for (const stream of [false, true]) {
    const first = newRedactionRig();
    await (await first.app.post(chat!.path(false), chat!.body(SAID, false))).text();
    const like = `Is REDACTED-${"SECRET-abcdfghijklmnopq"} or redacted-email-abcdfghijklmnopq@mail.invalid ${EMAIL} or ${first.received[0]!.text.match(HELD)!.join(" ")}`;
    const response = await first.app.post(chat!.path(stream), chat!.body(like, stream));
    assertEquals(readText(chat!, await response.text(), stream), `You said: ${like}!`);
    console.log(first.received.at(-1)!.text);
  }
});
