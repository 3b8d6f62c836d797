/** Chat servers that end a stream with the whole message (MiniMax), or tell the name of a call after its arguments. */
import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { call, chatWhole, data, type Said, testAnswers, TOOLS, USAGE } from "./support.ts";

const DONE = "data: [DONE]\n\n";
const [ONE, TWO] = ['{"a":1}', '{"b":2}'];
const LOOK: Said = { call: "look", input: { a: 1 } };
const FIND: Said = { call: "find", input: { b: 2 } };

const chunk = (delta: JsonObject, more: JsonObject = {}) => ({
  id: "a",
  model: "org/model",
  choices: [{ index: 0, delta, ...more }],
});
/** A fragment of a call. */
const piece = (id: string | undefined, fields: JsonObject) =>
  chunk({ tool_calls: [{ index: 0, ...(id && { id }), function: fields }] });
const whole = (message: JsonObject, finish = "stop") => ({ ...chatWhole(message, finish), id: "a" });
const calls = (message: JsonObject) => whole(message, "tool_calls");

const EMPTY_CALL = { name: "", arguments: "" };
const THOUGHT = { type: "thinking", thinking: [{ type: "text", text: "Hm" }] };

/** What a stream says, and what of it a client gets. */
const STREAMS: Record<string, [chunks: JsonObject[], said: Said[]]> = {
  "a whole message does not repeat what came before it": [
    [
      chunk({ role: "assistant", reasoning_content: "Hm" }),
      chunk({ content: "Hel" }),
      chunk({ content: "lo" }),
      chunk({ tool_calls: [call("look", "", { index: 0 })] }),
      piece(undefined, { arguments: ONE }),
      calls({ reasoning_content: "Hm", content: "Hello", tool_calls: [call("look", ONE)] }),
    ],
    [{ reasoning: "Hm" }, { text: "Hello" }, LOOK],
  ],
  "what a whole message brings for the first time is not lost": [
    [
      chunk({ role: "assistant", content: "", reasoning_content: "Hm" }),
      whole({ reasoning_content: "Hm", content: "Hello" }),
    ],
    [{ reasoning: "Hm" }, { text: "Hello" }],
  ],
  "messages in place of increments are increments": [
    [
      { ...chunk({}), choices: [{ index: 0, message: { role: "assistant", content: "Hel" } }] },
      { ...chunk({}), choices: [{ index: 0, message: { content: "lo" }, finish_reason: "stop" }] },
    ],
    [{ text: "Hello" }],
  ],
  "a call that was only announced gets its arguments from the whole message": [
    [chunk({ tool_calls: [call("look", "", { index: 0 })] }), calls({ content: "", tool_calls: [call("look", ONE)] })],
    [LOOK],
  ],
  "arguments of which a part came get the rest": [
    [
      chunk({ tool_calls: [call("look", '{"a"', { index: 0 })] }),
      calls({ content: "", tool_calls: [call("look", ONE, { id: "another" })] }),
    ],
    [LOOK],
  ],
  "a second call of the whole message is another one": [
    [
      chunk({ tool_calls: [call("look", ONE, { index: 0 })] }),
      calls({ content: "", tool_calls: [call("look", ONE), call("find", TWO)] }),
    ],
    [LOOK, FIND],
  ],
  "two calls of one tool are told by their ids": [
    [
      chunk({ tool_calls: [call("look", ONE, { index: 0 })] }),
      calls({ content: "", tool_calls: [call("look", ONE), call("look", TWO, { id: "call_2" })] }),
    ],
    [LOOK, { call: "look", input: { b: 2 } }],
  ],
  "an empty call of each increment is none, and that of the whole message is one": [
    [
      chunk({ content: "H", function_call: EMPTY_CALL }),
      chunk({ content: "i", tool_calls: [{ index: 0 }] }),
      calls({ content: "Hi", tool_calls: [call("look", ONE)] }),
    ],
    [{ text: "Hi" }, LOOK],
  ],
  "a legacy call is told once": [
    [
      chunk({ function_call: { name: "look", arguments: "" } }),
      chunk({ function_call: { arguments: ONE } }),
      whole({ content: null, function_call: { name: "look", arguments: ONE } }, "function_call"),
    ],
    [LOOK],
  ],
  "a legacy call stays whole where the message has an empty one": [
    [
      chunk({ function_call: { name: "look", arguments: ONE } }),
      whole({ content: "", function_call: EMPTY_CALL }, "function_call"),
    ],
    [LOOK],
  ],
  "calls that share an id are told by their place": [
    [
      chunk({ tool_calls: [call("look", "", { index: 0, id: "x" })] }),
      chunk({ tool_calls: [call("find", "", { index: 1, id: "x" })] }),
      calls({ content: "", tool_calls: [call("look", ONE, { id: "x" }), call("find", TWO, { id: "x" })] }),
    ],
    [LOOK, FIND],
  ],
  "of calls that share an id the second is not lost": [
    [
      chunk({ tool_calls: [call("look", ONE, { index: 0, id: "x" })] }),
      calls({ content: "", tool_calls: [call("look", ONE, { id: "x" }), call("find", TWO, { id: "x" })] }),
    ],
    [LOOK, FIND],
  ],
  "a new id with arguments that are there already begins no call": [
    [
      chunk({ tool_calls: [call("look", ONE, { index: 0 })] }),
      piece("another", { arguments: ONE }),
      chunk({}, { finish_reason: "tool_calls" }),
    ],
    [{ call: "look", input: { a: 1 } }],
  ],
  "thoughts among the parts of the content are no text": [
    [chunk({ content: [THOUGHT] }), whole({ content: [THOUGHT, { type: "text", text: "Hello" }] })],
    [{ reasoning: "Hm" }, { text: "Hello" }],
  ],
  "a part without text is no text": [
    [chunk({ content: [{ type: "text", text: "" }] }), whole({ content: "Hello" })],
    [{ text: "Hello" }],
  ],
  "thoughts come though encrypted ones came": [
    [
      chunk({ reasoning_details: [{ type: "reasoning.encrypted", data: "xyz" }] }),
      whole({ content: "Hello", reasoning_content: "Hm" }),
    ],
    [{ reasoning: "Hm" }, { text: "Hello" }],
  ],
  "a name that comes after all arguments is that of the call": [
    [piece("1", { arguments: ONE }), piece("1", { name: "look", arguments: "" }), chunk({}, { finish_reason: "stop" })],
    [LOOK],
  ],
  "a name that comes with all arguments once more is that of the call": [
    [
      piece("1", { arguments: ONE }),
      piece("1", { name: "look", arguments: ONE }),
      chunk({}, { finish_reason: "stop" }),
    ],
    [LOOK],
  ],
  "two calls in one place, each named after its arguments, stay two": [
    [
      piece("1", { arguments: ONE }),
      piece("1", { name: "look" }),
      piece("2", { arguments: TWO }),
      piece("2", { name: "find" }),
      chunk({}, { finish_reason: "tool_calls" }),
    ],
    [LOOK, FIND],
  ],
};

testAnswers(
  Object.entries(STREAMS).map(([title, [chunks, said]]) => ({
    id: "C18",
    title,
    answer: { frames: data(...chunks, { model: "org/model", choices: [], usage: USAGE }) + DONE },
    ask: { tools: TOOLS },
    want: { said },
    check: ({ error }) => assertEquals(error, undefined),
  })),
);

testAnswers([{
  id: "C18",
  title: "encrypted reasoning that only the whole message has is not lost",
  clients: ["chat"],
  answer: {
    frames: data(
      chunk({ reasoning_content: "Hm" }),
      chunk({ content: "Hello" }),
      whole({ content: "Hello", reasoning_details: [{ type: "reasoning.encrypted", data: "xyz" }] }),
    ) + DONE,
  },
  want: { said: [{ reasoning: "Hm" }, { text: "Hello" }] },
  check: ({ frames }) => assertEquals(frames.filter(({ data }) => data?.includes('"xyz"')).length, 1),
}, {
  id: "C18",
  title: "arguments that begin again under a late name fail the answer",
  answer: {
    frames: data(
      piece("1", { arguments: "null" }),
      piece("1", { name: "look", arguments: ONE }),
      chunk({}, { finish_reason: "tool_calls" }),
    ) + DONE,
  },
  ask: { tools: TOOLS },
  want: { status: 502 },
}]);
