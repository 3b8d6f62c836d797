/**
 * A host refuses any one or two things of a request, in words of many styles, some of which name nothing: the request is served
 * within the budget, with a note of what was given up, and later requests cost less. What the words quote steers nothing.
 */
import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { CONFIG, PATH, shortAnswer, type Wire, WIRES } from "../regressions/support.ts";
import { newApp } from "../support/app.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";
import { law } from "../support/law.ts";

/** The most calls of one request. */
const MOST_CALLS = 5;

const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string", pattern: "^/[a-z]+$", minLength: 1 },
    at: { type: "string", format: "date-time" },
    any: { anyOf: [{ type: "string" }, { $ref: "#/$defs/size" }] },
  },
  $defs: { size: { type: "integer", minimum: 1 } },
  required: ["path"],
};

const MORE = { temperature: 0.7, top_p: 0.9, metadata: { user_id: "u" } };

const BODY: Record<Wire, JsonObject> = {
  chat: {
    ...MORE,
    max_tokens: 900,
    seed: 7,
    user: "somebody",
    parallel_tool_calls: true,
    store: false,
    novelty: { level: 2 },
    messages: [{ role: "system", content: "Be brief." }, { role: "user", name: "ann", content: "Look, please." }],
    tools: [{ type: "function", function: { name: "look", description: "Looks", strict: false, parameters: SCHEMA } }],
  },
  messages: {
    ...MORE,
    max_tokens: 900,
    top_k: 5,
    stop_sequences: ["END"],
    system: "Be brief.",
    messages: [{ role: "user", content: [{ type: "text", text: "Look, please." }] }],
    tools: [{ name: "look", description: "Looks", input_schema: SCHEMA }],
  },
  responses: {
    ...MORE,
    max_output_tokens: 900,
    store: false,
    user: "somebody",
    parallel_tool_calls: true,
    truncation: "disabled",
    instructions: "Be brief.",
    input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "Look, please." }] }],
    tools: [{ type: "function", name: "look", description: "Looks", strict: false, parameters: SCHEMA }],
  },
};

/** The fields that a request cannot do without, and those whose refusal another test looks at. */
const NEEDED =
  /^(model|stream|stream_options|max_\w+|messages|input|system|instructions|tools|tool_choice|include|.*\.(role|content|type|text|name|function|parameters|input_schema|id|call_id))$/;
const KEYWORDS = ["pattern", "minLength", "format", "minimum", "$ref"];

interface Thing {
  name: string;
  path: string;
  isIn(body: JsonObject): boolean;
}

/** What a host could refuse of this body. */
function thingsIn(body: JsonObject): Thing[] {
  const things: Thing[] = [];
  const visit = (value: JsonValue | undefined, path: string) => {
    if (Array.isArray(value)) {
      visit(value[0], `${path}[]`);
      return;
    }
    if (!isJsonObject(value) || /metadata|parameters|input_schema|novelty/.test(path)) return;
    for (const name of Object.keys(value)) {
      const at = path === "" ? name : `${path}.${name}`;
      if (value[name] === undefined) continue;
      if (!NEEDED.test(at)) things.push({ name, path: at, isIn: (sent) => has(sent, at) });
      visit(value[name], at);
    }
  };
  visit(body, "");
  const text = JSON.stringify(body.tools ?? []);
  for (const name of KEYWORDS) {
    if (text.includes(`"${name}":`)) {
      things.push({ name, path: name, isIn: (sent) => JSON.stringify(sent.tools ?? []).includes(`"${name}":`) });
    }
  }
  return things;
}

function has(value: JsonValue | undefined, path: string): boolean {
  const [step = "", ...rest] = path.split(".");
  const name = step.replace(/\[\]$/, "");
  const inner = isJsonObject(value) ? value[name] : undefined;
  if (inner === undefined) return false;
  const all = step.endsWith("[]") && Array.isArray(inner) ? inner : [inner];
  return rest.length === 0 || all.some((one) => has(one, rest.join(".")));
}

/** Each is given the thing's name, and its path in the spelling of JSON. */
const STYLES: readonly ((thing: Thing) => [status: number, body: JsonValue])[] = [
  ({ path }) => [400, { error: { message: `Unsupported parameter: '${path}'`, param: path } }],
  ({ name }) => [400, { error: { message: `Unknown field \`${name}\` in request.` } }],
  (
    { name },
  ) => [422, { detail: [{ type: "extra_forbidden", loc: ["body", name], msg: "Extra inputs are not permitted" }] }],
  (
    { path },
  ) => [422, { error: `body -> ${path.replace("[]", ".0").replaceAll(".", " -> ")}\n  extra fields not permitted` }],
  ({ name }) => [400, { message: `json: unknown field "${name}"` }],
  ({ name }) => [400, `Additional properties are not allowed ('${name}' was unexpected)`],
  ({ path }) => [400, { error: { message: `${path.replaceAll("[]", "[0]")}: Extra inputs are not permitted` } }],
  (
    { path },
  ) => [400, { type: "about:blank", title: "Bad Request", detail: `Validation: \`${path}\` is not supported` }],
  ({ name }) => [400, { error: { code: "1210", message: `参数 ${name} 不支持` } }],
  ({ name }) => [400, { success: false, errors: [{ message: `property '${name}' is unsupported` }] }],
  ({ name }) => [400, `event: error\ndata: {"error":{"message":"Unrecognized key: \\"${name}\\""}}\n\n`],
  ({ name }) => [400, { error: { message: `Invalid request: ${name} must not be set for this model` } }],
  () => [400, { error: { message: "Invalid request" } }],
  () => [422, { message: "The request could not be processed" }],
  () => [400, ""],
];

/** From here on the styles name nothing. */
const FIRST_SILENT = STYLES.findIndex((style) => style.length === 0);
/** Fields that protect the client. They are left out only where they are named. */
const PROTECTING = /^(store|include)$/;

interface Case {
  client: Wire;
  upstream: Wire;
  picks: readonly number[];
  style: number;
}

const CASES: fc.Arbitrary<Case> = fc.record({
  client: fc.constantFrom(...WIRES),
  upstream: fc.constantFrom(...WIRES),
  picks: fc.array(fc.nat(1_000), { minLength: 1, maxLength: 2 }),
  style: fc.nat(STYLES.length - 1),
});

function refusing([status, body]: [number, JsonValue]): Response {
  return typeof body === "string" ? new Response(body, { status }) : Response.json(body, { status });
}

function bodyOf({ body }: Asked): JsonObject {
  return JSON.parse(body);
}

law(
  "law · relaxations: a request is served without what its host refuses",
  CASES,
  async ({ client, upstream, picks, style }) => {
    let refused: Thing[] | undefined;
    const fake = fakeUpstream((asked) => {
      const body = bodyOf(asked);
      const things = thingsIn(body);
      const named = things.filter(({ name }) => style < FIRST_SILENT || !PROTECTING.test(name));
      refused ??= picks.map((pick) => named[pick % named.length]!);
      const [first] = refused.filter((thing) => thing.isIn(body));
      return first ? refusing(STYLES[style]!(first)) : shortAnswer(upstream);
    });
    const app = newApp({ config: CONFIG, fetch: fake.fetch });
    const ask = async () => {
      const before = fake.asked.length;
      const response = await app.post(PATH[client], { model: upstream, ...BODY[client] });
      const text = await response.text();
      const notes = response.headers.get("x-laneway-notes") ?? "";
      return { status: response.status, notes, text, calls: fake.asked.length - before };
    };
    const first = await ask();
    const names = refused!.map(({ path }) => path);
    assertEquals(first.status, 200, `${names}: ${first.text}`);
    assertLessOrEqual(first.calls, MOST_CALLS);
    assert(/relaxed|dropped/.test(first.notes), `${names}: ${first.notes}`);
    // The conversation and the tools stay.
    const sent = fake.asked.at(-1)!.body;
    for (const kept of ["Look, please.", "Be brief.", "look", "900"]) assert(sent.includes(kept), `${names}: ${sent}`);
    let again = await ask();
    for (let turn = 0; turn < 60 && again.calls > 1; turn++) again = await ask();
    assertEquals([again.status, again.calls], [200, 1], `${names}`);
  },
);

law(
  "law · relaxations: a host that refuses everything is asked at most five times, and its words arrive",
  CASES,
  async ({ client, upstream, style }) => {
    let words: JsonValue = "";
    const fake = fakeUpstream((asked) => {
      const things = thingsIn(bodyOf(asked));
      const answer = STYLES[style]!(things[0] ?? { name: "anything", path: "anything", isIn: () => true });
      words = fake.asked.length <= 1 ? answer[1] : words;
      return refusing(answer);
    });
    const app = newApp({ config: CONFIG, fetch: fake.fetch });
    const response = await app.post(PATH[client], { model: upstream, ...BODY[client] });
    assert(response.status >= 400 && response.status < 500, String(response.status));
    assertLessOrEqual(fake.asked.length, MOST_CALLS);
    assertEquals(new Set(fake.asked.map(({ body }) => body)).size, fake.asked.length, "a body was sent twice");
    await response.body?.cancel();
  },
);
