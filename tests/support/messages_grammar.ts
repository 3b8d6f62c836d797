import { assert, assertEquals, AssertionError, assertObjectMatch } from "@std/assert";
import { isJsonObject, isJsonText, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { Frame } from "../../src/contract/frame.ts";

const DELTAS: Record<string, string[]> = {
  text: ["text_delta", "citations_delta"],
  thinking: ["thinking_delta", "signature_delta"],
  tool_use: ["input_json_delta"],
  server_tool_use: ["input_json_delta"],
  mcp_tool_use: ["input_json_delta"],
};

/** Blocks before their increments. */
const EMPTY: Record<string, JsonObject> = {
  text: { type: "text", text: "" },
  thinking: { type: "thinking", thinking: "", signature: "" },
};

/**
 * Asserts the grammar of a stream of the messages wire, as clients of it insist on it: named events; one start with the
 * usage; blocks one after the other, each begun empty and ended; the stop reason with the usage; one end. A failure is one
 * `error` event, and nothing after it. Where the upstream may have sent anything (`hostile`), a call's input
 * need not be JSON, because it is out before that is known, and blocks may hold fields of its own.
 */
export function assertMessagesStream(frames: readonly Frame[], { hostile = false } = {}): void {
  const events = frames.map(({ event, data, ...rest }) => {
    assertEquals(rest, {});
    const value = object(JSON.parse(data ?? ""));
    assertEquals(value.type, event);
    return value;
  });
  // Taken from its end: a long list takes long to give up its first.
  const rest = events.toReversed();
  const comes = (type: string) => rest.at(-1)?.type === type;
  const next = (type: string) => {
    const event = rest.pop();
    if (event?.type !== "error") {
      assertEquals(event?.type, type);
      return event!;
    }
    assertEquals(Object.keys(event).sort(), ["error", "type"]);
    assertEquals(rest, []);
    return undefined;
  };

  if (comes("error") && rest.length === 1) return;
  const message = object(next("message_start")?.message);
  assertEquals([message.content, message.stop_reason, message.stop_sequence], [[], null, null]);
  assertEquals([message.type, message.role], ["message", "assistant"]);
  assert(/^msg_/.test(String(message.id)));
  assert(count(object(message.usage), "input_tokens") > 0, "The input is never 0");
  assert(count(object(message.usage), "output_tokens") >= 0);

  let index = 0;
  const inputs: string[] = [];
  while (comes("content_block_start")) {
    const { content_block, ...start } = rest.pop()!;
    const block = object(content_block);
    const type = String(block.type);
    assertEquals(start, { type: "content_block_start", index });
    if (Object.hasOwn(EMPTY, type)) {
      if (hostile) assertObjectMatch(block, { ...EMPTY[type] });
      else assertEquals(block, EMPTY[type]);
    }
    if (type === "tool_use") {
      assertEquals(block.input, {});
      assert(block.id !== "" && typeof block.id === "string" && block.name !== "" && typeof block.name === "string");
    }
    let signed = false;
    let input = "";
    while (comes("content_block_delta")) {
      const { delta, ...of } = rest.pop()!;
      assertEquals(of, { type: "content_block_delta", index });
      const kind = String(object(delta).type);
      assert(Object.hasOwn(DELTAS, type) && DELTAS[type]!.includes(kind), `${kind} in a block of type ${type}`);
      assert(!signed, "A signature comes last");
      signed = kind === "signature_delta";
      input += object(delta).partial_json ?? "";
    }
    if (type === "tool_use") inputs.push(input);
    const stop = next("content_block_stop");
    if (!stop) return;
    assertEquals(stop, { type: "content_block_stop", index });
    index++;
  }

  const ending = next("message_delta");
  if (!ending) return;
  assert(index > 0, "An answer has a block");
  const delta = object(ending.delta);
  assert(typeof delta.stop_reason === "string");
  assertEquals(typeof delta.stop_sequence === "string", delta.stop_reason === "stop_sequence");
  if (delta.stop_reason === "tool_use" && !hostile) {
    for (const input of inputs) assert(isJsonText(input), `The input ${input} is JSON`);
  }
  for (const name of ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]) {
    assert(count(object(ending.usage), name) >= 0);
  }
  assertEquals(next("message_stop"), { type: "message_stop" });
  assertEquals(rest, []);
}

function object(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new AssertionError(`${JSON.stringify(value)} is no object`);
  return value;
}

function count(usage: JsonObject, name: string): number {
  assert(typeof usage[name] === "number", `${name} is counted`);
  return usage[name] as number;
}
