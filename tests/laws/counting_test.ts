/** What an upstream is asked to count is what it would be asked to answer, in every field that costs tokens. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { protocols } from "../../plugins/mod.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { type ConfigInput, newApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { loadFixtures } from "../support/fixtures.ts";
import { law, SAMPLE, sampleOf } from "../support/law.ts";
import { messagesRequest } from "../support/messages_arbitraries.ts";
import { responsesRequest } from "../support/responses_arbitraries.ts";

/** The wires whose clients count, where, and what they ask. */
const CLIENTS = {
  messages: {
    generate: "/oss/v1/messages",
    count: "/oss/v1/messages/count_tokens",
    headers: { "anthropic-version": "2023-06-01" },
    request: messagesRequest,
  },
  responses: {
    generate: "/oss/v1/responses",
    count: "/oss/v1/responses/input_tokens",
    headers: {},
    request: responsesRequest,
  },
} as const;
type Client = keyof typeof CLIENTS;

/** The upstreams that count, and of the fields of their wires those that are tokens to the model. */
const COUNTERS = {
  "chat, input_tokens": {
    upstream: { driver: "chat", counter: "input_tokens" },
    fields: ["messages", "tools", "tool_choice", "response_format", "chat_template_kwargs", "reasoning_effort"],
  },
  "chat, tokenize": {
    upstream: { driver: "chat", counter: "tokenize" },
    fields: ["messages", "tools", "chat_template_kwargs"],
  },
  "chat, chat_tokenize": {
    upstream: { driver: "chat", counter: "chat_tokenize" },
    fields: ["messages", "tools", "tool_choice", "response_format", "chat_template_kwargs", "reasoning_effort"],
  },
  messages: {
    upstream: { driver: "messages", counter: "count_tokens" },
    fields: ["system", "messages", "tools", "tool_choice", "thinking", "output_config"],
  },
  responses: {
    upstream: { driver: "responses", counter: "input_tokens" },
    fields: ["instructions", "input", "tools", "tool_choice", "reasoning", "text"],
  },
} as const;
type Counter = keyof typeof COUNTERS;

/** What models take besides: one whose effort, files and form of answer are limited is told less, and so counts less. */
const MODELS: Record<string, { model: string; limits?: object; upstream?: object }> = {
  open: { model: "org/model" },
  vendors: { model: "claude-opus-5-5" },
  limited: { model: "org/model", limits: { efforts: ["low", "high"], inputModalities: ["text"] } },
  instructed: { model: "org/model", upstream: { structuredOutput: "instruct" } },
};

function configFor(counter: Counter, { model, limits, upstream }: typeof MODELS[string]): ConfigInput {
  const server = { baseUrl: "http://server.test/v1", ...COUNTERS[counter].upstream, ...upstream };
  return {
    upstreams: { server },
    lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "server", model }], ...limits } } } },
  } as ConfigInput;
}

/** A gateway before an upstream that refuses everything, and what is asked of it. */
function newSetting(config: ConfigInput) {
  const upstream = fakeUpstream(() => Response.json({ error: { message: "Not now" } }, { status: 400 }));
  const clock = { ms: 0 };
  const app = newApp({ config, fetch: upstream.fetch, monotonic: () => clock.ms });
  return { upstream, clock, app };
}

const settings = new Map<string, ReturnType<typeof newSetting>>();

function settingFor(counter: Counter, model: string) {
  const key = `${counter} ${model}`;
  const setting = settings.get(key) ?? newSetting(configFor(counter, MODELS[model]!));
  settings.set(key, setting);
  return setting;
}

/** The body with which the upstream is asked first; nothing where the gateway refuses the request. */
async function asked(
  path: string,
  client: Client,
  body: JsonObject,
  { upstream, clock, app }: ReturnType<typeof newSetting>,
): Promise<JsonObject | undefined> {
  // What an upstream refused is long forgotten.
  clock.ms += 86_400_000;
  upstream.asked.length = 0;
  await (await app.post(path, body, CLIENTS[client].headers)).body?.cancel();
  const [call] = upstream.asked;
  return call && JSON.parse(call.body);
}

async function assertCountsTheSame(client: Client, body: JsonObject, counter: Counter, model: string): Promise<void> {
  const setting = settingFor(counter, model);
  // For a summary the model is asked in words that are not the client's.
  if (JSON.stringify(body).includes('"compaction_trigger"')) return;
  const { context_management: _, ...rest } = body;
  const plain = { ...rest, model: "model", stream: false };
  const generated = await asked(CLIENTS[client].generate, client, plain, setting);
  if (!generated) return;
  const counted = await asked(CLIENTS[client].count, client, plain, setting);
  if (!counted) throw new Error("The upstream was not asked to count");
  const { fields } = COUNTERS[counter];
  const costly = (sent: JsonObject) => Object.fromEntries(fields.map((field) => [field, sent[field]]));
  assertEquals(costly(counted), costly(generated));
}

for (const client of Object.keys(CLIENTS) as Client[]) {
  // Many fixtures answer the same request.
  const bodies = new Map(
    loadFixtures(client).map(({ request: { body } }) => body).filter(isJsonObject).map((body) => {
      const plain = { ...body, model: "model", stream: false };
      return [JSON.stringify(plain), plain];
    }),
  );
  for (const [turn, counter] of (Object.keys(COUNTERS) as Counter[]).entries()) {
    Deno.test(`counting: ${client} to ${counter}: the fixtures (${SAMPLE})`, async () => {
      // Every fixture meets every model, each at another counter.
      const models = Object.keys(MODELS);
      for (const [index, body] of sampleOf([...bodies.values()]).entries()) {
        await assertCountsTheSame(client, body, counter, models[(index + turn) % models.length]!);
      }
    });
  }
  const upstream = fc.tuple(
    fc.constantFrom(...Object.keys(COUNTERS) as Counter[]),
    fc.constantFrom(...Object.keys(MODELS)),
  );
  law(`counting: ${client} to any counter`, fc.tuple(CLIENTS[client].request, upstream), async ([body, at]) => {
    await assertCountsTheSame(client, body, ...at);
  });
}

Deno.test("every protocol has a wire, and those that share one share it with what generates", () => {
  const wires = new Set(protocols.map(({ wire }) => wire));
  for (const { name, wire, operation } of protocols) {
    if (operation === "countTokens") {
      const speaks = protocols.some((one) => one.operation === "generate" && one.wire === wire);
      assert(speaks, `${name} speaks ${wire}`);
    }
  }
  const named = [...pluginTexts()].flatMap((text) =>
    [...text.matchAll(/^export const WIRE = "(.*)";$/gm)].map(([, name]) => name!)
  );
  assertEquals([...wires].filter((wire) => !named.includes(wire)), []);
  assertEquals(named.length, new Set(named).size, "two files name the same wire");
});

/** The files of all wires. */
function* pluginTexts(): Iterable<string> {
  const folder = new URL("../../plugins/", import.meta.url);
  for (const room of Deno.readDirSync(folder)) {
    if (!room.isDirectory) continue;
    const own = new URL(`${room.name}/`, folder);
    for (const { name } of Deno.readDirSync(own)) {
      if (name.endsWith(".ts")) yield Deno.readTextFileSync(new URL(name, own));
    }
  }
}
