/** The requests whose paths are measured, and the upstream that answers them. */

export interface Asked {
  /** What it shows. */
  gateway: "plain" | "metered";
  /** The path of the endpoint in the lane. */
  path: string;
  body: object;
}

/** Of each stream of the upstream. */
export const CHUNKS = 200;
export const MODEL = "m";
export const KEY = "key-of-the-client";

const QUESTION = "x".repeat(900);
const messages = [{ role: "user", content: QUESTION }];
const chat = { path: "chat/completions", body: { model: MODEL, messages } };

export const REQUESTS = {
  "whole chat": { gateway: "plain", ...chat },
  "whole messages": { gateway: "plain", path: "messages", body: { model: MODEL, max_tokens: 99, messages } },
  "whole responses": { gateway: "plain", path: "responses", body: { model: MODEL, store: false, input: QUESTION } },
  "stream chat": { gateway: "plain", ...chat, body: { ...chat.body, stream: true } },
  "stream messages": {
    gateway: "plain",
    path: "messages",
    body: { model: MODEL, max_tokens: 99, messages, stream: true },
  },
  "metered chat": { gateway: "metered", ...chat },
} as const satisfies Record<string, Asked>;

export type Name = keyof typeof REQUESTS;
export const NAMES = Object.keys(REQUESTS) as Name[];

export function requestFor({ path, body }: Asked): Request {
  const headers = { "content-type": "application/json", authorization: `Bearer ${KEY}` };
  return new Request(`http://gateway/oss/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

const ENVELOPE = { id: "chatcmpl-x", created: 1, model: MODEL };
const USAGE = { prompt_tokens: 3, completion_tokens: CHUNKS, total_tokens: 3 + CHUNKS };

const WHOLE = JSON.stringify({
  ...ENVELOPE,
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "ok ".repeat(CHUNKS) }, finish_reason: "stop" }],
  usage: USAGE,
});

const PIECES = [
  chunk({ role: "assistant", content: "" }),
  ...Array.from({ length: CHUNKS }, (_, at) => chunk({ content: `word${at} ` })),
  `${chunk({}, "stop")}${frame({ choices: [], usage: USAGE })}data: [DONE]\n\n`,
].map((text) => new TextEncoder().encode(text));

function chunk(delta: object, finish_reason: string | null = null): string {
  return frame({ choices: [{ index: 0, delta, finish_reason }] });
}

function frame(fields: object): string {
  return `data: ${JSON.stringify({ ...ENVELOPE, object: "chat.completion.chunk", ...fields })}\n\n`;
}

/** The upstream: all chunks of a stream are there at once, and each is a read of its own. */
export async function answer(input: Request | URL | string, init?: RequestInit): Promise<Response> {
  const asked = await new Request(input, init).text();
  if (!asked.includes('"stream":true')) {
    return new Response(WHOLE, { headers: { "content-type": "application/json" } });
  }
  const body = new ReadableStream({
    pull(controller) {
      // What a relay has sent on is gone, so it is a copy.
      for (const piece of PIECES) controller.enqueue(piece.slice());
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** A relay without a gateway, in this same harness. Nobody makes fewer promises. */
export async function relay(request: Request): Promise<Response> {
  const answered = await answer("http://upstream/", { method: "POST", body: new Blob([await request.text()]) });
  if (!answered.headers.get("content-type")!.includes("event-stream")) return new Response(await answered.text());
  const reader = answered.body!.getReader();
  const pump: UnderlyingByteSource = {
    type: "bytes",
    pull: (controller) => reader.read().then(({ value }) => value ? controller.enqueue(value) : controller.close()),
  };
  return new Response(new ReadableStream(pump));
}
