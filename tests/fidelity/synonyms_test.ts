/** Fields that have two names: what is said twice counts once, and what does not count is noted. */
import { assertEquals } from "@std/assert";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { exchange, UPSTREAMS } from "./exchange.ts";
import type { UpstreamWire } from "../../plugins/programs/fidelity/sample.ts";

const HI = { messages: [{ role: "user", content: "Hi" }] };
const TOOLS = ["a", "b"].map((name) => ({ type: "function", function: { name, parameters: { type: "object" } } }));
const schema = (name: string) => ({ type: "object", properties: { [name]: { type: "string" } } });
const format = (name: string) => ({ type: "json_schema", schema: schema(name) });
const thought = (fields: JsonObject) => ({
  messages: [{ role: "user", content: "Hi" }, { role: "assistant", content: "Yes", ...fields }, {
    role: "user",
    content: "Go on",
  }],
});

interface Pair {
  /** What is noted of the name that does not count. */
  note: string;
  wire: UpstreamWire;
  /** The field by the name that counts, by the other one, or by both, each with a value of its own. */
  said: (counts: number | undefined, other: number | undefined) => JsonObject;
}

/** The fields that have a value. */
function only(fields: Record<string, JsonValue | undefined | false>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== false),
  ) as JsonObject;
}

const of = <T>(values: readonly T[], at: number | undefined) => at === undefined ? undefined : values[at];

const PAIRS: Pair[] = [
  {
    note: "dropped max_tokens",
    wire: "chat",
    said: (counts, other) => ({
      ...HI,
      ...only({ max_completion_tokens: of([11, 12], counts), max_tokens: of([11, 12], other) }),
    }),
  },
  {
    note: "dropped function_call",
    wire: "chat",
    said: (counts, other) => ({
      ...HI,
      tools: TOOLS,
      ...only({
        tool_choice: of([{ type: "function", function: { name: "a" } }, "none"], counts),
        function_call: of([{ name: "a" }, "none"], other),
      }),
    }),
  },
  {
    note: "dropped tool_choice.name",
    wire: "chat",
    said: (counts, other) => ({
      ...HI,
      tools: TOOLS,
      tool_choice: {
        type: "function",
        ...only({ function: counts !== undefined && { name: "ab"[counts]! }, name: of(["a", "b"], other) }),
      },
    }),
  },
  {
    note: "dropped tool_choice.mode",
    wire: "chat",
    said: (counts, other) => {
      const tools = [{ type: "function", function: { name: "a" } }];
      const mode = of(["auto", "required"], counts);
      return {
        ...HI,
        tools: TOOLS,
        tool_choice: {
          type: "allowed_tools",
          ...only({
            allowed_tools: mode !== undefined && { mode, tools },
            mode: of(["auto", "required"], other),
            tools: other !== undefined && tools,
          }),
        },
      };
    },
  },
  {
    note: "dropped messages.reasoning",
    wire: "chat",
    said: (counts, other) =>
      thought(only({ reasoning_content: of(["Hm", "Ah"], counts), reasoning: of(["Hm", "Ah"], other) })),
  },
  // Bodies in the shape of the responses wire, which an editor posts to this one's endpoint.
  ...([
    ["max_completion_tokens", (value) => ({ max_output_tokens: value }), [11, 12]],
    ["reasoning_effort", (value) => ({ reasoning: { effort: value } }), ["low", "high"]],
    ["verbosity", (value) => ({ text: { verbosity: value } }), ["low", "high"]],
    ["response_format", () => ({ text: { format: { type: "json_object" } } }), [
      { type: "json_object" },
      { type: "text" },
    ]],
  ] as [string, (value: JsonValue) => JsonObject, JsonValue[]][]).map(([name, nested, values]): Pair => ({
    note: `dropped ${name}`,
    wire: "chat",
    said: (counts, other) => ({
      input: "Hi",
      ...(counts !== undefined && nested(values[counts]!)),
      ...only({ [name]: of(values, other) }),
    }),
  })),
  {
    note: "dropped output_format",
    wire: "messages",
    said: (counts, other) => ({
      ...HI,
      max_tokens: 9,
      ...only({
        output_config: counts !== undefined && { format: format("ab"[counts]!) },
        output_format: other !== undefined && format("ab"[other]!),
      }),
    }),
  },
  {
    note: "dropped tools.inputSchema",
    wire: "messages",
    said: (counts, other) => ({
      ...HI,
      max_tokens: 9,
      tools: [{
        name: "look",
        ...only({
          input_schema: counts !== undefined && schema("ab"[counts]!),
          inputSchema: other !== undefined && schema("ab"[other]!),
        }),
      }],
    }),
  },
  {
    note: "dropped reasoning.generate_summary",
    wire: "responses",
    said: (counts, other) => ({
      input: "Hi",
      reasoning: {
        effort: "low",
        ...only({
          summary: of(["concise", "detailed"], counts),
          generate_summary: of(["concise", "detailed"], other),
        }),
      },
    }),
  },
];

for (const { note, wire, said } of PAIRS) {
  Deno.test(`synonyms: ${wire}: both say different things: ${note}`, async () => {
    for (const to of UPSTREAMS) {
      const alone = await exchange(wire, to, said(0, undefined));
      const both = await exchange(wire, to, said(0, 1));
      assertEquals([both.status, both.asked?.body], [alone.status, alone.asked?.body], to);
      if (alone.status !== 200) continue;
      assertEquals(new Set(both.notes), new Set([...alone.notes, note]), to);
      const strict = await exchange(wire, to, said(0, 1), { headers: { "x-laneway-strict": "true" } });
      assertEquals([strict.status, strict.asked], [400, undefined], to);
    }
  });

  Deno.test(`synonyms: ${wire}: both say the same, or one is there alone: not ${note}`, async () => {
    for (const to of UPSTREAMS) {
      // The upstream's wire has no such field at all.
      if ((await exchange(wire, to, said(0, undefined))).notes.includes(note)) continue;
      for (const body of [said(0, 0), said(0, undefined), said(undefined, 0)]) {
        assertEquals((await exchange(wire, to, body)).notes.includes(note), false, `${to} ${JSON.stringify(body)}`);
      }
    }
  });
}
