/** `examples/own_stage`: it changes what it is for, and its section is part of the configuration. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { builtIn, ConfigError, createApp, parseConfig } from "@laneway/gateway";
import type { GenerateRequest, StageContext } from "@laneway/gateway/plugin";
import { houseRules } from "../../examples/own_stage/house_rules.ts";
import { passStages } from "../../src/transforms/pass_stages.ts";
import { ANSWER, answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { withFolder, withLaunched } from "../support/process.ts";

const ROOT = new URL("../../", import.meta.url);
const RULES = { text: "Answer in British English.", keys: ["support-*"] };
const CONFIG = {
  upstreams: { sandbox: { driver: "sandbox" } },
  lanes: { oss: { models: { sandbox: { task: "chat", targets: [{ upstream: "sandbox", model: "sandbox" }] } } } },
  store: { kind: "memory" },
};
const plugins = { stages: [houseRules, ...builtIn.stages] };
const input: GenerateRequest = {
  model: "m",
  stream: false,
  messages: [{ role: "user", content: [{ type: "text", text: "Colour?" }] }],
};
const about = (name: string): StageContext => ({
  operation: "generate",
  caller: { name, owner: name },
  lane: "oss",
  model: "m",
  target: "sandbox/m",
  clientWire: "chat",
  signal: new AbortController().signal,
  note() {},
});

Deno.test("own stage: the keys that it is for get its instructions", async () => {
  const host = { key: () => Promise.resolve(new Uint8Array(32)) };
  const stages = [houseRules.create(houseRules.options.parse(RULES), host)];
  const changed = await passStages<"generate">(stages, input, about("support-1"));
  assertEquals(changed.input.messages.map(({ role }) => role), ["system", "user"]);
  assertEquals(input.messages.length, 1);
  assert((await passStages<"generate">(stages, input, about("sales"))).input === input);
});

Deno.test("own stage: upstreams receive its text, and clients the answer as it is", async () => {
  const upstream = fakeUpstream(({ body }) =>
    JSON.parse(body).stream ? answerStream([word("Grey."), ENDING]) : answerWhole()
  );
  const env = { A: "key-of-support-a1b2", B: "key-of-sales-c3d4" } as Record<string, string>;
  const config = {
    ...CONFIG,
    keys: [{ name: "support-1", secret: { env: "A" } }, { name: "sales", secret: { env: "B" } }],
    upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1" } },
    lanes: { oss: { models: { m: { task: "chat", targets: [{ upstream: "fake", model: "org/m" }] } } } },
    houseRules: RULES,
  };
  const look = (name: string) => env[name];
  const parsed = parseConfig(config, { plugins, env: look });
  const app = createApp({ config: parsed, plugins, env: look, fetch: upstream.fetch, log() {} });
  for (const stream of [false, true]) {
    for (const [key, roles] of [["A", ["system", "user"]], ["B", ["user"]]] as const) {
      const response = await app.fetch(
        new Request("http://gateway/oss/v1/chat/completions", {
          method: "POST",
          headers: { authorization: `Bearer ${env[key]}` },
          body: JSON.stringify({ model: "m", stream, messages: [{ role: "user", content: "Colour?" }] }),
        }),
      );
      const text = await response.text();
      assertEquals(response.status, 200, text);
      assertStringIncludes(text, stream ? "Grey." : ANSWER.choices[0]!.message.content);
      assert(!text.includes(RULES.text));
      const { messages } = JSON.parse(upstream.asked.at(-1)!.body) as { messages: { role: string; content: string }[] };
      assertEquals(messages.map(({ role }) => role), [...roles]);
      assertEquals(messages[0]!.content, key === "A" ? RULES.text : "Colour?");
    }
  }
});

Deno.test("own stage: its section is checked like every other", () => {
  const parse = (sections: object) => parseConfig({ ...CONFIG, ...sections }, { plugins });
  const app = createApp({ config: parse({ houseRules: RULES }), plugins });
  assert(app.fetch);
  assertThrows(() => parse({ houseRules: { txt: "x" } }), ConfigError, "houseRules.text");
  assertThrows(() => parse({ houseRule: RULES }), ConfigError, 'did you mean "houseRules"?');
  assertThrows(() => parseConfig({ ...CONFIG, houseRules: RULES }), ConfigError, "houseRules: Unknown setting");
});

Deno.test("own stage: its program starts with its section", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify({ ...CONFIG, houseRules: RULES }));
    const args = ["--main", "examples/own_stage/main.ts", "--config", `${folder}/gateway.json`];
    await withLaunched(args, { cwd: ROOT.pathname }, async ({ url }) => {
      assertStringIncludes(await (await fetch(`${url}/oss/v1/models`)).text(), "sandbox");
    });
  });
});
