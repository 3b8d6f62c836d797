import { assert, assertEquals } from "@std/assert";
import {
  ask,
  bodyFor,
  chatStream,
  chatWhole,
  events,
  listOf,
  type Mode,
  objectOf,
  responseOf,
  testEach,
} from "./support.ts";

const LONG = `mcp__a_server_with_a_long_name__${"and_a_tool_with_a_longer_one_".repeat(3)}`;
const NAMES = [`${LONG}1`, `${LONG}2`, "files.read"];

testEach("R40", "long and odd names of tools are mapped without a clash, and come back", {}, async (client, mode) => {
  const tools = NAMES.map((name) => ({ name, description: "To look", schema: { type: "object", properties: {} } }));
  const body = bodyFor(client, { tools, stream: mode === "streamed" });
  const { said, asked } = await ask(client, body, [({ body }) => {
    const [, name] = listOf(JSON.parse(body).tools).map(({ function: of }) => objectOf(of).name);
    const called = { id: "call_1", type: "function", function: { name: name!, arguments: "{}" } };
    return responseOf({
      whole: chatWhole({ content: null, tool_calls: [called] }, "tool_calls"),
      frames: chatStream([{ tool_calls: [{ index: 0, ...called }] }], "tool_calls"),
    }, mode);
  }]);
  const sent = listOf(asked[0]!.tools).map(({ function: of }) => String(objectOf(of).name));
  for (const name of sent) assert(/^[\w-]{1,64}$/.test(name), name);
  assertEquals(new Set(sent).size, NAMES.length);
  assertEquals(said, [{ call: NAMES[1]!, input: {}, id: "call_1" }]);
});

/** A call of the tool in the two wires whose tools have their name beside their schema. */
const CALLS: Record<"messages" | "responses", (name: string, mode: Mode) => Response> = {
  messages(name, mode) {
    const block = { type: "tool_use", id: "call_1", name, input: {} };
    const message = { id: "msg_1", type: "message", role: "assistant", model: "org/model", stop_sequence: null };
    const usage = { input_tokens: 5, output_tokens: 2 };
    return responseOf({
      whole: { ...message, content: [block], stop_reason: "tool_use", usage },
      frames: events(
        { type: "message_start", message: { ...message, content: [], stop_reason: null, usage } },
        { type: "content_block_start", index: 0, content_block: block },
        { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "{}" } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage },
        { type: "message_stop" },
      ),
    }, mode);
  },
  responses(name, mode) {
    const item = { type: "function_call", id: "fc_1", call_id: "call_1", name, arguments: "{}", status: "completed" };
    const response = { id: "resp_1", object: "response", model: "org/model", output: [] };
    const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
    const completed = { ...response, status: "completed", output: [item], usage };
    return responseOf({
      whole: completed,
      frames: events(
        { type: "response.created", sequence_number: 0, response: { ...response, status: "in_progress" } },
        {
          type: "response.output_item.added",
          sequence_number: 1,
          output_index: 0,
          item: { ...item, arguments: "", status: "in_progress" },
        },
        {
          type: "response.function_call_arguments.delta",
          sequence_number: 2,
          item_id: "fc_1",
          output_index: 0,
          delta: "{}",
        },
        {
          type: "response.function_call_arguments.done",
          sequence_number: 3,
          item_id: "fc_1",
          output_index: 0,
          arguments: "{}",
        },
        { type: "response.output_item.done", sequence_number: 4, output_index: 0, item },
        { type: "response.completed", sequence_number: 5, response: completed },
      ),
    }, mode);
  },
};

for (const upstream of ["messages", "responses"] as const) {
  testEach("R40", `names of tools come back from a ${upstream} upstream`, {}, async (client, mode) => {
    const tools = NAMES.map((name) => ({ name, description: "To look", schema: { type: "object", properties: {} } }));
    const body = bodyFor(client, { tools, stream: mode === "streamed" }, upstream);
    const { said, asked } = await ask(client, body, [
      ({ body }) => CALLS[upstream](String(listOf(JSON.parse(body).tools)[1]!.name), mode),
    ]);
    const sent = listOf(asked[0]!.tools).map(({ name }) => String(name));
    for (const name of sent) assert(/^[\w-]{1,64}$/.test(name), name);
    assertEquals(new Set(sent).size, NAMES.length);
    assertEquals(said, [{ call: NAMES[1]!, input: {}, id: "call_1" }]);
  });
}
