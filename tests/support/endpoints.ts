/** Every endpoint that runs a model, as a client asks it, and an upstream that serves what they come to. */
import type { Task } from "../../src/canonical/models.ts";
import { CHAT } from "./app.ts";
import { answerStream, answerWhole, ENDING, word } from "./chat.ts";
import { chatAnswer } from "./decisions.ts";
import { png } from "./fake_hub/pictures.ts";
import type { Asked } from "./fake_upstream.ts";

export const TURNS = [{ role: "user", content: "Hello" }];

/** The path of completions of the lane `oss`. */
export const COMPLETIONS = "/oss/v1/completions";

const CONTENTS = [{ role: "user", parts: [{ text: "Hello" }] }];

export interface EndpointRequest {
  path: string;
  body: object | FormData;
}

/** By the name of each: the smallest request of it. `modelFor` names the model of a task. */
export const ENDPOINTS: Record<string, (modelFor: (task: Task) => string) => EndpointRequest> = {
  chat: (modelFor) => ({ path: CHAT, body: { model: modelFor("chat"), messages: TURNS } }),
  "chat, streamed": (modelFor) => ({ path: CHAT, body: { model: modelFor("chat"), messages: TURNS, stream: true } }),
  "chat, relayed": (modelFor) => ({ path: CHAT, body: { model: modelFor("chat"), messages: TURNS, n: 2 } }),
  completions: (modelFor) => ({ path: COMPLETIONS, body: { model: modelFor("chat"), prompt: "Hello" } }),
  "completions, streamed": (modelFor) => ({
    path: COMPLETIONS,
    body: { model: modelFor("chat"), prompt: "Hello", stream: true },
  }),
  decisions: (modelFor) => ({
    path: "/oss/v1/decisions",
    body: {
      model: modelFor("chat"),
      input: "Hello",
      questions: [{ type: "predicate", instructions: "Is it a greeting?" }],
    },
  }),
  systemone: (modelFor) => ({
    path: "/oss/v1/systemone",
    body: {
      model: modelFor("chat"),
      state: "Hello",
      questions: { one: { type: "noul", instructions: "A greeting?" } },
    },
  }),
  messages: (modelFor) => ({
    path: "/oss/v1/messages",
    body: { model: modelFor("chat"), max_tokens: 9, messages: TURNS },
  }),
  responses: (modelFor) => ({ path: "/oss/v1/responses", body: { model: modelFor("chat"), input: "Hello" } }),
  ollama: (modelFor) => ({ path: "/oss/api/chat", body: { model: modelFor("chat"), messages: TURNS, stream: false } }),
  "ollama, streamed": (modelFor) => ({ path: "/oss/api/chat", body: { model: modelFor("chat"), messages: TURNS } }),
  gemini: (modelFor) => ({
    path: `/oss/v1beta/models/${modelFor("chat")}:generateContent`,
    body: { contents: CONTENTS },
  }),
  "gemini, streamed": (modelFor) => ({
    path: `/oss/v1beta/models/${modelFor("chat")}:streamGenerateContent?alt=sse`,
    body: { contents: CONTENTS },
  }),
  "gemini, as a list": (modelFor) => ({
    path: `/oss/v1/models/${modelFor("chat")}:streamGenerateContent`,
    body: { contents: CONTENTS },
  }),
  "gemini, embedded": (modelFor) => ({
    path: `/oss/v1/models/${modelFor("embedding")}:embedContent`,
    body: { content: CONTENTS[0] },
  }),
  embeddings: (modelFor) => ({ path: "/oss/v1/embeddings", body: { model: modelFor("embedding"), input: "Hello" } }),
  rerank: (modelFor) => ({
    path: "/oss/v1/rerank",
    body: { model: modelFor("rerank"), query: "Hello", documents: ["a"] },
  }),
  speech: (modelFor) => ({
    path: "/oss/v1/audio/speech",
    body: { model: modelFor("speech"), input: "Hello", voice: "alloy" },
  }),
  images: (modelFor) => ({
    path: "/oss/v1/images/generations",
    body: { model: modelFor("image"), prompt: "Hello" },
  }),
  "images, streamed": (modelFor) => ({
    path: "/oss/v1/images/generations",
    body: { model: modelFor("image"), prompt: "Hello", stream: true, partial_images: 1 },
  }),
  "images, changed": (modelFor) => ({
    path: "/oss/v1/images/edits",
    body: {
      model: modelFor("image"),
      prompt: "Hello",
      images: [{ image_url: `data:image/png;base64,${png("a").toBase64()}` }],
    },
  }),
  "images, changed by a form"(modelFor) {
    const body = new FormData();
    body.append("model", modelFor("image"));
    body.append("prompt", "Hello");
    body.append("image", new File([png("a")], "a.png"));
    return { path: "/oss/v1/images/edits", body };
  },
  transcription(modelFor) {
    const body = new FormData();
    body.append("model", modelFor("transcription"));
    body.append("file", new File(["RIFF\x24\0\0\0WAVEfmt "], "a.wav"));
    return { path: "/oss/v1/audio/transcriptions", body };
  },
};

/** The body of an `EndpointRequest` as it is sent. */
export function payloadOf({ body }: EndpointRequest): BodyInit {
  return body instanceof FormData ? body : JSON.stringify(body);
}

/** Goes on with one word. */
function complete(body: string): Response {
  const chunk = (text: string, finish_reason: string | null) => ({ choices: [{ index: 0, text, finish_reason }] });
  const usage = { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 };
  if (!body.includes('"stream":true')) return Response.json({ ...chunk(" one", "stop"), usage });
  const frames = [chunk(" one", null), { ...chunk("", "stop"), usage }].map((one) =>
    `data: ${JSON.stringify(one)}\n\n`
  );
  return new Response(`${frames.join("")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
}

/** Draws one picture, and shows an unfinished one before it. */
function drawn(body: string): Response {
  const b64_json = png("Hello").toBase64();
  const usage = { input_tokens: 7, output_tokens: 9, total_tokens: 16 };
  if (!body.includes('"stream":true')) return Response.json({ created: 1, data: [{ b64_json }], usage });
  const events = [
    { type: "image_generation.partial_image", b64_json, partial_image_index: 0 },
    { type: "image_generation.completed", b64_json, usage },
  ];
  const text = events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/** Answers as a server of all tasks does, on the chat wire and those for other tasks. */
export function serveAll({ url, body }: Pick<Asked, "url" | "body">): Response {
  if (body.includes('"logprobs":true')) return chatAnswer({ yes: 0.75, no: 0.25 });
  if (/(?<!\/chat)\/completions$/.test(url.pathname)) return complete(body);
  switch (url.pathname.split("/").at(-1)) {
    case "embeddings":
      return Response.json({ data: [{ index: 0, embedding: [1, 0] }], usage: { prompt_tokens: 1 } });
    case "rerank":
      return Response.json({ results: [{ index: 0, relevance_score: 1 }] });
    case "speech":
      return new Response(new TextEncoder().encode("ID3\x04" + "\0".repeat(100)), {
        headers: { "content-type": "audio/mpeg" },
      });
    case "generations":
    case "edits":
      return drawn(body);
    case "transcriptions":
      return Response.json({ text: "Hello" });
    case "input_tokens":
      return Response.json({ input_tokens: 7 });
    default:
      return body.includes('"stream":true') ? answerStream([word("one"), ENDING]) : answerWhole();
  }
}
