/** How many calls a first and a second request cost for each kind of relaxation. `docs/decisions/relaxations.md` has the figures. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { CHAT, newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { answerOf } from "../support/refusing_hosts.ts";

interface Kind {
  kind: string;
  calls: readonly [first: number, second: number];
  /** The calls that are refused after the second request until the reason is known. */
  later?: number;
  /** What the host says of a body that it refuses. */
  refusal(body: JsonObject): string | undefined;
}

const turnsOf = ({ messages }: JsonObject) => (messages as JsonObject[]).filter(isJsonObject);
const isIn = (body: JsonObject, text: string) => JSON.stringify(body).includes(text);
const when = (isRefused: boolean, words: string) => isRefused ? words : undefined;

const KINDS: readonly Kind[] = [
  {
    kind: "a field that is named",
    calls: [2, 1],
    refusal: (body) => when("novelty" in body, "Unknown field `novelty`"),
  },
  {
    kind: "a field of a message, a part or a tool that is named",
    calls: [2, 1],
    refusal: (body) => when(isIn(body, '"strict"'), "tools[0].function.strict: Extra inputs are not permitted"),
  },
  {
    kind: "two fields that are named at once",
    calls: [2, 1],
    refusal: (body) => when("novelty" in body || "wideness" in body, "Unsupported parameters: 'novelty', 'wideness'"),
  },
  {
    kind: "two fields that are named one after the other",
    calls: [3, 1],
    refusal: (body) =>
      when("novelty" in body, "Unknown field `novelty`") ?? when("seed" in body, "Unknown field `seed`"),
  },
  {
    kind: "a number with the bound that is named",
    calls: [2, 1],
    refusal: ({ max_tokens: most }) => when(Number(most) > 512, "max_tokens must be at most 512"),
  },
  {
    kind: "a word that is named, without its field",
    calls: [2, 1],
    refusal: (body) => when(body.service_tier === "priority", "Invalid value: 'priority'. Supported values: 'default'"),
  },
  {
    kind: "a keyword of schemas that is named",
    calls: [2, 1],
    refusal: (body) => when(isIn(body, '"pattern"'), "The keyword 'pattern' is not supported"),
  },
  {
    kind: "a schema that cannot be read",
    calls: [2, 1],
    refusal: (body) => when(isIn(body, '"$ref"'), "Unable to generate parser: failed to read the schema"),
  },
  {
    kind: "a forced tool",
    calls: [2, 1],
    refusal: ({ tool_choice: choice }) => when(choice === "required", "tool_choice only supports 'auto'"),
  },
  {
    kind: "contents that are lists",
    calls: [2, 1],
    refusal: (body) =>
      when(turnsOf(body).some(({ content }) => Array.isArray(content)), "Input should be a valid string"),
  },
  {
    kind: "ids of another form",
    calls: [2, 1],
    refusal: (body) => when(isIn(body, "call_0123456789"), "Tool call id must be a-z, A-Z, 0-9, with a length of 9"),
  },
  {
    kind: "system messages that are not one at the front",
    calls: [2, 1],
    refusal: (body) =>
      when(
        turnsOf(body).some(({ role }, at) => at > 0 && role === "system"),
        "System message must be at the beginning",
      ),
  },
  {
    kind: "a field that must be there",
    calls: [2, 1],
    refusal: (body) =>
      when(
        turnsOf(body).some((turn) => turn.role === "assistant" && !("reasoning_content" in turn)),
        "reasoning_content must be passed back",
      ),
  },
  {
    kind: "an answer that is not streamed",
    calls: [2, 1],
    refusal: ({ stream }) => when(stream !== true, "This model only supports streaming"),
  },
  {
    kind: "one of 18 parts, not named",
    calls: [2, 2],
    later: 2,
    refusal: (body) => when("novelty" in body, "Invalid request"),
  },
  {
    kind: "two of 18 parts, not named",
    calls: [2, 2],
    later: 8,
    refusal: (body) => when("novelty" in body || isIn(body, '"pattern"'), "Invalid request"),
  },
  {
    kind: "another field than the one that is named",
    calls: [3, 2],
    later: 2,
    refusal: (body) => when("novelty" in body, "Invalid value of 'seed'"),
  },
  {
    kind: "everything, with words that name nothing",
    calls: [2, 2],
    refusal: () => "Invalid request",
  },
  {
    kind: "everything, with words that name a part each time",
    calls: [5, 5],
    refusal: (body) => `Unsupported parameter: '${Object.keys(body).findLast((name) => !REQUIRED.has(name))}'`,
  },
];

const REQUIRED = new Set(["model", "messages", "tools", "max_tokens", "tool_choice"]);

const BODY: JsonObject = {
  model: "model",
  temperature: 0.7,
  top_p: 0.9,
  seed: 7,
  user: "somebody",
  metadata: { a: "b" },
  frequency_penalty: 0.1,
  presence_penalty: 0.1,
  service_tier: "priority",
  parallel_tool_calls: false,
  novelty: 1,
  wideness: 2,
  max_tokens: 907,
  tool_choice: "required",
  tools: [{
    type: "function",
    function: {
      name: "look",
      description: "Looks",
      strict: false,
      parameters: {
        type: "object",
        properties: { path: { type: "string", pattern: "^/" }, more: { $ref: "https://schemas.test/other.json" } },
      },
    },
  }],
  messages: [
    { role: "user", content: [{ type: "text", text: "What was" }, { type: "text", text: " there?" }] },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_0123456789", type: "function", function: { name: "look", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "call_0123456789", content: "a file" },
    { role: "system", content: "Be brief." },
    { role: "user", name: "ann", content: "Look, please." },
  ],
};

const PAGE = await Deno.readTextFile(new URL("../../docs/decisions/relaxations.md", import.meta.url));

for (const { kind, calls, later = 0, refusal } of KINDS) {
  Deno.test(`relaxations: ${kind} costs ${calls[0]} calls, then ${calls[1]}`, async () => {
    const fake = fakeUpstream(({ body }) => {
      const sent: JsonObject = JSON.parse(body);
      const message = refusal(sent);
      return message === undefined ? answerOf("chat", sent) : Response.json({ error: { message } }, { status: 400 });
    });
    const app = newApp({ fetch: fake.fetch });
    const ask = async () => {
      const before = fake.asked.length;
      await (await app.post(CHAT, BODY)).text();
      return fake.asked.length - before;
    };
    assertEquals([await ask(), await ask()], [...calls]);
    let refused = 0;
    if (!kind.startsWith("everything")) { for (let turn = 0; turn < 40; turn++) refused += await ask() - 1; }
    assertEquals(refused, later);
    const row = `| ${kind} | ${calls[0]} | ${calls[1]} | ${later} |`;
    assertStringIncludes(PAGE.replace(/ +/g, " "), row);
  });
}
