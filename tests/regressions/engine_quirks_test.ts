/** What real engines answer that a client must not notice: each quirk for each client, whole and streamed. */
import { call, chatStream, chatWhole, testAnswers, TOOLS } from "./support.ts";

const named = (args: string) => ({ name: "look", arguments: args });

testAnswers([
  {
    id: "E29",
    title: "a call that is told in its legacy form too is one call",
    answer: {
      frames: chatStream(['{"a":', " ", "1}"].map((args, at) => ({
        ...(at === 0 && { role: "assistant", content: null }),
        function_call: named(args),
        tool_calls: [{ index: 0, id: "call__0_look_cmpl-1", type: "function", function: named(args) }],
      }))),
      whole: chatWhole({
        content: null,
        function_call: named('{"a": 1}'),
        tool_calls: [call("look", '{"a": 1}')],
      }, "stop"),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
  {
    id: "E29",
    title: "the legacy form that follows the call in chunks of its own is no other call",
    answer: {
      frames: chatStream([
        { tool_calls: [{ index: 0, ...call("look", '{"a":') }] },
        { function_call: named('{"a":') },
        { tool_calls: [{ index: 0, function: { arguments: "1}" } }] },
        { function_call: { arguments: "1}" } },
      ], "tool_calls"),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
  {
    id: "E29",
    title: "the legacy form counts where there is no other, beside an empty list too",
    answer: {
      frames: chatStream([
        { function_call: named('{"a":'), tool_calls: [] },
        { function_call: { arguments: "1}" }, tool_calls: null },
      ], "function_call"),
      whole: chatWhole({ content: null, function_call: named('{"a":1}'), tool_calls: [] }, "function_call"),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
]);
