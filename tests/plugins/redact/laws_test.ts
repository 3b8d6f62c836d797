/** The laws of redaction, for any text, any place and any cut. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import type { GenerateEvent, GenerateRequest, GenerateResponse, OutputPart } from "../../../src/canonical/generate.ts";
import type { JsonValue } from "../../../src/canonical/json.ts";
import type { Input, ModelOperation } from "../../../src/canonical/operations.ts";
import { PLACEHOLDER } from "../../../plugins/redact/placeholder.ts";
import { law } from "../../support/law.ts";
import { canonicalRequest } from "../../support/canonical_arbitraries.ts";
import { aboutFor, firstText, inMessage, passed, redacted, redactionWith, restored, wholeOf } from "./support.ts";

const alnum = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"];
const run = (characters: readonly string[], length: number) =>
  fc.array(fc.constantFrom(...characters), { minLength: length, maxLength: length }).map((all) => all.join(""));
const digits = (length: number) => run([..."0123456789"], length);

/** The digits with the check digit that makes them a card. */
function card(first: string): string {
  for (let digit = 0; digit < 10; digit++) {
    const all = `${first}${digit}`;
    let sum = 0;
    for (let at = 0; at < all.length; at++) {
      const value = Number(all[all.length - 1 - at]) * (at % 2 + 1);
      sum += value > 9 ? value - 9 : value;
    }
    if (sum % 10 === 0) return all;
  }
  throw new Error("No check digit");
}

function iban(account: string): string {
  let rest = 0n;
  for (const character of `${account}DE00`) rest = BigInt(String(rest) + parseInt(character, 36)) % 97n;
  return `DE${String(98n - rest).padStart(2, "0")}${account}`;
}

/** Secrets and personal data that show what they are by their form. */
const secret: fc.Arbitrary<string> = fc.oneof(
  run(alnum, 24).map((rest) => `sk-proj-${rest}7a`),
  run(alnum, 36).map((rest) => `ghp_${rest}1`),
  run([..."ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"], 16).map((rest) => `AKIA${rest}`),
  run(alnum, 40).map((rest) => `eyJ${rest}.${rest}.${rest}`),
  run(alnum, 64).map((rest) => `-----BEGIN EC PRIVATE KEY-----\n${rest}\n"\\${rest}\n-----END EC PRIVATE KEY-----`),
  fc.tuple(run([..."abcdefghij.+_"], 8), run([..."abcdefghij"], 6)).map(([user, host]) => `x${user}y@${host}.com`),
  digits(14).map((rest) => card(`4${rest}`)),
  digits(18).map(iban),
  digits(10).map((rest) => `+4915${rest}`),
  fc.tuple(fc.integer({ min: 1, max: 255 }), fc.integer({ min: 1, max: 255 })).map(([a, b]) => `10.${a}.${b}.7`),
);
/** The text around them, which cannot be part of one. */
const around = fc.string({ unit: fc.constantFrom(" ", "\n", "wörter", "«", "😀", "(", ",", "!", "\t") });
const sentence = fc.tuple(around, secret, around, secret, around).map((all) => ({
  text: `${all[0]} ${all[1]} ${all[2]} ${all[3]} ${all[4]}`,
  secrets: [all[1]!, all[3]!],
}));

function assertGone(input: unknown, secrets: readonly string[]): void {
  const sent = JSON.stringify(input);
  for (const one of secrets) {
    assert(!sent.includes(one) && !sent.includes(JSON.stringify(one).slice(1, -1)), `${one} in ${sent}`);
  }
}

law("redact: an answer that repeats the request is the request", sentence, async ({ text, secrets }) => {
  const one = await passed("generate", inMessage(text));
  assertGone(one.input, secrets);
  const [message] = one.input.messages;
  const answer: GenerateResponse = {
    model: "m",
    content: message!.content as OutputPart[],
    finish: { reason: "stop" },
    usage: { inputTokens: 1, outputTokens: 1 },
  };
  assertEquals(wholeOf(one, answer).content, [{ type: "text", text }]);
});

/** A text of any kind of part, whole, and as its events cut at these places. */
const cut = fc.tuple(
  sentence,
  fc.constantFrom("text", "reasoning", "refusal", "tool-input", "custom-input"),
  fc.array(fc.nat(400), { maxLength: 12 }),
  fc.boolean(),
);

law("redact: wherever a stream is cut, the answer is the whole one", cut, async ([{ text }, kind, cuts, isUpper]) => {
  const one = await passed("generate", inMessage(text));
  const said = firstText(one.input);
  const spelt = isUpper ? said.replaceAll(PLACEHOLDER, (placeholder) => placeholder.toUpperCase()) : said;
  const isJson = kind === "tool-input";
  const written = isJson ? JSON.stringify({ input: spelt }) : spelt;
  const begun: OutputPart = kind === "tool-input" || kind === "custom-input"
    ? { type: "tool-call", kind: isJson ? "function" : "custom", id: "call_1", name: "f", input: "" }
    : { type: kind as "text", text: "" };
  const type = kind === "custom-input" ? "tool-input" : kind as "text";
  const places = [0, ...cuts.map((at) => at % (written.length + 1)), written.length].sort((a, b) => a - b);
  const events: GenerateEvent[] = [
    { type: "part-start", index: 0, part: begun },
    ...places.slice(1).map((end, at): GenerateEvent => ({
      type: "part-delta",
      index: 0,
      delta: { type, text: written.slice(places[at], end) },
    })),
    { type: "part-end", index: 0 },
  ];
  const answered = restored(one, events);
  const whole = answered.map((event) => event.type === "part-delta" ? event.delta.text : "").join("");
  assertEquals(isJson ? JSON.parse(whole).input : whole, text);
  assertEquals([answered[0]!.type, answered.at(-1)!.type], ["part-start", "part-end"]);
});

/** Any JSON, with secrets as values and names at any depth. */
const json = fc.tuple(fc.jsonValue({ maxDepth: 3 }), sentence, sentence).map(([value, one, other]) => ({
  value: {
    before: value,
    [`at ${other.text}`]: [value, { deep: one.text, nested: JSON.stringify({ in: other.text }) }],
  } as JsonValue,
  secrets: [...one.secrets, ...other.secrets],
}));

const everywhere: Record<string, (value: JsonValue, text: string) => [ModelOperation, Input<ModelOperation>]> = {
  "a tool's arguments": (value) => ["generate", {
    ...inMessage("hi"),
    messages: [{
      role: "assistant",
      content: [{ type: "tool-call", kind: "function", id: "1", name: "f", input: JSON.stringify(value) }],
    }],
  }],
  "a tool's result": (_, text) => ["generate", {
    ...inMessage("hi"),
    messages: [{ role: "tool", content: [{ type: "tool-result", id: "1", content: [{ type: "text", text }] }] }],
  }],
  "a tool's schema": (value, text) => ["generate", {
    ...inMessage("hi"),
    tools: [{
      type: "function",
      name: "f",
      description: text,
      parameters: { type: "object", default: value, enum: [value] },
    }],
  }],
  "an output schema": (value, text) => ["generate", {
    ...inMessage("hi"),
    outputSchema: { name: "o", description: text, schema: { examples: [value] } },
  }],
  "unknown fields": (value) => ["generate", {
    ...inMessage("hi"),
    extra: { wire: "chat", fields: { own: value }, hints: { other: value } },
  }],
  "metadata": (value, text) => ["generate", { ...inMessage("hi"), metadata: { value, text }, stopSequences: [text] }],
  "a text file": (value, text) => ["generate", {
    ...inMessage("hi"),
    messages: [{
      role: "user",
      content: [{
        type: "file",
        mediaType: "text/plain",
        source: { type: "base64", data: btoa(String.fromCharCode(...new TextEncoder().encode(text))) },
        extra: { wire: "x", fields: { value } },
      }],
    }],
  }],
  "a relayed body": (value, text) => ["relay", {
    model: "m",
    stream: false,
    wire: "chat",
    field: "n",
    body: { n: 2, messages: [{ role: "user", content: text }], own: value },
  }],
  "tokens to count": (_, text) => ["countTokens", inMessage(text)],
  "texts to embed": (_, text) => ["embed", { model: "m", input: [text, "x"], encoding: "float" }],
  "documents to rank": (value, text) => ["rerank", {
    model: "m",
    query: text,
    documents: [{ text, source: { text, value } }],
    returnDocuments: true,
  }],
  "a text to speak": (_, text) => ["speak", { model: "m", text, instructions: text, format: "mp3", stream: false }],
};

for (const [place, make] of Object.entries(everywhere)) {
  law(
    `redact: nothing is left in ${place}`,
    fc.tuple(json, sentence),
    async ([{ value, secrets }, { text, secrets: more }]) => {
      const [operation, input] = make(value, text);
      const { input: sent } = await passed(operation, input);
      assertGone(sent, [...secrets, ...more]);
      const files = JSON.stringify(sent).match(/"data":"([^"]+)"/)?.[1];
      if (files) assertGone(new TextDecoder().decode(Uint8Array.from(atob(files), (one) => one.charCodeAt(0))), more);
    },
  );
}

law("redact: what has no secrets is the same object", canonicalRequest, async (request) => {
  const unreadable = ["image", "audio", "video", "document"] as const;
  const { input, events, output } = await passed("generate", request, { unreadable: [...unreadable] });
  if (JSON.stringify(input) !== JSON.stringify(request)) return;
  assert(input === request);
  assertEquals([events, output], [undefined, undefined]);
});

law("redact: another caller gets other placeholders", sentence, async ({ text }) => {
  const mine = await redacted(text);
  assertEquals(await redacted(text), mine);
  const theirs = await redacted(text, {}, "another");
  const all = (said: string) => new Set(said.match(PLACEHOLDER));
  for (const placeholder of all(theirs)) assert(!all(mine).has(placeholder));
  assertNotEquals(theirs, mine);
});

law(
  "redact: a look-alike comes back as it is, also beside secrets",
  fc.tuple(sentence, fc.boolean()),
  async ([{ text }, isUpper]) => {
    const [first] = (await redacted(text, {}, "another")).match(PLACEHOLDER)!;
    const [own] = (await redacted(text)).match(PLACEHOLDER)!;
    for (const lookalike of [first, own, isUpper ? own.toUpperCase() : own, `redacted-redacted-secret-${own}`]) {
      const asked = `${lookalike} ${text} ${lookalike}x`;
      const one = await passed("generate", inMessage(asked));
      const said = firstText(one.input);
      assert(!said.startsWith(lookalike));
      const answer: GenerateResponse = {
        model: "m",
        content: [{ type: "text", text: said }],
        finish: { reason: "stop" },
        usage: { inputTokens: 1, outputTokens: 1 },
      };
      assertEquals(wholeOf(one, answer).content, [{ type: "text", text: asked }]);
    }
  },
);

law(
  "redact: a turn more leaves the turns before as they were",
  fc.array(sentence, { minLength: 2, maxLength: 5 }),
  async (turns) => {
    const redaction = redactionWith();
    let before: unknown[] = [];
    const messages: GenerateRequest["messages"] = [];
    for (const { text } of turns) {
      messages.push({ role: "user", content: [{ type: "text", text }] });
      const { input } = await redaction.request<"generate">(
        { ...inMessage(""), messages: [...messages] },
        aboutFor("generate"),
      );
      assertEquals(input.messages.slice(0, before.length), before);
      // The answer repeats what it was sent, and the client sends its originals back.
      messages.push({ role: "assistant", content: [{ type: "text", text }] });
      before = [...input.messages, { role: "assistant", content: input.messages.at(-1)!.content }];
    }
  },
);
