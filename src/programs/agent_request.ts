/** Finds out what a model refuses of an agent's usual request, with a gateway that asks again without it. */
import type { JsonObject } from "../canonical/json.ts";
import type { ProcessStatus } from "../context/workers.ts";
import type { RefusedPart } from "../upstream/learnt.ts";

/** The tools of agents have schemas with keywords that some servers do not know. */
const PARAMETERS = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    path: { type: "string", pattern: "^[^\\0]+$", minLength: 1 },
    since: { type: "string", format: "date-time" },
    limit: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }], default: null },
    filter: { $ref: "#/$defs/filter" },
    options: { type: ["object", "null"], additionalProperties: true },
  },
  required: ["path"],
  additionalProperties: false,
  $defs: { filter: { type: "object", properties: { any: true } } },
};

/** A chat request without its model. */
const REQUEST: JsonObject = {
  max_tokens: 16,
  temperature: 0.7,
  top_p: 0.95,
  messages: [
    { role: "system", content: [{ type: "text", text: "You are an agent." }, { type: "text", text: "Be brief." }] },
    { role: "user", content: [{ type: "text", text: "Say: pong" }] },
    {
      role: "assistant",
      content: null,
      tool_calls: [{
        id: "call_00000000000000000000000000",
        type: "function",
        function: { name: "read", arguments: "{}" },
      }],
    },
    { role: "tool", tool_call_id: "call_00000000000000000000000000", content: "pong" },
    { role: "user", content: "Say it again." },
  ],
  tools: [{ type: "function", function: { name: "read", description: "Reads a file", parameters: PARAMETERS } }],
  tool_choice: "auto",
  parallel_tool_calls: true,
};

/** A search for a part that the host does not name takes this many requests at most. */
const MOST_REQUESTS = 12;
/** So many answers in a row with the notes of the one before show that nothing is searched for. A step of a search may fail. */
const MOST_ALIKE = 2;

/** `ask` returns the notes of an answer, or nothing if there was none. Returns whether the model answers the request in some form. */
export async function askAsAgent(
  model: string,
  ask: (body: string) => Promise<string | undefined>,
): Promise<boolean> {
  const body = JSON.stringify({ model, ...REQUEST });
  let before: string | undefined;
  for (let requests = 0, alike = 0; alike < MOST_ALIKE && requests < MOST_REQUESTS; requests++) {
    const notes = await ask(body);
    if (notes === undefined) return false;
    if (notes === "") break;
    alike = notes === before ? alike + 1 : 0;
    before = notes;
  }
  return true;
}

/** The parts that a status page lists for a model. */
export function partsIn({ upstreams }: ProcessStatus, upstream: string, model: string): RefusedPart[] {
  const found = upstreams.find(({ name }) => name === upstream);
  return (found?.refused ?? []).filter((part) => part.model === model);
}

/** The settings that say the same, in one, and the parts for which there are none, in words. */
export function settingsOf(parts: readonly RefusedPart[]): { settings: JsonObject; others: string[] } {
  const refuses = [...new Set(parts.flatMap(({ settings }) => settings?.refuses as string[] | undefined ?? []))];
  const { refuses: _, ...more } = Object.assign({}, ...parts.map((part) => part.settings));
  const settings = { ...refuses.length > 0 && { refuses }, ...more };
  return { settings, others: parts.filter((part) => part.settings === undefined).map(inWords) };
}

export function inWords({ part, kind }: RefusedPart): string {
  return `${part} (${kind})`;
}
