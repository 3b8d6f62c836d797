/**
 * What the command `probe` finds out of each engine, whose model answers each question by its script; and that a gateway
 * with the entry that follows lets the model call a tool, whole and streamed.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { examineServer } from "../../src/programs/probe/examine.ts";
import { type ConfigInput, newApp } from "../support/app.ts";
import { bodyFor, MODES, post, TOOLS, WIRES } from "../regressions/support.ts";
import { ENGINES, MODELS, withEngine } from "./engines.ts";

/** What the engine finds out to be, and what only it does. */
const FOUND: Record<string, { title: RegExp; values: Record<string, RegExp> }> = {
  "llama-server": {
    title: /^llama\.cpp /,
    values: {
      tools: /^called/,
      reasoning: /^in reasoning_content/,
      "structured output": /^follows/,
      counting: /input_tokens$/,
    },
  },
  vLLM: {
    title: /^vLLM \d/,
    values: {
      tools: /^called/,
      reasoning: /^in reasoning;/,
      "structured output": /^follows/,
      counting: /tokenize$/,
    },
  },
  transformers: {
    title: /^transformers serve/,
    values: {
      tools: /in the text/,
      reasoning: /^in the text/,
      "structured output": /^ignores/,
      streaming: /without \[DONE\]/,
      fields: /^refuses logit_bias$/,
    },
  },
  "llama-cpp-python": {
    title: /^llama-cpp-python \d/,
    values: { tools: /in the text/, reasoning: /^in the text/, "structured output": /^refused with 500/ },
  },
  litellm: {
    title: /^LiteLLM \d/,
    values: { tools: /^called/, reasoning: /^in reasoning_content/, "structured output": /^follows/ },
  },
};

/** The script that the tiny model is to follow, by what it is asked. */
const SCRIPTS: readonly [asked: RegExp, script: string][] = [
  [/Call both tools/, "#twotools"],
  [/Think first/, "#think"],
];

/** Stands before the engine, and chooses its model's script. */
async function withScripts(engine: string, use: (baseUrl: string) => Promise<void>) {
  const { origin, pathname } = new URL(engine);
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async ({ url, method, headers, body }) => {
      const asked = body && await new Response(body).text();
      const text = asked && SCRIPTS.reduce((rest, [is, script]) => rest.replace(is, `$& ${script}`), asked);
      const { pathname, search } = new URL(url);
      const sent = new Headers(headers);
      for (const name of ["host", "content-length", "accept-encoding"]) sent.delete(name);
      return await fetch(`${origin}${pathname}${search}`, { method, headers: sent, body: text });
    },
  );
  try {
    await use(`http://127.0.0.1:${server.addr.port}${pathname}`);
  } finally {
    await server.shutdown();
  }
}

for (const engine of ENGINES) {
  withEngine({ ...engine, name: `${engine.name}: probe` }, (baseUrl) => {
    Deno.test(`${engine.name}: probe finds out what it is, and its entry serves an agent of each wire`, () =>
      withScripts(baseUrl, async (url) => {
        const { title, findings, entry } = await examineServer({ url, model: MODELS.chat, patienceMs: 120_000 });
        const { title: isTitle, values } = FOUND[engine.name]!;
        assertMatch(title ?? "nothing", isTitle);
        const valueOf = (name: string) => findings.find(({ property }) => property === name)?.value ?? "not found";
        for (const [property, value] of Object.entries(values)) assertMatch(valueOf(property), value, property);
        for (const wire of engine.wires) assertEquals(valueOf(`${wire} wire`), "served");

        const targets = [{ upstream: "probed", model: MODELS.chat }];
        const upstream: object = { ...entry, baseUrl };
        const config = {
          upstreams: { probed: upstream },
          lanes: { oss: { models: { chat: { task: "chat", targets } } } },
        };
        const app = newApp({ config: config as ConfigInput, fetch, now: Date.now });
        try {
          for (const client of WIRES) {
            for (const mode of MODES) {
              const stream = mode === "streamed";
              const turns = [{ asked: "#tool", pictures: [], thought: undefined, answered: undefined, calls: [] }];
              const tools = [{ ...TOOLS[0]!, name: "get_weather" }];
              const called = await post(app, client, bodyFor(client, { turns, tools, maxTokens: 300, stream }));
              assertEquals([called.status, called.end], [200, "tool-calls"], JSON.stringify(called.body));
              assertEquals(called.said.flatMap((one) => "call" in one ? [one.call] : []), ["get_weather"]);
              const said = await post(app, client, bodyFor(client, { maxTokens: 100, stream }));
              assertEquals([said.status, said.end], [200, "stop"], JSON.stringify(said.body));
            }
          }
        } finally {
          await app.close();
        }
      }));
  });
}
