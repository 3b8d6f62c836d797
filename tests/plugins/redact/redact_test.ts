import { assert, assertEquals, assertNotEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { GenerateEvent, GenerateRequest, InputPart } from "../../../src/canonical/generate.ts";
import { parseExactly } from "../../../src/canonical/raw_number.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import type { RelayEvent } from "../../../src/canonical/relay.ts";
import type { StageHost } from "../../../src/contract/stage.ts";
import { GatewayError } from "../../../src/errors.ts";
import { redact } from "../../../plugins/redact/mod.ts";
import { PLACEHOLDER } from "../../../plugins/redact/placeholder.ts";
import { heldBy } from "../../support/heap.ts";
import { aboutFor, firstText, passed, redacted, redactionWith, restored, wholeOf } from "./support.ts";

const none = { secrets: false, emails: false, phones: false, creditCards: false, ibans: false, ipAddresses: false };

/** The texts that are replaced, in order. */
async function foundIn(text: string, options = {}): Promise<string[]> {
  const said = await redacted(text, options);
  let [rest, at] = [said, 0];
  const all: string[] = [];
  for (const placeholder of said.match(PLACEHOLDER) ?? []) {
    const before = rest.slice(0, rest.indexOf(placeholder));
    rest = rest.slice(before.length + placeholder.length);
    at += before.length;
    const next = rest.slice(0, rest.search(PLACEHOLDER) < 0 ? undefined : rest.search(PLACEHOLDER));
    const end = next === "" ? text.length : text.indexOf(next, at);
    all.push(text.slice(at, end));
    at = end;
  }
  return all;
}

const KEY = "sk-proj-abcDEF1234567890abcdef";
const JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_ghi";
const PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNza\n-----END OPENSSH PRIVATE KEY-----";

const FOUND: [text: string, found: string[]][] = [
  [`use ${KEY}.`, [KEY]],
  ["AKIAIOSFODNN7EXAMPLE", ["AKIAIOSFODNN7EXAMPLE"]],
  [`token ${JWT}!`, [JWT]],
  [`${PEM}\nafter`, [PEM]],
  ["-----BEGIN PRIVATE KEY-----\ncut off", ["-----BEGIN PRIVATE KEY-----\ncut off"]],
  ["Authorization: Bearer abc.def-123 x", ["abc.def-123"]],
  ["postgres://user:pa55@host/db", ["pa55"]],
  ["DB_PASSWORD=hunter2\nUSER=me", ["hunter2"]],
  ['password: "correct horse battery"', ["correct horse battery"]],
  ["my password is hunter2!", ["hunter2!"]],
  ["?token=abc123def&user=me", ["abc123def"]],
  ["<password>hunter2</password> pw: hunter3", ["hunter2", "hunter3"]],
  ["curl -H 'Cookie: id=a3b; theme=x' https://h", ["id=a3b; theme=x"]],
  ["mysql --password hunter2 -h db; curl -u me:pa55 https://h", ["hunter2", "pa55"]],
  ['{"command":["mysql","--password","letmein","-h","db"]}', ["letmein"]],
  ['{\\"password\\": \\"hun\\\\\\"ter2\\", \\"a\\": 1} and', ['hun\\\\\\"ter2']],
  ["SIGNING=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"]],
  ["a.b+c@sub.example.co.uk, <x@y.de>", ["a.b+c@sub.example.co.uk", "x@y.de"]],
  ["mailto:jörg@bücher.example", ["jörg@bücher.example"]],
  ["u=a%40b.com&x=1", ["a%40b.com"]],
  ["a\u200b@\u200bexample.com", ["a\u200b@\u200bexample.com"]],
  ["\\u0061@example.com", ["\\u0061@example.com"]],
  ["+49 (151) 234-56789, 0151 2345678 or (555) 123-4567", ["+49 (151) 234-56789", "0151 2345678", "(555) 123-4567"]],
  ["4111 1111 1111 1111 and 4111-1111-1111-1112", ["4111 1111 1111 1111"]],
  ["DE89 3704 0044 0532 0130 00 and DE88370400440532013000", ["DE89 3704 0044 0532 0130 00"]],
  ["10.0.0.7:80, fe80::1ff:2, ::ffff:10.0.0.8 and 127.0.0.1", ["10.0.0.7", "fe80::1ff:2", "::ffff:10.0.0.8"]],
];

for (const [text, all] of FOUND) {
  Deno.test(`redact: finds all of ${JSON.stringify(text)}`, async () => assertEquals(await foundIn(text), all));
}

const HARMLESS = [
  "password = getpass()",
  "password: string; token?: Token",
  "api_key=os.environ['KEY'] and $PASSWORD and password=$PASSWORD",
  '"secret": { "env": "LANEWAY_KEY" }, "token": "${TOKEN}"',
  "max_tokens: 4096, total_tokens=123456",
  "commit: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
  "id: 123e4567-e89b-42d3-a456-426614174000",
  "sk-learn-a-lot-of-things-about-it",
  "git@github.com:a/b.git and @scope/package@1.2.3",
  "at 2024-01-02 12:30:45.123, version 1.2.3, 1234567890",
  "std::vector<a::b> c::d",
  "https://example.com/a@b",
  "redacted and redacted-secret-",
];

for (const text of HARMLESS) {
  Deno.test(`redact: leaves ${JSON.stringify(text)} as it is`, async () => assertEquals(await redacted(text), text));
}

Deno.test("redact: only what the configuration names", async () => {
  const text = `a@b.com ${KEY} 10.0.0.7`;
  assertEquals(await redacted(text, none), text);
  assertEquals(await foundIn(text, { ...none, emails: true }), ["a@b.com"]);
  assertEquals(await foundIn(text, { ...none, ipAddresses: true }), ["10.0.0.7"]);
});

const message = (...content: InputPart[]): GenerateRequest => ({
  model: "m",
  stream: false,
  messages: [{ role: "user", content }],
});
const text = (text: string): InputPart => ({ type: "text", text });

Deno.test("redact: a secret that one text shows to be one is taken out of all others", async () => {
  const request: GenerateRequest = {
    ...message(text("PASSWORD=hunter2"), text("I know hunter2, hunter2x and https://h/?q=hunter2")),
    tools: [{ type: "function", name: "hunter2_tool", description: "Knows hunter2" }],
  };
  const { input } = await passed("generate", request);
  assert(!JSON.stringify(input).includes("hunter2"), JSON.stringify(input));
  // A word is replaced as a word only.
  const plain = await passed("generate", message(text('password="letmein"'), text("letmein, letmeinside")));
  assertStringIncludes(JSON.stringify(plain.input), "letmeinside");
  assert(!JSON.stringify(plain.input).includes("letmein,"));
});

Deno.test("redact: a field that its name says is secret is one as a whole, also in JSON inside a text", async () => {
  const { input } = await passed("generate", {
    ...message(text('{"db": {"passwd": "a \\"b\\" c"}, "password": "${PASSWORD}"}')),
    metadata: { client_secret: "x y z", secret_name: "u v w" },
  });
  const said = JSON.stringify(input);
  assert(!said.includes('a \\\\\\"b'), said);
  assertStringIncludes(said, "${PASSWORD}");
  assertEquals((input.metadata as JsonObject).secret_name, "u v w");
  assertNotEquals((input.metadata as JsonObject).client_secret, "x y z");
});

Deno.test("redact: numbers that are cards become texts", async () => {
  const { input } = await passed("rerank", {
    model: "m",
    query: "q",
    documents: [{
      text: "",
      source: parseExactly(
        '{"card": 4111111111111111, "long": 6304000000000000000, "at": 1764377215123}',
      ) as JsonObject,
    }],
    returnDocuments: false,
  });
  const source = input.documents[0]!.source as JsonObject;
  assertEquals([typeof source.card, typeof source.at], ["string", "number"]);
});

Deno.test("redact: files with text are read, and others refused", async () => {
  const file = (mediaType: string, bytes: string): InputPart => ({
    type: "file",
    mediaType,
    source: { type: "base64", data: btoa(bytes) },
  });
  const { input } = await passed("generate", message(file("application/json", '{"password":"hunter2"}')));
  const [part] = input.messages[0]!.content as { source: { data: string } }[];
  assert(PLACEHOLDER.test(atob(part!.source.data)));
  PLACEHOLDER.lastIndex = 0;
  const png = file("image/png", "\x89PNG\r\n\x1a\n");
  for (
    const refused of [
      png,
      file("application/pdf", "%PDF-1.7 a@b.com"),
      { type: "file", mediaType: "image/*", source: { type: "url", url: "https://h/a.png" } } as const,
      { type: "file", mediaType: "application/pdf", source: { type: "id", id: "file_1" } } as const,
    ]
  ) {
    const error = await assertRejects(() => passed("generate", message(refused)), GatewayError, "Cannot redact");
    assertEquals([error.code, error.details.tryNextTarget], ["invalid_request", false]);
  }
  const request = message(png);
  assert((await passed("generate", request, { unreadable: ["image"] })).input === request);
});

Deno.test("redact: files are also found in fields that the canonical form does not model", async () => {
  const url = `data:text/csv;base64,${btoa("name,a@b.com")}`;
  const body = (part: JsonObject): JsonObject => ({ n: 2, messages: [{ role: "user", content: [part] }] });
  const relayed = (part: JsonObject) =>
    passed("relay", { model: "m", stream: false, wire: "chat", field: "n", body: body(part) });
  const { input } = await relayed({ type: "file", file: { file_data: url } });
  assert(!JSON.stringify(input).includes(btoa("name,a@b.com")));
  const png = btoa("\x89PNG\r\n\x1a\n".padEnd(99, "x"));
  for (
    const part of [
      { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
      { type: "input_audio", input_audio: { data: btoa("RIFF----WAVE".padEnd(99, "x")), format: "wav" } },
    ]
  ) await assertRejects(() => relayed(part), GatewayError, "Cannot redact");
});

Deno.test("redact: sound and token ids are refused unless they may pass", async () => {
  const file = { bytes: new Uint8Array(8), name: "a@b.com.wav", mediaType: "audio/wav" };
  const spoken = { model: "m", file, format: "json", stream: false, prompt: "Ask a@b.com" } as const;
  await assertRejects(() => passed("transcribe", spoken), GatewayError, "audio");
  const { input } = await passed("transcribe", spoken, { unreadable: ["audio"] });
  assert(input.file.bytes === file.bytes);
  assert(!JSON.stringify({ ...input, file: input.file.name }).includes("a@b.com"));
  const ids = { model: "m", input: [[1, 2]], encoding: "float" } as const;
  await assertRejects(() => passed("embed", { ...ids, input: [[1, 2]] }), GatewayError, "token ids");
});

Deno.test("redact: data that only its upstream can read passes as it is", async () => {
  const data = `eyJ${"a1".repeat(40)}.${"b2".repeat(40)}`;
  const request: GenerateRequest = {
    ...message(text("hi")),
    messages: [{ role: "assistant", content: [{ type: "reasoning", text: "", opaque: { origin: "x", data } }] }],
  };
  assert((await passed("generate", request)).input === request);
  const lies = {
    ...request,
    extra: { wire: "x", fields: { signature: "a@b.com and more", encrypted_content: KEY.padEnd(80, "a1") } },
  };
  const said = JSON.stringify((await passed("generate", lies)).input);
  assert(!said.includes("a@b.com") && !said.includes(KEY));
});

Deno.test("redact: where nothing can be put back, it is noted", async () => {
  const about = aboutFor("embed");
  await redactionWith().request<"embed">({ model: "m", input: ["a@b.com, c@d.com"], encoding: "float" }, about);
  assertEquals(about.notes, ["redacted 2 texts"]);
  const chat = aboutFor("generate");
  await redactionWith().request<"generate">(message(text("a@b.com")), chat);
  assertEquals(chat.notes, []);
});

Deno.test("redact: a request with too many is refused", async () => {
  const many = Array.from({ length: 10_001 }, (_, at) => `a${at}@example.com`).join(" ");
  const error = await assertRejects(() => redacted(many), GatewayError, "10000");
  assertEquals(error.code, "request_too_large");
});

const usage = { inputTokens: 1, outputTokens: 1 };

Deno.test("redact: citations move with the text around them", async () => {
  const one = await passed("generate", message(text("a@b.com c@d.com")));
  const said = firstText(one.input);
  const [first, second] = said.split(" ") as [string, string];
  const answer = `${first} is [1], ${second}`;
  const at = answer.indexOf("[1]");
  const annotation = { type: "url-citation" as const, url: `https://h/${first}`, start: at, end: at + 3 };
  const wanted = { type: "url-citation", url: "https://h/a@b.com", start: 11, end: 14 };
  const whole = wholeOf(one, {
    model: "m",
    content: [{ type: "text", text: answer, annotations: [annotation] }],
    finish: { reason: "stop", stopSequence: second },
    usage,
  });
  assertEquals(whole.content as unknown[], [{ type: "text", text: "a@b.com is [1], c@d.com", annotations: [wanted] }]);
  assertEquals(whole.finish.stopSequence, "c@d.com");
  const events = restored(one, [
    { type: "part-start", index: 0, part: { type: "text", text: "" } },
    ...answer.split("").map((text): GenerateEvent => ({ type: "part-delta", index: 0, delta: { type: "text", text } })),
    { type: "part-end", index: 0, annotations: [annotation] },
  ]);
  assertEquals(events.at(-1), { type: "part-end", index: 0, annotations: [wanted] } as GenerateEvent);
});

Deno.test("redact: in arguments and in answers with a schema, originals are written as JSON", async () => {
  const request: GenerateRequest = { ...message(text(PEM)), outputSchema: { schema: { type: "object" } } };
  const one = await passed("generate", request);
  const placeholder = firstText(one.input);
  const written = JSON.stringify({ key: placeholder });
  const { content } = wholeOf(one, {
    model: "m",
    content: [
      { type: "text", text: written },
      { type: "tool-call", kind: "function", id: "1", name: "f", input: written },
      { type: "tool-call", kind: "custom", id: "2", name: "f", input: placeholder },
      { type: "reasoning", text: placeholder },
      { type: "hosted", id: "3", call: { kind: "mcp", server: "s", name: "f", input: written } },
    ],
    finish: { reason: "stop" },
    usage,
  });
  const restored = JSON.stringify({ key: PEM });
  assertEquals<unknown>(content.map((part) => "text" in part ? part.text : "input" in part ? part.input : part), [
    restored,
    restored,
    PEM,
    PEM,
    { type: "hosted", id: "3", call: { kind: "mcp", server: "s", name: "f", input: restored } },
  ]);
});

Deno.test("redact: only the beginning of a placeholder is held back", async () => {
  const one = await passed("generate", message(text("a@b.com")));
  const placeholder = firstText(one.input);
  const push = (...texts: string[]) =>
    restored(one, [
      { type: "part-start", index: 0, part: { type: "text", text: "" } },
      ...texts.map((text): GenerateEvent => ({ type: "part-delta", index: 0, delta: { type: "text", text } })),
    ]).flatMap((event) => event.type === "part-delta" ? event.delta.text : []);
  assertEquals(push("Hello rea", "der."), ["Hello rea", "der."]);
  assertEquals(push("Hello re", "ader."), ["Hello ", "reader."]);
  assertEquals(push("redacted-email-x", "!"), ["redacted-email-x", "!"]);
  assertEquals(push(`To ${placeholder.slice(0, 20)}`, placeholder.slice(20), "."), ["To ", "a@b.com", "."]);
  assertEquals(push(placeholder.toUpperCase()), ["a@b.com"]);
});

Deno.test("redact: relayed choices that come in any order are restored, each by itself", async () => {
  const one = await passed("relay", {
    model: "m",
    stream: true,
    wire: "chat",
    field: "n",
    body: { n: 2, messages: [{ role: "user", content: "a@b.com" }] },
  });
  const said = (one.input.body.messages as JsonObject[])[0]!.content as string;
  const [begin, end] = [said.slice(0, 9), said.slice(9)];
  const frame = (index: number, content: string, finish_reason: string | null = null): RelayEvent => ({
    type: "frame",
    body: { id: "1", choices: [{ index, delta: { content }, finish_reason }] },
  });
  const events = restored(one, [
    frame(0, `to ${begin}`),
    frame(1, begin),
    frame(0, end),
    frame(1, end),
    frame(0, " redac"),
    { type: "frame", body: { id: "1", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] } },
    frame(1, " re"),
    { type: "finish" },
  ]);
  const texts = ["", ""];
  for (const event of events) {
    if (event.type !== "frame") continue;
    const choices = event.body.choices as { index: number; delta: { content?: string } }[];
    for (const { index, delta } of choices) texts[index] += delta.content ?? "";
  }
  assertEquals(texts, ["to a@b.com redac", "a@b.com re"]);
  assertEquals(events.at(-1), { type: "finish" });
  const whole = wholeOf(one, {
    body: { choices: [{ message: { content: said, tool_calls: [{ function: { arguments: `{"to":"${said}"}` } }] } }] },
  });
  assertEquals(JSON.stringify(whole).match(/a@b\.com/g)?.length, 2);
});

Deno.test("redact: what leaves on other ways is redacted, but for backends that the configuration names", async () => {
  const { outgoing } = redactionWith({ restoreFor: ["wiki"] });
  const about = aboutFor("generate");
  const sent = (name: string, isConfigured: boolean, kind: "mcp" | "capture" = "mcp") =>
    outgoing({ q: "a@b.com" }, about, { kind, name, isConfigured });
  assertEquals(await sent("wiki", true), { q: "a@b.com" });
  for (const said of [await sent("wiki", false), await sent("web", true), await sent("wiki", true, "capture")]) {
    assert(!JSON.stringify(said).includes("a@b.com"));
  }
  // Alone, the word shows nothing.
  const to = { kind: "search", name: "web", isConfigured: true } as const;
  assertEquals(await outgoing({ q: "hunter2x9" }, about, to), { q: "hunter2x9" });
  const within = [message(text("PASSWORD=hunter2x9"))];
  const said = await outgoing({ q: "hunter2x9" }, { ...about, within }, to);
  assert(!JSON.stringify(said).includes("hunter2x9"));
  const inRequest = await redacted("a@b.com");
  assertEquals(await outgoing("a@b.com", about, { kind: "trace", name: "", isConfigured: true }), inRequest);
});

Deno.test("redact: the stage has one key, which it asks for again after a failure", async () => {
  const asked: string[] = [];
  const host: StageHost = {
    key(purpose) {
      asked.push(purpose);
      return asked.length === 1
        ? Promise.reject(new GatewayError("unavailable", "No key"))
        : Promise.resolve(new Uint8Array(32).fill(7));
    },
  };
  const options = redact.options.parse({ emails: true });
  const stage = redact.create(options, host);
  const request = message(text("a@b.com"));
  await assertRejects(
    async () => await stage.request!<"generate">(request, aboutFor("generate")),
    GatewayError,
    "No key",
  );
  const first = await stage.request!<"generate">(request, aboutFor("generate"));
  // Once it has the key, a short request is not waited for.
  const second = stage.request!<"generate">(request, aboutFor("generate"));
  assertEquals("input" in second && second.input, first.input);
  assertEquals(first.input, (await passed("generate", request)).input);
  assertEquals(asked, ["redaction", "redaction"]);
});

Deno.test("redact: a long request is read in slices", async () => {
  const long = message(text(`${"word ".repeat(1_000_000)}a@b.com`));
  const work = redactionWith().request<"generate">(long, aboutFor("generate"));
  assert(work instanceof Promise);
  assert(!JSON.stringify((await work).input).includes("a@b.com"));
});

Deno.test("redact: an answer holds its originals, and not the request", async () => {
  const redaction = redactionWith();
  const held = await heldBy(async () => {
    const all: unknown[] = [];
    for (let at = 0; at < 20; at++) {
      const long = `${at} a${at}.longer.than.a.few.letters@example.com ${String.fromCharCode(97 + at).repeat(400_000)}`;
      const { events, output } = await redaction.request<"generate">(message(text(long)), aboutFor("generate"));
      events!.push({ type: "part-start", index: 0, part: { type: "text", text: "" } }, () => {});
      all.push(events, output);
    }
    return all;
  });
  assert(held < 2_000_000, `${held} bytes`);
});
