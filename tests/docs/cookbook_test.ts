/** The recipes of the cookbook, as they stand there: each configuration before fakes, each program and each call. */
import { assert, assertEquals } from "@std/assert";
import { builtIn, createApp, pluginFacts } from "../../src/app.ts";
import { parseConfig } from "../../src/config/load.ts";
import { mergeJson } from "../../src/util/config_text.ts";
import { answerWhole } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { runLaunched, withFolder, withLaunched } from "../support/process.ts";
import { isRedisMissing, startRedis } from "../support/redis_server.ts";
import { until } from "../support/wait.ts";
import { treatmentOf } from "./commands.ts";
import { type Block, blocksOf, commandsOf, readDocument } from "./documents.ts";
import { obstacleTo, runCommands, runProgram } from "./programs.ts";
import { type Call, checkOutput, type Recipe, RECIPES } from "./recipes.ts";

const PAGE = "docs/cookbook.md";
const defaults = JSON.parse(readDocument("gateway.default.json"));

/** The blocks below each heading. */
const sections = new Map(
  readDocument(PAGE).split(/^## /m).slice(1).map((text) => {
    const heading = text.slice(0, text.indexOf("\n"));
    return [heading, blocksOf({ path: PAGE, text })] as const;
  }),
);

/** Recipes that no request shows, each with a test of its own below. */
const APART = ["New keys without a restart", "A stage of your own"];

function configOf(heading: string): Record<string, unknown> {
  return JSON.parse(sections.get(heading)!.find(({ language }) => language === "json")!.code);
}

interface Served {
  urls: string[];
  calls: Call[];
}

/** Calls `use` with two gateways of the recipe, before its fakes. */
async function withRecipe(heading: string, recipe: Recipe, use: (served: Served) => Promise<void>): Promise<void> {
  const redis = heading.includes("Redis") ? await startRedis() : undefined;
  const secrets: Record<string, string> = { ...recipe.env, ...redis && { REDIS_URL: redis.url } };
  const env = (name: string) => secrets[name];
  const calls: Call[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const authorization = request.headers.get("authorization");
    const call = { url: request.url, authorization, body: await request.clone().text() };
    calls.push(call);
    return await recipe.answer!(request, call);
  };
  const store = redis ? undefined : { kind: "memory" };
  const value = mergeJson(defaults, { ...store && { store }, ...configOf(heading), extends: null });
  const config = parseConfig(value, PAGE, { ...pluginFacts(), env });
  const apps = [1, 2].map(() => createApp({ config, env, fetch, log: () => {} }));
  const servers = apps.map((app) =>
    Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request, info) => app.fetch(request, info))
  );
  try {
    await use({ urls: servers.map(({ addr }) => `http://127.0.0.1:${addr.port}`), calls });
  } finally {
    for (const server of servers) await server.shutdown();
    for (const app of apps) await app.close();
    await redis?.stop();
  }
}

/** The blocks of a recipe that run against its gateway: programs, and commands that call it. */
function runnable(blocks: readonly Block[]): Block[] {
  return blocks.filter(({ language, code }) =>
    /^(ts|python|sh)$/.test(language) && code.includes("http://127.0.0.1:8000/")
  );
}

Deno.test("cookbook: every recipe is tested", () => {
  assertEquals([...sections.keys()].toSorted(), [...Object.keys(RECIPES), ...APART].toSorted());
  assert(sections.size >= 12);
});

Deno.test("cookbook: calls stand there in three languages, and every other command has a test", () => {
  for (const [heading, blocks] of sections) {
    const languages = new Set(runnable(blocks).map(({ language }) => language));
    if (languages.has("ts") || languages.has("python")) {
      assertEquals(languages, new Set(["ts", "python", "sh"]), heading);
    }
    const rest = blocks.filter((block) => block.language === "sh" && !runnable([block]).length);
    for (const { code } of rest) {
      for (const command of commandsOf({ path: PAGE, text: `\`\`\`sh\n${code}\`\`\`\n` })) {
        assert(treatmentOf(command), command);
      }
    }
  }
});

for (const [heading, recipe] of Object.entries(RECIPES)) {
  const needsRedis = heading.includes("Redis");
  Deno.test({
    name: `cookbook: ${heading}`,
    ignore: needsRedis && isRedisMissing,
    fn: (test) =>
      withFolder((folder) =>
        withRecipe(heading, recipe, async ({ urls, calls }) => {
          // Commands first: a later program may use the file that they made.
          const blocks = runnable(sections.get(heading)!).toSorted((one, two) =>
            one.language === "sh" ? -1 : two.language === "sh" ? 1 : 0
          );
          for (const block of blocks) {
            const obstacle = obstacleTo(block);
            await test.step({
              name: obstacle === undefined ? block.language : `${block.language} (skipped: ${obstacle})`,
              ignore: obstacle !== undefined,
              fn: async () => {
                const run = block.language === "sh" ? runCommands : runProgram;
                checkOutput(recipe, await run(block, urls, folder, recipe.env));
              },
            });
          }
          recipe.check?.(calls);
        })
      ),
  });
}

Deno.test("cookbook: New keys without a restart", () =>
  withFolder(async (folder) => {
    const seen: (string | null)[] = [];
    const provider = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      seen.push(request.headers.get("authorization"));
      return answerWhole();
    });
    const secret = `${folder}/groq`;
    const baseUrl = `http://127.0.0.1:${provider.addr.port}/v1`;
    const config = JSON.stringify(configOf("New keys without a restart")).replace("/run/secrets/groq", secret)
      .replace('"provider":"groq"', `"provider":"groq","baseUrl":"${baseUrl}"`);
    const store = { store: { path: `${folder}/data/store.sqlite3` } };
    await Deno.writeTextFile(`${folder}/gateway.json`, JSON.stringify({ ...JSON.parse(config), ...store }));
    await Deno.writeTextFile(secret, "gsk-old");
    const options = { cwd: folder };
    const secretOf = async (...args: string[]) => (await runLaunched(["keys", ...args], options)).stdout.trim();
    try {
      const old = await secretOf("create", "anna", "--lane", "oss");
      await withLaunched([], options, async ({ url }) => {
        const ask = async (key: string) => {
          const body = JSON.stringify({ model: "gpt-oss", messages: [{ role: "user", content: "Hello" }] });
          const headers = { "content-type": "application/json", "x-api-key": key };
          const answer = await fetch(`${url}/oss/v1/chat/completions`, { method: "POST", headers, body });
          await answer.body?.cancel();
          return answer.status;
        };
        assertEquals(await ask(old), 200);
        const renewed = await secretOf("rotate", "anna", "--keep", "7d");
        await until(async () => (await ask(renewed)) === 200);
        assertEquals([await ask(old), seen.at(-1)], [200, "Bearer gsk-old"]);
        await Deno.writeTextFile(secret, "gsk-new");
        await until(async () => (await ask(old), seen.at(-1) === "Bearer gsk-new"));
      });
    } finally {
      await provider.shutdown();
    }
  }));

Deno.test("cookbook: A stage of your own", () =>
  withFolder(async (folder) => {
    const [{ code }, section] = sections.get("A stage of your own")! as [Block, Block];
    await Deno.writeTextFile(`${folder}/house_style.ts`, code);
    const { houseStyle } = await import(`file://${folder}/house_style.ts`);
    const plugins = { stages: [houseStyle, ...builtIn.stages] };
    const upstream = fakeUpstream(() => answerWhole());
    const config = parseConfig(
      {
        upstreams: { fake: { driver: "chat", baseUrl: "http://fake/v1" } },
        lanes: { oss: { models: { m: { task: "chat", targets: [{ upstream: "fake", model: "m" }] } } } },
        store: { kind: "memory" },
        ...JSON.parse(section.code),
      },
      PAGE,
      { ...pluginFacts({ ...builtIn, ...plugins }), env: () => undefined },
    );
    const app = createApp({ config, plugins, fetch: upstream.fetch, log() {} });
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }] });
    const answer = await app.fetch(new Request("http://gateway/oss/v1/chat/completions", { method: "POST", body }));
    assertEquals(answer.status, 200);
    const [rules] = JSON.parse(upstream.asked[0]!.body).messages;
    assertEquals(rules, { role: "system", content: "Answer in British English." });
    await app.close();
  }));
