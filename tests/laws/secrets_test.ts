/** No secret reaches a client or the log in what an answer carries: in no field of no answer but the model's own words. */
import { assert, assertEquals, assertGreater, assertStringIncludes } from "@std/assert";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { formatLogLine } from "../../src/observe/log.ts";
import { bodyFor, PATH, WIRES } from "../regressions/support.ts";
import { ANSWER, answerStream, ENDING, frame, word } from "../support/chat.ts";
import { CHAT, chatBody, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { SAMPLE, sampleOf } from "../support/law.ts";
import { answerBytes, type Fixture, isOk, isStream, loadFixtures } from "../support/fixtures.ts";

const SECRET = ENV.UPSTREAM_SECRET!;
const HOUSE = 'house/header-"secret"-9';
const CALLER = "callers-own-token-7f7f";
const OWN = { authorization: `Bearer ${CALLER}` };
/** Whoever's they are. */
const BEARERS = ["eyJhbGciOi.J9-some.token_1", "abcdefghijklmnopqrstuvwxyz"];
const SECRETS = [SECRET, HOUSE, CALLER, ...BEARERS];

const CONFIG: ConfigInput = {
  upstreams: Object.fromEntries(
    [...WIRES, "own" as const].map((name) => [name, {
      driver: name === "own" ? "chat" : name,
      baseUrl: "http://upstream.test/v1",
      secret: name === "own" ? "client" as const : { env: "UPSTREAM_SECRET" },
      headers: { "x-house-key": HOUSE },
      ...(name === "chat" && { providers: { servedBy: "x-provider" } }),
    }]),
  ),
  lanes: {
    oss: {
      models: {
        ...Object.fromEntries(
          [...WIRES, "own"].map((name) => [name, { task: "chat", targets: [{ upstream: name, model: "org/model" }] }]),
        ),
        transcription: { task: "transcription", targets: [{ upstream: "chat", model: "org/model" }] },
        speech: { task: "speech", targets: [{ upstream: "chat", model: "org/model" }] },
      },
    },
  },
};

/** What a proxy that debugs may put beside anything: as a text, inside one, as a name, in JSON inside JSON, in a URL. */
const DEBUG: JsonObject = {
  authorization: `Bearer ${SECRET}`,
  headers: [[`x-house-key: ${HOUSE}`], { token: CALLER }],
  [`seen ${SECRET}`]: true,
  json: JSON.stringify({ headers: { authorization: `bearer ${BEARERS[0]}`, "x-house-key": HOUSE } }),
  url: `https://proxy.test/?key=${encodeURIComponent(HOUSE)}`,
  lower: `/?key=${encodeURIComponent(HOUSE).replaceAll(/%../g, (escape) => escape.toLowerCase())}`,
  text: SECRET,
  content: [{ type: "text", text: `Authorization: Bearer ${BEARERS[1]}` }],
};

/** Arguments that a wire has as an object are the model's words. */
const WORDS = new Set(["arguments", "input", "partial_json"]);
const NAMES = new Set([
  "id",
  "call_id",
  "item_id",
  "model",
  "system_fingerprint",
  "service_tier",
  "title",
  "url",
  "name",
]);
const ENDINGS = new Set(["finish_reason", "stop_reason", "stop_sequence", "phase"]);

/** The same JSON, with all that beside everything, and behind each text that is not the model's. */
function planted(value: JsonValue, behind: ReadonlySet<string>): JsonValue {
  if (Array.isArray(value)) return value.map((one) => planted(one, behind));
  if (typeof value !== "object" || value === null) return value;
  // An increment of arguments may be an object, too.
  const isCall = String(value.type).includes("arguments");
  const entries = Object.entries(value).map(([key, one]): [string, JsonValue] => {
    if (WORDS.has(key) || (isCall && key === "delta")) return [key, one!];
    return [key, behind.has(key) && typeof one === "string" ? `${one}-${SECRET}` : planted(one!, behind)];
  });
  return { ...Object.fromEntries(entries), debug: DEBUG };
}

/** In JSON any character may be escaped. */
function escaped(json: string): string {
  return json.replaceAll(SECRET, `\\u${SECRET.charCodeAt(0).toString(16).padStart(4, "0")}${SECRET.slice(1)}`)
    .replaceAll("earer ", "earer\\u0020");
}

interface Planting {
  behind: ReadonlySet<string>;
  write(json: string): string;
}

const PLANTINGS: Planting[] = [
  { behind: new Set(), write: (json) => json },
  { behind: NAMES, write: escaped },
  { behind: ENDINGS, write: (json) => json },
];

function answerWith(fixture: Fixture, { behind, write }: Planting): Response {
  const plant = (json: string) => {
    try {
      return write(JSON.stringify(planted(JSON.parse(json), behind)));
    } catch {
      return json;
    }
  };
  const text = new TextDecoder().decode(answerBytes(fixture));
  const body = isStream(fixture) ? text.replaceAll(/(?<=^data: ?)\{.*\}(?=\r?$)/gm, plant) : plant(text);
  return new Response(body, { headers: { ...fixture.response.headers, "x-provider": SECRET } });
}

function assertHidden(app: TestApp, text: string, headers: Headers, where: string): void {
  const visible = [text, decoded(text), JSON.stringify([...headers]), ...app.logs.splice(0).map(formatLogLine)].join(
    "\n",
  );
  for (const secret of SECRETS) {
    for (
      const spelling of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), "house%2fheader"]
    ) {
      const at = visible.indexOf(spelling);
      assert(at < 0, `${where}: ${visible.slice(Math.max(0, at - 300), at + 60)}`);
    }
  }
}

/** A JSON's texts, as they are once they are read. */
function decoded(text: string): string {
  const texts: string[] = [];
  for (const [, json] of text.matchAll(/(?:^|data: )(\{.*\})\s*$/gm)) {
    try {
      JSON.parse(json!, (key, value) => {
        texts.push(key, typeof value === "string" ? value : "");
        return value;
      });
    } catch { /* a stream's comment */ }
  }
  return texts.join("\n");
}

for (const wire of WIRES) {
  const fixtures = sampleOf(loadFixtures(wire).filter(isOk));
  for (const [turn, client] of WIRES.entries()) {
    Deno.test(`law · secrets: what an answer carries tells none · answers of ${wire} for ${client} (${SAMPLE})`, async () => {
      let answer = () => new Response();
      const app = newApp({ config: CONFIG, env: ENV, fetch: fakeUpstream(() => answer()).fetch });
      let served = 0;
      let masked = 0;
      for (const [index, fixture] of fixtures.entries()) {
        for (const [at, planting] of PLANTINGS.entries()) {
          // On its own wire most is carried; of the others each meets another planting.
          if (client !== wire && at !== (index + turn) % PLANTINGS.length) continue;
          for (const stream of isStream(fixture) ? [true] : at === 0 ? [false, true] : [false]) {
            answer = () => answerWith(fixture, planting);
            const body = { ...bodyFor(client, { stream }, wire), ...(client === "responses" && { store: true }) };
            const response = await app.post(PATH[client], body, OWN);
            const text = await response.text();
            if (response.ok) served++;
            if (text.includes("***")) masked++;
            assertHidden(app, text, response.headers, `${fixture.name} ${at} ${stream ? "streamed" : "whole"}`);
            const id = /"id":"(resp_\w+)"/.exec(text)?.[1];
            if (client !== "responses" || !id) continue;
            const stored = await app.get(`${PATH.responses}/${id}`, OWN);
            assertHidden(app, await stored.text(), stored.headers, `${fixture.name} ${at} stored`);
          }
        }
      }
      // Else nothing would be proven.
      assertGreater(served, fixtures.length * 0.9);
      if (client === wire) assertGreater(masked, fixtures.length);
      await app.close();
    });
  }
}

/** The wires that a call to another upstream's model would be told in; each sends its own token. */
for (const client of WIRES) {
  Deno.test(`law · secrets: a caller's own token comes back to nobody · ${client}`, async () => {
    const answers = [
      () => Response.json(planted(ANSWER as unknown as JsonValue, NAMES)),
      () =>
        Response.json(planted({ error: { message: `No ${CALLER}, Bearer ${BEARERS[0]}` } }, new Set()), {
          status: 400,
        }),
      () => answerStream([frame({ delta: { content: "one" }, debug: DEBUG }), ENDING]),
    ];
    for (const [at, answer] of answers.entries()) {
      const upstream = fakeUpstream(answer);
      const app = newApp({ config: CONFIG, env: ENV, fetch: upstream.fetch });
      const body = bodyFor(client, { stream: at === 2 }, "own");
      const response = await app.post(PATH[client], body, OWN);
      assertEquals(upstream.asked[0]!.headers.get("authorization"), `Bearer ${CALLER}`);
      assertHidden(app, await response.text(), response.headers, String(at));
      await app.close();
    }
  });
}

const RELAYED = { n: 2 };

const CHOICES = [...ANSWER.choices, { ...ANSWER.choices[0], index: 1 }];

for (const stream of [false, true]) {
  Deno.test(`law · secrets: what is relayed tells none, and the model's words stay · ${stream ? "streamed" : "whole"}`, async () => {
    const said = `I was told ${SECRET} and use "Bearer ${BEARERS[0]}"`;
    const chunk = (index: number, more: object) =>
      `data: ${JSON.stringify(planted({ choices: [{ index, ...more }] } as JsonObject, NAMES))}\n\n`;
    const answer = () =>
      stream
        ? answerStream(
          [0, 1].flatMap((index) => [
            chunk(index, { delta: { role: "assistant", content: said } }),
            chunk(index, { delta: {}, finish_reason: "stop" }),
          ]).concat(["data: [DONE]\n\n"]),
        )
        : Response.json(planted({
          ...ANSWER,
          choices: CHOICES.map((choice) => ({ ...choice, message: { role: "assistant", content: said } })),
        } as unknown as JsonObject, NAMES));
    const app = newApp({ config: CONFIG, env: ENV, fetch: fakeUpstream(answer).fetch });
    const response = await app.post(CHAT, chatBody({ model: "chat", ...RELAYED, stream }), OWN);
    const text = await response.text();
    assertEquals(text.split(JSON.stringify(said).slice(1, -1)).length, 3, text);
    assertHidden(app, text.replaceAll(JSON.stringify(said).slice(1, -1), ""), response.headers, "relayed");
    assertStringIncludes(text, '"authorization":"Bearer ***"');
    await app.close();
  });
}

for (const client of WIRES) {
  for (const stream of [false, true]) {
    Deno.test(`secrets: the model's own words are told as they are · ${client} · ${stream ? "streamed" : "whole"}`, async () => {
      // It was told in the prompt, or writes a program that needs it.
      const said = `The key is ${SECRET}: curl -H "Authorization: Bearer ${BEARERS[0]}"`;
      const input = JSON.stringify({ command: said });
      const message = {
        role: "assistant",
        content: said,
        tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "run", arguments: input } }],
      };
      const answer = () =>
        stream
          ? answerStream([
            frame({ delta: message }),
            frame({ delta: {}, finish_reason: "tool_calls" }),
            "data: [DONE]\n\n",
          ])
          : Response.json({ ...ANSWER, choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
      const app = newApp({ config: CONFIG, env: ENV, fetch: fakeUpstream(answer).fetch });
      const response = await app.post(PATH[client], bodyFor(client, { stream }, "chat"));
      const text = decoded(await response.text());
      for (const part of [`The key is ${SECRET}: curl`, `Bearer ${BEARERS[0]}`]) assertStringIncludes(text, part);
      await app.close();
    });
  }
}

Deno.test("secrets: a transcript's and a sound's own facts tell none", async () => {
  const transcript = { text: "Hello", language: "en", segments: [{ id: 0, start: 0, end: 1, text: "Hello" }] };
  const answers: Record<string, () => Response> = {
    transcriptions: () => Response.json(planted(transcript, new Set(["language"]))),
    speech: () => new Response(new Uint8Array(100), { headers: { "content-type": `audio/x-${SECRET}` } }),
  };
  const fake = fakeUpstream(({ url }) => answers[url.pathname.split("/").at(-1)!]!());
  const app = newApp({ config: CONFIG, env: ENV, fetch: fake.fetch });
  const form = new FormData();
  form.append("model", "transcription");
  form.append("response_format", "verbose_json");
  form.append("file", new File(["RIFF\x24\0\0\0WAVEfmt "], "a.wav"));
  const init = { method: "POST", headers: OWN, body: form };
  const transcribed = await app.fetch(new Request("http://gateway/oss/v1/audio/transcriptions", init));
  assertEquals(transcribed.status, 200);
  assertHidden(app, await transcribed.text(), transcribed.headers, "transcript");
  const spoken = await app.post("/oss/v1/audio/speech", { model: "speech", input: "Hello", voice: "alloy" }, OWN);
  assertEquals(spoken.status, 200);
  assertHidden(app, await spoken.text(), spoken.headers, "speech");
  await app.close();
});

Deno.test("secrets: after the word bearer a word is a word", async () => {
  const message = "Bearer authentication required: the bearer of this must be known";
  const fake = fakeUpstream(
    () => Response.json({ error: { message } }, { status: 400 }),
    () => answerStream([word("a")]),
  );
  const app = newApp({ config: CONFIG, env: ENV, fetch: fake.fetch });
  const response = await app.post(CHAT, chatBody({ model: "chat" }));
  assertEquals((await response.json()).error.message, message);
  await app.close();
});

Deno.test("law · secrets: a list of models tells none", async () => {
  const model = { id: `one-${SECRET}`, object: "model", owned_by: HOUSE, display_name: `Bearer ${BEARERS[0]}` };
  const upstream = fakeUpstream(() => Response.json({ object: "list", data: [model] }));
  const config = { ...CONFIG, lanes: { ...CONFIG.lanes, local: { upstreams: { chat: "chat" } } } };
  const app = newApp({ config, env: ENV, fetch: upstream.fetch });
  const list = await app.get("/local/v1/models", OWN);
  const text = await list.text();
  assertStringIncludes(text, "one-***");
  assertHidden(app, text, list.headers, "the list");
  // Whoever knows the name has told it; the log has that of the request.
  const one = await app.get(`/local/v1/models/${model.id}`, OWN);
  const body = await one.text();
  assertStringIncludes(body, '"owned_by":"***"');
  app.logs.length = 0;
  assertHidden(app, body, one.headers, "one of them");
});

for (const wire of WIRES) {
  Deno.test(`law · secrets: what is cut at the end of an error is hidden, also where more is said behind it · ${wire}`, async () => {
    for (let length = 470; length < 500; length++) {
      const message = `${"No such model. ".repeat(40).slice(0, length)}${SECRET}${" and more".repeat(9)}`;
      const error = { type: "not_found_error", code: "model_not_found", message };
      const upstream = fakeUpstream(() => Response.json({ type: "error", error }, { status: 404 }));
      const models = Object.fromEntries(
        ["model-a", "model-b"].map((name) => [name, {
          task: "chat" as const,
          targets: [{ upstream: wire, model: "org/model" }],
        }]),
      );
      const app = newApp({ config: { ...CONFIG, lanes: { oss: { models } } }, env: ENV, fetch: upstream.fetch });
      const response = await app.post(PATH[wire], bodyFor(wire, {}, "model-a"));
      const text = await response.text();
      assertStringIncludes(text, "model-b");
      assert(!text.includes(SECRET.slice(0, 4)), `${length}: ${text.slice(-120)}`);
    }
  });
}
