/** Fields that every wire has, as other wires and single hosts write them. */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { ask, bodyFor, chatWhole, shortAnswer, testRequests, TOOLS, type Wire, WIRES } from "./support.ts";

const EFFORTS: Record<string, JsonValue[]> = {
  none: ["off", "disabled", "false", false],
  minimal: ["lowest"],
  medium: ["on", "enabled", "true", true],
  high: ["HIGH", "High"],
  xhigh: ["x-high", "extra_high", "very-high"],
  max: ["ultra", "maximum", "highest"],
  "": ["auto", "default", "dynamic", ""],
};

function withEffort(effort: JsonValue): Record<Wire, JsonObject> {
  return {
    chat: { reasoning_effort: effort },
    messages: { output_config: { effort } },
    responses: { reasoning: { effort } },
  };
}

/** The messages wire has other words to turn thinking off. */
const isOff = (word: string) => word === "none" || word === "minimal";

testRequests(
  Object.entries(EFFORTS).flatMap(([meaning, words]) =>
    words.map((word) => {
      const { messages, ...bodies } = withEffort(word);
      return {
        id: "B12",
        title: `the effort ${JSON.stringify(word)} means "${meaning}"`,
        bodies: isOff(meaning) ? bodies : { ...bodies, messages },
        check: (asked: JsonObject) => assertEquals(asked.reasoning_effort ?? "", meaning),
      };
    })
  ),
);

for (const client of WIRES) {
  Deno.test(`B12 an effort that nobody knows is refused · ${client}`, async () => {
    for (const word of ["huge", "constructor", 7]) {
      const body = { ...bodyFor(client), ...withEffort(word)[client] };
      assertEquals((await ask(client, body, [() => shortAnswer("chat")])).status, 400, String(word));
    }
  });
}

const LOOK = { type: "function", function: { name: "look" } };
const CHOICES: [choice: JsonValue, means: JsonValue][] = [
  ["any", "required"],
  ["ANY", "required"],
  ["required", "required"],
  ["auto", "auto"],
  ["none", "none"],
  [{ type: "any" }, "required"],
  [{ type: "required" }, "required"],
  [{ type: "auto" }, "auto"],
  [{ type: "none" }, "none"],
  [{ type: "tool", name: "look" }, LOOK],
  [{ type: "function", name: "look" }, LOOK],
  [LOOK, LOOK],
];
for (const [choice, means] of CHOICES) {
  for (const client of WIRES) {
    Deno.test(`B12 the choice of tools ${JSON.stringify(choice)} means what it says · ${client}`, async () => {
      const body = { ...bodyFor(client, { tools: TOOLS }), tool_choice: choice };
      const { asked, status } = await ask(client, body, [() => shortAnswer("chat")]);
      assertEquals([status, asked[0]!.tool_choice], [200, means]);
    });
  }
}

const SCHEMA = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
const FORMATS: JsonObject[] = [
  { type: "json_object", value: SCHEMA },
  { type: "json_object", schema: SCHEMA },
  { type: "json", value: SCHEMA },
  { type: "json_schema", schema: SCHEMA },
  { type: "json_schema", json_schema: SCHEMA },
  { type: "json_schema", json_schema: { name: "answer", schema: SCHEMA } },
];
for (const format of FORMATS) {
  for (const upstream of WIRES) {
    Deno.test(`B12 a schema counts wherever the format has it: ${Object.keys(format)} of ${format.type} · ${upstream}`, async () => {
      const content = [{ type: "text", text: '{"a":1}' }];
      const answers = {
        chat: chatWhole({ content: '{"a":1}' }),
        messages: { type: "message", role: "assistant", model: "m", content, stop_reason: "end_turn", usage: {} },
        responses: {
          object: "response",
          status: "completed",
          model: "m",
          output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: '{"a":1}' }] }],
        },
      };
      const body = { ...bodyFor("chat", {}, upstream), response_format: format };
      const { asked, status } = await ask("chat", body, [() => Response.json(answers[upstream])]);
      const { response_format, output_config, text } = asked[0]! as Record<string, JsonObject | undefined>;
      const sent = { chat: response_format, messages: output_config?.format, responses: text?.format }[upstream];
      assertEquals(status, 200);
      assert(JSON.stringify(sent).includes(`"schema":${JSON.stringify(SCHEMA)}`), JSON.stringify(sent));
    });
  }
}
