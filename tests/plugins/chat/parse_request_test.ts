import { assertEquals, assertThrows } from "@std/assert";
import type { GenerateRequest } from "../../../src/canonical/generate.ts";
import { GatewayError } from "../../../src/errors.ts";
import { parseRequest } from "../../../plugins/chat/parse_request.ts";

function parse(more: object, note: (text: string) => void = () => {}): GenerateRequest {
  const body = { model: "m", messages: [{ role: "user", content: "Hello" }], ...more };
  return parseRequest({ body, headers: new Headers(), params: {}, query: new URLSearchParams() }, {
    clientWire: "chat",
    note,
  });
}

/** Forms from which SDKs leave the type away, and what they mean by them: the hub's in a choice, Mistral's in a tool. */
const UNTYPED: [name: string, without: object, withType: object][] = [
  ["a tool", { tools: [{ function: { name: "f" } }] }, { tools: [{ type: "function", function: { name: "f" } }] }],
  ["a flat tool", { tools: [{ name: "f" }] }, { tools: [{ type: "function", name: "f" }] }],
  [
    "a custom tool",
    { tools: [{ custom: { name: "c" } }] },
    { tools: [{ type: "custom", custom: { name: "c" } }] },
  ],
  [
    "a choice",
    { tool_choice: { function: { name: "f" } } },
    { tool_choice: { type: "function", function: { name: "f" } } },
  ],
  ["a flat choice", { tool_choice: { name: "f" } }, { tool_choice: { type: "function", name: "f" } }],
  [
    "a choice of a custom tool",
    { tool_choice: { custom: { name: "c" } } },
    { tool_choice: { type: "custom", custom: { name: "c" } } },
  ],
  [
    "a choice among tools",
    { tool_choice: { allowed_tools: { mode: "required", tools: [{ function: { name: "f" } }] } } },
    {
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "f" } }] },
      },
    },
  ],
  ...([["function", { name: "f", arguments: "{}" }], ["custom", { name: "c", input: "x" }]] as const).map((
    [type, call],
  ): [string, object, object] => {
    const turns = (fields: object) => ({ messages: [{ role: "assistant", tool_calls: [{ id: "1", ...fields }] }] });
    return [`a call of a ${type}`, turns({ [type]: call }), turns({ type, [type]: call })];
  }),
];

for (const [name, without, withType] of UNTYPED) {
  Deno.test(`${name} without its type is what stands in it`, () => {
    assertEquals(parse(without), parse(withType));
    const nulled = JSON.parse(JSON.stringify(withType), (key, value) => key === "type" ? null : value);
    assertEquals(parse(nulled), parse(withType));
  });
}

/** By llama.cpp's name for the limit, which outweighs the others there, an answer could be longer than a budget pays for. */
for (
  const [more, limit, notes] of [
    [{ n_predict: 90_000 }, 90_000, []],
    [{ n_predict: 90_000, max_tokens: 5 }, 90_000, ["dropped max_tokens"]],
    [{ n_predict: 7, max_completion_tokens: 7 }, 7, []],
    [{ n_predict: -1 }, undefined, []],
    [{ n_predict: -1, max_tokens: 5 }, 5, ["dropped n_predict"]],
    [{ n_predict: "90000", max_tokens: 5 }, 5, ["dropped n_predict"]],
    [{ n_predict: null, max_tokens: 5 }, 5, []],
  ] as const
) {
  for (const choices of [1, 2]) {
    const said = JSON.stringify(more);
    Deno.test(`an answer has one limit, whichever names it has: ${said}, ${choices} choices`, () => {
      const stated: string[] = [];
      const { maxOutputTokens, relay, extra } = parse({ ...more, n: choices }, (text) => stated.push(text));
      assertEquals([maxOutputTokens, stated], [limit, notes]);
      assertEquals([relay?.body.max_tokens ?? limit, relay?.body.n_predict], [limit, undefined]);
      assertEquals(extra?.fields?.n_predict, undefined);
    });
  }
}

const F = { type: "function", function: { name: "f" } };

const MISTAKES: [more: object, message: string][] = [
  [
    { tools: [F, { type: "function", function: { name: 3 } }] },
    'Invalid value at "tools[1].function.name": expected string, received 3',
  ],
  [
    { tools: [F, { type: "function", function: { name: "g", parameters: "none" } }] },
    'Invalid value at "tools[1].function.parameters" of "g": expected object, received "none"',
  ],
  [
    { tools: [{ type: "function", name: "g", parameters: "none" }] },
    'Invalid value at "tools[0].parameters" of "g": expected object, received "none"',
  ],
  [{ tools: ["f"] }, 'Invalid value at "tools[0]": expected object, received "f"'],
  [{ tools: [{}] }, 'Invalid value at "tools[0].type": expected "function", "custom" or string, received nothing'],
  [
    { tool_choice: "some" },
    'Invalid value at "tool_choice": expected "none", "auto", "required" or object, received "some"',
  ],
  [
    { tool_choice: {} },
    'Invalid value at "tool_choice.type": expected "allowed_tools", "function" or "custom", received nothing',
  ],
  [
    { tool_choice: { type: "function", function: "f" } },
    'Invalid value at "tool_choice.function": expected object, received "f"',
  ],
  [{ tool_choice: { type: "function" } }, 'Invalid value at "tool_choice.name": Missing name of the tool'],
  [
    { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto" } } },
    'Invalid value at "tool_choice.allowed_tools.tools": expected array, received nothing',
  ],
  [
    { messages: [{ role: "assistant", tool_calls: [{ id: "1", function: { arguments: "{}" } }] }] },
    'Invalid value at "messages[0].tool_calls[0].function.name": expected string, received nothing',
  ],
  [
    { messages: [{ role: "robot", content: "" }] },
    'Invalid value at "messages[0].role": expected "system", "developer", "user", "assistant", "tool" or "function", received "robot"',
  ],
  [{ max_tokens: 1.5 }, 'Invalid value at "max_tokens": expected integer, received 1.5'],
  [{ stop: 3 }, 'Invalid value at "stop": expected string or array, received 3'],
];

for (const [more, message] of MISTAKES) {
  Deno.test(`a mistake is stated by its place, what was expected and what came: ${message}`, () => {
    const error = assertThrows(() => parse(more), GatewayError);
    assertEquals([error.code, error.message], ["invalid_request", message]);
  });
}
