/** Redaction of everything that models are asked for besides a turn, and of turns that are stored or asked again. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { png } from "../support/fake_hub.ts";
import {
  type Answering,
  assertClean,
  assertReceivedClean,
  assertRecordsClean,
  DOORS,
  echo,
  EMAIL,
  HELD,
  newRedactionRig,
  PASSWORD,
  readText,
  RECORD,
  SAID,
} from "../support/redaction_rig.ts";

const { chat, responses } = DOORS;
const NAMED = `The password is ${PASSWORD}`;
/** A question without anything that shows the password to be one. */
const ASKED = `Is ${PASSWORD} good?`;

/** Names the password, without what shows it to be one. */
const naming: Answering = ({ text }) => [{
  type: "text",
  text: `The password is ${/redacted-secret-\w{16}/.exec(text)![0]}`,
}];

const sse = (frames: readonly object[], end = "") =>
  new Response(frames.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("") + end, {
    headers: { "content-type": "text/event-stream" },
  });

Deno.test("redaction: relayed choices, whole and streamed", async () => {
  const facts = { id: "1", created: 1, model: "m" };
  const logprobs = { content: [{ token: "redacted", logprob: -1, bytes: [114], top_logprobs: [] }], refusal: null };
  const answers: Answering = ({ text, body }) => {
    const [mail] = text.match(HELD)!;
    const ends = [0, 1].map((index) => ({ index, finish_reason: "stop", logprobs }));
    if (body.stream !== true) {
      const choices = ends.map((end) => ({ ...end, message: { role: "assistant", content: mail } }));
      return Response.json({ ...facts, object: "chat.completion", choices });
    }
    const deltas = [...mail!].flatMap((content) => [0, 1].map((index) => ({ index, delta: { content }, logprobs })));
    const choices = [...deltas, ...ends.map((end) => ({ ...end, delta: {} }))];
    const frames = choices.map((one) => ({ ...facts, object: "chat.completion.chunk", choices: [one] }));
    return sse(frames, "data: [DONE]\n\n");
  };
  for (const stream of [false, true]) {
    const { app, received } = newRedactionRig({ answers, config: RECORD });
    const asked = chat!.body(SAID, stream, { n: 2, logprobs: true });
    const text = await (await app.post(chat!.path(stream), asked)).text();
    const texts = ["", ""];
    const frames = stream
      ? text.split("\n").filter((one) => one.startsWith("data: {")).map((one) => one.slice(6))
      : [text];
    for (const frame of frames) {
      for (const { index, delta, message } of JSON.parse(frame).choices) {
        texts[index] += (delta ?? message).content ?? "";
      }
    }
    assertEquals(texts, [EMAIL, EMAIL]);
    assertReceivedClean(received);
    await assertRecordsClean(app);
  }
});

const at = (upstream: string) => [{ upstream, model: "org/model" }];
const baseUrl = "http://upstream.test/v1";
const OTHERS = {
  ...RECORD,
  upstreams: {
    vectors: { driver: "embeddings", baseUrl },
    ranks: { driver: "rerank", baseUrl },
    audio: { driver: "audio", baseUrl },
    pictures: { driver: "images", baseUrl },
  },
  lanes: {
    oss: {
      models: {
        vectors: { task: "embedding", targets: at("vectors") },
        ranks: { task: "rerank", targets: at("ranks") },
        voice: { task: "speech", targets: at("audio") },
        brush: { task: "image", targets: at("pictures") },
        ear: { task: "transcription", targets: at("audio") },
      },
    },
  },
};

Deno.test("redaction: vectors, rankings, speech and pictures are made of placeholders, which a note says", async () => {
  const answers: Answering = ({ path }) => {
    if (path.endsWith("embeddings")) {
      const data = [0, 1].map((index) => ({ object: "embedding", index, embedding: [0.5] }));
      return Response.json({ data, model: "m", usage: { prompt_tokens: 1, total_tokens: 1 } });
    }
    if (path.endsWith("rerank")) {
      return Response.json({ results: [0, 1].map((index) => ({ index, relevance_score: 0.5 })) });
    }
    if (path.endsWith("generations")) return Response.json({ data: [{ b64_json: png("a").toBase64() }] });
    return new Response(new Uint8Array(600), { headers: { "content-type": "audio/mpeg" } });
  };
  const { app, received } = newRedactionRig({ answers, config: OTHERS });
  const asked: [path: string, body: JsonObject][] = [
    ["/oss/v1/embeddings", { model: "vectors", input: [SAID, NAMED], user: EMAIL }],
    ["/oss/v1/rerank", { model: "ranks", query: SAID, documents: ["a", NAMED], return_documents: true }],
    ["/oss/v1/audio/speech", { model: "voice", input: SAID, voice: "alloy", instructions: NAMED }],
    ["/oss/v1/images/generations", { model: "brush", prompt: SAID, negative_prompt: NAMED }],
  ];
  for (const [path, body] of asked) {
    const response = await app.post(path, body);
    const text = await response.text();
    assertStringIncludes(response.headers.get("x-laneway-notes")!, "redacted 2 texts");
    if (path.endsWith("rerank")) assertStringIncludes(text, NAMED);
    const strict = await app.post(path, body, { "x-laneway-strict": "true" });
    assertEquals([strict.status, received.length], [400, asked.findIndex(([one]) => one === path) + 1]);
    await strict.text();
  }
  assertReceivedClean(received);
  assertEquals(await assertRecordsClean(app), 8);
});

Deno.test("redaction: transcriptions, whole and streamed", async () => {
  for (const stream of [false, true]) {
    const answers: Answering = ({ text }) => {
      const held = text.match(HELD)!.slice(0, 2).join(" ");
      if (!stream) return Response.json({ text: held });
      const deltas = [...held].map((delta) => ({ type: "transcript.text.delta", delta }));
      return sse([...deltas, { type: "transcript.text.done", text: held }]);
    };
    const { app, received } = newRedactionRig({ config: OTHERS, redact: { unreadable: ["audio"] }, answers });
    const body = new FormData();
    body.set("file", new File([new Uint8Array([0xff, 0xfb, 1, 2])], `${EMAIL} a.mp3`, { type: "audio/mpeg" }));
    for (const [name, value] of [["model", "ear"], ["prompt", SAID], ["stream", `${stream}`]]) body.set(name!, value!);
    const response = await app.fetch(
      new Request("http://gateway/oss/v1/audio/transcriptions", { method: "POST", body }),
    );
    const text = await response.text();
    assert(text.includes(EMAIL) && text.includes(PASSWORD) && !text.includes("redacted-"), text);
    assertReceivedClean(received);
    assertEquals(await assertRecordsClean(app), 1);
  }
});

Deno.test("redaction: the store has originals, and the next turn begins with the same bytes", async () => {
  for (const stream of [false, true]) {
    const { app, received } = newRedactionRig({ answers: naming, config: RECORD });
    const ask = async (said: string, more: JsonObject) => {
      const text = await (await app.post(responses!.path(stream), responses!.body(said, stream, more))).text();
      assertEquals(readText(responses!, text, stream), NAMED);
      return /resp_\w+/.exec(text)![0];
    };
    const id = await ask(SAID, {});
    assertStringIncludes(await (await app.get(`/oss/v1/responses/${id}`)).text(), NAMED);
    assertStringIncludes(await (await app.get(`/oss/v1/responses/${id}/input_items`)).text(), SAID);
    await ask(ASKED, { previous_response_id: id });
    const [one, two] = received.map(({ body }) => body.messages as JsonObject[]);
    assertEquals(JSON.stringify(two!.slice(0, one!.length)), JSON.stringify(one));
    assertReceivedClean(received);
    assertEquals(await assertRecordsClean(app), 2);
  }
});

Deno.test("redaction: conversations and answers in the background", async () => {
  const { app, received } = newRedactionRig({ answers: naming, config: RECORD });
  const items = [{ type: "message", role: "user", content: SAID }];
  const { id } = await (await app.post("/oss/v1/conversations", { metadata: { who: EMAIL }, items })).json();
  const ask = async (stream: boolean) => {
    const more = { conversation: id, background: true };
    const text = await (await app.post(responses!.path(stream), responses!.body(ASKED, stream, more))).text();
    await app.settled();
    const [response] = /resp_\w+/.exec(text)!;
    assertStringIncludes(await (await app.get(`/oss/v1/responses/${response}`)).text(), NAMED);
  };
  await ask(false);
  await ask(true);
  assertStringIncludes(await (await app.get(`/oss/v1/conversations/${id}/items`)).text(), NAMED);
  assertReceivedClean(received);
  assertEquals(await assertRecordsClean(app), 3);
});

Deno.test("redaction: a summary has originals, and what follows it placeholders", async () => {
  const { app, received } = newRedactionRig({ answers: naming, config: RECORD });
  const input = [{ role: "user", content: SAID }, { role: "assistant", content: "Done." }];
  const { output } = await (await app.post("/oss/v1/responses/compact", { model: "model", input })).json();
  const next = { model: "model", input: [...output, { role: "user", content: ASKED }] };
  const text = await (await app.post(responses!.path(false), next)).text();
  assertEquals(readText(responses!, text, false), NAMED);
  assertStringIncludes(received[1]!.text, "<summary>");
  assertReceivedClean(received);
  assertEquals(await assertRecordsClean(app), 2);
});

Deno.test("redaction: an answer that is asked for again in words, with what was wrong about it", async () => {
  const answers: Answering = ({ text }, round) => {
    const [mail, secret] = [/redacted-email-\w+@mail\.invalid/, /redacted-secret-\w{16}/].map((one) =>
      one.exec(text)![0]
    );
    const answer = { mail, pass: secret, ...round % 2 === 0 && { [secret!]: 1 } };
    return [{ type: "text", text: JSON.stringify(answer) }];
  };
  const properties = { mail: { const: EMAIL }, pass: { type: "string" } };
  const schema = { type: "object", properties, required: ["mail", "pass"], additionalProperties: false };
  const format = { response_format: { type: "json_schema", json_schema: { name: "it", schema } } };
  const upstreams = { fake: { driver: "chat", baseUrl, structuredOutput: "instruct" } };
  for (const stream of [false, true]) {
    const { app, received } = newRedactionRig({ answers, config: { ...RECORD, upstreams } });
    const text = await (await app.post(chat!.path(stream), chat!.body(SAID, stream, format))).text();
    assertEquals(JSON.parse(readText(chat!, text, stream)), { mail: EMAIL, pass: PASSWORD });
    assertEquals(received.length, 2);
    assertStringIncludes(received[1]!.text, "is not allowed");
    assertReceivedClean(received);
    assertEquals(await assertRecordsClean(app), 1);
  }
});

Deno.test("redaction: another target, and the same one without what it refuses", async () => {
  const config = {
    ...RECORD,
    upstreams: { first: { driver: "chat", baseUrl: "http://first.test/v1" }, second: { driver: "chat", baseUrl } },
    lanes: { oss: { models: { model: { task: "chat", targets: [...at("first"), ...at("second")] } } } },
  };
  const answers: Answering = (asked, round) => {
    if (asked.host === "first.test") return Response.json({ error: { message: asked.text } }, { status: 503 });
    const error = { message: "Unsupported parameter: 'seed'", param: "seed", code: "unsupported_parameter" };
    return asked.body.seed === undefined ? echo(asked, round) : Response.json({ error }, { status: 400 });
  };
  for (const stream of [false, true]) {
    const { app, received } = newRedactionRig({ answers, config });
    const text = await (await app.post(chat!.path(stream), chat!.body(SAID, stream, { seed: 3 }))).text();
    assertEquals(readText(chat!, text, stream), `You said: ${SAID}!`);
    assert(received.length >= 2);
    assertReceivedClean(received);
    assertEquals(await assertRecordsClean(app), 1);
  }
});

Deno.test("redaction: explaining shows what would be sent, and strict requests lose nothing", async () => {
  const { app, received } = newRedactionRig();
  const ask = (header: string) => app.post(chat!.path(false), chat!.body(SAID, false), { [header]: "true" });
  const { targets: [target] } = await (await ask("x-laneway-explain")).json();
  assertClean(JSON.stringify(target.requests), "The explained call");
  assertEquals(target.steps.map(({ step }: { step: string }) => step), ["redact"]);
  assertEquals([target.notes, received], [[], []]);
  const strict = await ask("x-laneway-strict");
  assertEquals(readText(chat!, await strict.text(), false), `You said: ${SAID}!`);
});

Deno.test("redaction: the sandbox is an upstream like any other", async () => {
  const upstreams = { sandbox: { driver: "sandbox" } };
  const lanes = { oss: { models: { model: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] } } } };
  for (const stream of [false, true]) {
    const { app } = newRedactionRig({ config: { ...RECORD, upstreams, lanes } });
    const text = await (await app.post(chat!.path(stream), chat!.body(SAID, stream))).text();
    assertStringIncludes(readText(chat!, text, stream), `"${SAID}"`);
    assertEquals(await assertRecordsClean(app), 1);
  }
});

Deno.test("redaction: completions side by side, whole and streamed, with the gap, and token ids are refused", async () => {
  const coder = { task: "chat", targets: [{ upstream: "texts", model: "Qwen/Qwen2.5-Coder-7B" }] };
  const config = {
    ...RECORD,
    upstreams: { texts: { driver: "chat", baseUrl } },
    lanes: { oss: { models: { coder } } },
  };
  const answers: Answering = ({ text, body }) => {
    const held = text.match(HELD)!.slice(0, 2).join(" ");
    const choices = [0, 1].map((index) => ({ index, text: held, finish_reason: "stop" }));
    if (body.stream !== true) return Response.json({ choices });
    const pieces = [...held].flatMap((text) => [0, 1].map((index) => ({ index, text, finish_reason: null })));
    const ends = choices.map((choice) => ({ ...choice, text: "" }));
    return sse([...pieces, ...ends].map((choice) => ({ choices: [choice] })), "data: [DONE]\n\n");
  };
  for (const stream of [false, true]) {
    const { app, received } = newRedactionRig({ config, answers });
    const asked = { model: "coder", prompt: SAID, suffix: NAMED, n: 2, stream };
    const text = await (await app.post("/oss/v1/completions", asked)).text();
    const frames = stream
      ? text.split("\n").filter((one) => one.startsWith("data: {")).map((one) => one.slice(6))
      : [text];
    const texts = ["", ""];
    for (const frame of frames) for (const { index, text } of JSON.parse(frame).choices) texts[index] += text;
    assertEquals(texts, [`${EMAIL} ${PASSWORD}`, `${EMAIL} ${PASSWORD}`]);
    const refused = await app.post("/oss/v1/completions", { model: "coder", prompt: [1, 2, 3] });
    assertEquals(refused.status, 400);
    assertStringIncludes(await refused.text(), "token ids");
    assertReceivedClean(received);
    assertEquals(await assertRecordsClean(app), 2);
  }
});
