/** The answers of an upstream of the chat wire, in pieces to put together. */
import { bodyOf } from "./chunks.ts";

/** A chunk of the chat wire, as a frame. */
export function frame(choice: object): string {
  return `data: ${JSON.stringify({ model: "org/model", choices: [{ index: 0, ...choice }] })}\n\n`;
}

/** A word of the answer, as a frame. */
export function word(content: string): string {
  return frame({ delta: { role: "assistant", content } });
}

/** The end of an answer, as frames. */
export const ENDING = `${frame({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`;

/** A whole answer of the chat wire. */
export const ANSWER = {
  id: "chatcmpl-upstream",
  object: "chat.completion",
  created: 1,
  model: "org/model",
  choices: [{ index: 0, message: { role: "assistant", content: "whole" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
};

/** `ANSWER`, with `text` for its text. */
export function answerWhole(text = "whole"): Response {
  const message = { role: "assistant", content: text };
  return Response.json({ ...ANSWER, choices: [{ index: 0, message, finish_reason: "stop" }] });
}

/** A stream of these frames; it breaks with `failure` after them where there is one. */
export function answerStream(frames: readonly string[], failure?: unknown): Response {
  const pieces = frames.map((text) => new TextEncoder().encode(text));
  return new Response(bodyOf(pieces, failure), { headers: { "content-type": "text/event-stream" } });
}
