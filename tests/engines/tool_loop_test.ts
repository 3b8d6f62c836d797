/**
 * The loop that agents live in, on each engine, over each wire that it speaks, for a client of each protocol, whole and
 * streamed: the user asks, the model thinks, says something and calls tools, reads what they gave, and answers in words.
 */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { nextTurn } from "../regressions/next_turn.ts";
import { bodyFor, type Mode, MODES, post, type Said, type View, type Wire, WIRES } from "../regressions/support.ts";
import type { Script } from "../support/script.ts";
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { type Engine, ENGINES, MODELS, withEngine } from "./engines.ts";

const TOOLS: Script["tools"] = [{
  name: "get_weather",
  description: "Get the weather",
  schema: { type: "object", properties: { location: { type: "string" } }, required: ["location"] },
}];
const weatherIn = (location: string): Said => ({ call: "get_weather", input: { location } });

/** What the model is asked, and what it says before the tools have answered. */
const SCRIPTS: Record<string, Said[]> = {
  "#tool": [weatherIn("San Francisco, CA")],
  "#twotools": [weatherIn("Paris"), weatherIn("Tokyo")],
  "#texttool": [{ text: "I will check that for you." }, weatherIn("Oslo")],
  "#thinktool": [{ reasoning: "I should look up the weather first." }, weatherIn("Rome")],
};
const ANSWER: Said[] = [{ text: "The tool said it is sunny, so it is a nice day." }];

function configOf({ wires }: Engine, baseUrl: string): ConfigInput {
  return {
    upstreams: Object.fromEntries(wires.map((wire) => [wire, {
      driver: wire,
      baseUrl,
      // Not every engine reads the calls and thoughts in its model's text.
      ...(wire === "chat" && { textForms: "parse" as const }),
    }])),
    lanes: {
      oss: {
        models: Object.fromEntries(
          wires.map((wire) => [wire, { task: "chat", targets: [{ upstream: wire, model: MODELS.chat }] }]),
        ),
      },
    },
  };
}

/** What was said, without the blanks around it and the ids of calls. */
function bare({ said }: View): Said[] {
  return said.map((one): Said => {
    if ("call" in one) return { call: one.call, input: one.input };
    const [[kind, text]] = Object.entries(one) as [[string, string]];
    return { [kind]: text.trim() } as unknown as Said;
  }).filter((one) => "call" in one || Object.values(one)[0] !== "");
}

function assertOk({ status, error, body }: View): void {
  assertEquals([status, error], [200, undefined], JSON.stringify(body));
}

/** Asked for at most this many tokens: enough for each script, and within a small window. */
const ROOM = 300;

function asked(client: Wire, upstream: Wire, prompt: string, mode: Mode, tools = TOOLS): JsonObject {
  const turns = [{ asked: prompt, pictures: [], thought: undefined, answered: undefined, calls: [] }];
  return bodyFor(client, { turns, tools, maxTokens: ROOM, stream: mode === "streamed" }, upstream);
}

async function loop(app: TestApp, client: Wire, upstream: Wire, mode: Mode, prompt: string): Promise<void> {
  const body = asked(client, upstream, prompt, mode);
  const first = await post(app, client, body);
  assertOk(first);
  assertEquals([bare(first), first.end], [SCRIPTS[prompt], "tool-calls"]);
  const ids = first.said.flatMap((one) => "call" in one ? [one.id] : []);
  assertEquals(new Set(ids).size, ids.length, "each call has an id of its own");
  assert((first.usage?.input ?? 0) > 0 && (first.usage?.output ?? 0) > 0, JSON.stringify(first.usage));

  const second = await post(app, client, nextTurn(client, body, first));
  assertOk(second);
  assertEquals([bare(second), second.end], [ANSWER, "stop"]);
}

/** How each protocol names the tool that is to be called: one whose arguments the model's script `#json` writes. */
const FORCED: Record<Wire, JsonObject> = {
  chat: { tool_choice: { type: "function", function: { name: "save_person" } } },
  messages: { tool_choice: { type: "tool", name: "save_person" } },
  responses: { tool_choice: { type: "function", name: "save_person" } },
};
const PERSON = {
  name: "save_person",
  description: "Save a person",
  schema: {
    type: "object",
    properties: { name: { type: "string" }, age: { type: "integer" } },
    required: ["name", "age"],
  },
};

for (const engine of ENGINES) {
  withEngine(engine, (baseUrl) => {
    const newGateway = () => newApp({ config: configOf(engine, baseUrl), fetch, now: Date.now });
    for (const upstream of engine.wires) {
      for (const client of WIRES) {
        for (const mode of MODES) {
          const way = `${engine.name} over ${upstream} for ${client}, ${mode}`;
          for (const prompt of Object.keys(SCRIPTS)) {
            Deno.test(`${way}: ${prompt}`, () => loop(newGateway(), client, upstream, mode, prompt));
          }
          if (!engine.forces) continue;
          Deno.test(`${way}: a tool that is named is called once`, async () => {
            const body = { ...asked(client, upstream, "#json", mode, [PERSON]), ...FORCED[client] };
            const view = await post(newGateway(), client, body);
            assertOk(view);
            assertEquals([bare(view), view.end], [
              [{ call: "save_person", input: { name: "Ada", age: 36 } }],
              "tool-calls",
            ]);
          });
        }
      }
    }
  });
}
