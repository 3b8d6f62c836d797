/** Servers that continue texts, of every kind, with one answer: ` + b`, after which nine tokens were read and two written. */
import { CONFIG, type ConfigInput } from "./app.ts";

export const QWEN = "Qwen/Qwen2.5-Coder-7B";
type Upstreams = NonNullable<ConfigInput["upstreams"]>;
export type Setup = "plain" | "suffix" | "beta" | "fim" | "infill" | "generate" | "chat" | "off";

/** One model at an upstream of this kind. */
export function configFor(completions: Setup | undefined, model = QWEN, more: object = {}): ConfigInput {
  const fake = { ...CONFIG.upstreams.fake, completions, ...more } as Upstreams[string];
  return {
    upstreams: { fake },
    lanes: { oss: { models: { coder: { task: "chat", targets: [{ upstream: "fake", model }] } } } },
  };
}

/** A streamed answer: events, or lines of JSON. */
export function lines(type: string, ...all: (object | string)[]): Response {
  const text = all.map((one) => typeof one === "string" ? one : JSON.stringify(one));
  const body = type === "sse" ? text.map((one) => `data: ${one}\n\n`) : text.map((one) => `${one}\n`);
  const media = type === "sse" ? "text/event-stream" : "application/x-ndjson";
  return new Response(body.join(""), { headers: { "content-type": media } });
}

/** The figures of an answer. */
export const USAGE = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };

/** The answer of each kind of server with ` + b`, whole and streamed. */
export const ANSWERS: Record<string, (stream: boolean) => Response> = {
  completions: (stream) =>
    stream
      ? lines(
        "sse",
        { choices: [{ index: 0, text: " +", finish_reason: null }] },
        { choices: [{ index: 0, text: " b", finish_reason: "stop" }] },
        { choices: [], usage: USAGE },
        "[DONE]",
      )
      : Response.json({ choices: [{ index: 0, text: " + b", finish_reason: "stop" }], usage: USAGE }),
  fim: (stream) =>
    stream
      ? lines(
        "sse",
        { choices: [{ index: 0, delta: { role: "assistant", content: " +" }, finish_reason: null }] },
        { choices: [{ index: 0, delta: { content: " b" }, finish_reason: "stop" }], usage: USAGE },
        "[DONE]",
      )
      : Response.json({ choices: [{ index: 0, message: { content: " + b" }, finish_reason: "stop" }], usage: USAGE }),
  infill: (stream) => {
    const end = { stop: true, stop_type: "eos", tokens_evaluated: 9, tokens_predicted: 2, timings: { prompt_ms: 3 } };
    return stream
      ? lines("sse", { content: " +", stop: false }, { content: " b", stop: false }, { content: "", ...end })
      : Response.json({ content: " + b", ...end });
  },
  generate: (stream) => {
    const end = { done: true, done_reason: "stop", prompt_eval_count: 9, eval_count: 2 };
    return stream
      ? lines("ndjson", { response: " +", done: false }, { response: " b", done: false }, { response: "", ...end })
      : Response.json({ response: " + b", ...end });
  },
  chat: (stream) =>
    stream
      ? lines(
        "sse",
        { choices: [{ index: 0, delta: { content: " +" } }] },
        { choices: [{ index: 0, delta: { content: " b" }, finish_reason: "stop" }] },
        { choices: [], usage: USAGE },
        "[DONE]",
      )
      : Response.json({ choices: [{ index: 0, message: { content: " + b" }, finish_reason: "stop" }], usage: USAGE }),
};
