/** What upstreams answer, the same every time. */
import type { JsonObject } from "../../../src/canonical/json.ts";
import type { UpstreamWire } from "./sample.ts";

/** What an upstream of each wire answers: a thought, and a text that is JSON, too, because some requests want that. */
export const ANSWER: Record<UpstreamWire, JsonObject> = {
  chat: {
    id: "chatcmpl-upstream",
    object: "chat.completion",
    created: 1,
    model: "org/model",
    choices: [{
      index: 0,
      message: { role: "assistant", content: "{}", reasoning_content: "Hm" },
      finish_reason: "stop",
    }],
    usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
  },
  messages: {
    id: "msg_upstream",
    type: "message",
    role: "assistant",
    model: "org/model",
    content: [{ type: "thinking", thinking: "Hm", signature: "" }, { type: "text", text: "{}" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 2 },
  },
  responses: {
    id: "resp_upstream",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "org/model",
    output: [
      { id: "rs_1", type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "Hm" }] },
      {
        id: "msg_1",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "{}", annotations: [] }],
      },
    ],
    usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
  },
};

/** `ANSWER`, with as many choices as were asked for. */
export function answerTo(wire: UpstreamWire, { n }: JsonObject): JsonObject {
  if (wire !== "chat" || typeof n !== "number") return ANSWER[wire];
  const [choice] = ANSWER.chat.choices as JsonObject[];
  return { ...ANSWER.chat, choices: Array.from({ length: n }, (_, index) => ({ ...choice, index })) };
}
