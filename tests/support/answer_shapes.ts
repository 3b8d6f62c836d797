/**
 * Checks the shape of every answer of a conversational wire, whole, streamed or failed: the fields that its SDKs read
 * unchecked.
 */
import { assert, assertArrayIncludes, assertEquals, AssertionError } from "@std/assert";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { readFrames } from "./sources.ts";
import { bodyOf, toArray } from "./chunks.ts";
import { assertMessagesStream } from "./messages_grammar.ts";
import { assertResponsesStream } from "./responses_grammar.ts";

type Wire = "chat" | "messages" | "responses";

/** Asserts the shape of an answer by its status and content type. */
export async function assertAnswer(wire: Wire, { status, headers }: Response, text: string): Promise<void> {
  if (status >= 400) return assertError(wire, JSON.parse(text));
  assertEquals(status, 200);
  if (!headers.get("content-type")?.startsWith("text/event-stream")) return WHOLE[wire](object(JSON.parse(text)));
  const frames = await toArray(readFrames(bodyOf([new TextEncoder().encode(text)])));
  STREAM[wire](
    frames.filter(({ comment }) => comment === undefined).map(({ event, data }) => ({
      ...(event !== undefined && { event }),
      ...(data !== undefined && { data }),
    })),
  );
}

export function assertError(wire: string, body: JsonValue): void {
  const { error } = object(body);
  if (wire === "gemini") {
    assertEquals(Object.keys(object(error)).sort(), ["code", "details", "message", "status"]);
    assert(/^[A-Z_]+$/.test(String(object(error).status)), JSON.stringify(body));
    return;
  }
  const { message, type } = object(error);
  assert(
    typeof message === "string" && message !== "" && typeof type === "string" && type !== "",
    JSON.stringify(body),
  );
  if (wire === "messages") assertEquals(object(body).type, "error");
  else assertEquals(Object.keys(object(error)).sort(), ["code", "message", "param", "type"]);
}

/** Chunks of one answer, with the reason of its end once, then `[DONE]`; or an error, and nothing after it. */
export function assertChatStream(frames: readonly Frame[]): void {
  const last = frames.at(-1);
  const isDone = last?.data === "[DONE]";
  const values = (isDone ? frames.slice(0, -1) : frames).map(({ event, data }) => {
    assertEquals(event, undefined);
    return object(JSON.parse(data ?? ""));
  });
  const failure = isDone ? undefined : values.pop();
  if (!isDone) assertError("chat", failure ?? null);
  let ended = 0;
  const begun = new Set<number>();
  for (const { id, object: kind, choices, usage } of values) {
    assertEquals([typeof id, kind], ["string", "chat.completion.chunk"]);
    if (!Array.isArray(choices)) throw new AssertionError("A chunk has choices");
    assert(choices.length === 1 || usage !== undefined);
    for (const choice of choices) {
      const { index, delta, finish_reason } = object(choice);
      assertEquals(index, 0);
      const { tool_calls = [] } = object(delta);
      for (const fragment of tool_calls as JsonObject[]) {
        const { index: at, id } = fragment;
        if (begun.has(at as number)) continue;
        assertEquals(at, begun.size, "Calls count up");
        assert(typeof id === "string" && id !== "", "A call begins with its id");
        begun.add(at as number);
      }
      if (finish_reason !== null && finish_reason !== undefined) {
        ended++;
        assert(typeof finish_reason === "string" && finish_reason !== "");
      }
    }
    if (isJsonObject(usage)) assertCounts(usage, ["prompt_tokens", "completion_tokens", "total_tokens"]);
  }
  assertEquals(ended, isDone ? 1 : ended, "An answer ends once");
  assert(ended <= 1);
}

const STREAM: Record<Wire, (frames: readonly Frame[]) => void> = {
  chat: assertChatStream,
  messages: (frames) => assertMessagesStream(frames, { hostile: true }),
  responses: (frames) => assertResponsesStream(frames),
};

const WHOLE: Record<Wire, (body: JsonObject) => void> = {
  chat(body) {
    assertEquals([typeof body.id, body.object], ["string", "chat.completion"]);
    const [choice, ...others] = body.choices as JsonObject[];
    assertEquals(others, []);
    const message = object(choice!.message);
    assert(typeof choice!.finish_reason === "string" && choice!.finish_reason !== "");
    assertEquals(message.role, "assistant");
    assert(message.content === null || typeof message.content === "string");
    for (const call of (message.tool_calls ?? []) as JsonObject[]) {
      assert(typeof call.id === "string" && call.id !== "");
      assert(isJsonObject(call.function) || isJsonObject(call.custom));
    }
    assertCounts(object(body.usage), ["prompt_tokens", "completion_tokens", "total_tokens"]);
  },
  messages(body) {
    assertEquals([body.type, body.role, typeof body.id], ["message", "assistant", "string"]);
    const content = body.content as JsonObject[];
    assert(content.length > 0 && content.every(({ type }) => typeof type === "string"));
    for (const block of content) {
      if (block.type === "tool_use") {
        assert(isJsonObject(block.input) && typeof block.id === "string" && block.name !== "");
      }
    }
    assertArrayIncludes(
      ["end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal", "pause_turn", "model_context_window_exceeded"],
      [body.stop_reason],
    );
    assertCounts(object(body.usage), ["input_tokens", "output_tokens"]);
  },
  responses(body) {
    assertEquals([body.object, typeof body.id], ["response", "string"]);
    assertArrayIncludes(["completed", "incomplete"], [body.status]);
    for (const item of body.output as JsonObject[]) {
      assert(typeof item.type === "string" && typeof item.id === "string");
    }
    assertCounts(object(body.usage), ["input_tokens", "output_tokens", "total_tokens"]);
  },
};

function assertCounts(usage: JsonObject, names: readonly string[]): void {
  for (const name of names) {
    const count = usage[name];
    assert(typeof count === "number" && count >= 0 && Number.isInteger(count), `${name} is ${count}`);
  }
}

function object(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new AssertionError(`${JSON.stringify(value)} is no object`);
  return value;
}
