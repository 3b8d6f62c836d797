/** The few requests by which the doctor finds out what a model can do. */
import type { JsonObject } from "../../canonical/json.ts";
import type { Task } from "../../canonical/models.ts";

/** The token limit of an answer that has to show something, because reasoning comes first. */
export const ROOM = 600;

const user = (content: string) => [{ role: "user", content }];

export const TOOL = "get_time";
const SCHEMA = {
  type: "object",
  properties: { sum: { type: "integer" } },
  required: ["sum"],
  additionalProperties: false,
};

/** The bodies of chat requests, without their model. */
export const CHAT_QUESTIONS = {
  whole: { max_tokens: 1, messages: user("Say: pong") },
  stream: { max_tokens: 1, stream: true, messages: user("Say: pong") },
  // Every agent sends instructions.
  instructions: {
    max_tokens: 1,
    messages: [{ role: "system", content: "Be brief." }, ...user("Say: pong")],
  },
  tools: {
    max_tokens: ROOM,
    messages: user(`What time is it? Call the tool ${TOOL}.`),
    tools: [{
      type: "function",
      function: { name: TOOL, description: "The time now", parameters: { type: "object", properties: {} } },
    }],
  },
  reasoning: {
    max_tokens: ROOM,
    reasoning_effort: "low",
    messages: user("What is 2 + 3? Think, then answer briefly."),
  },
  structure: {
    max_tokens: ROOM,
    messages: user("What is 2 + 3?"),
    response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema: SCHEMA } },
  },
} satisfies Record<string, JsonObject>;

/** The smallest request of each other task: its path below a lane, and its body. */
export const OTHER_QUESTIONS: Record<Exclude<Task, "chat">, { path: string; body(model: string): BodyInit }> = {
  embedding: { path: "embeddings", body: (model) => JSON.stringify({ model, input: ["pong"] }) },
  rerank: { path: "rerank", body: (model) => JSON.stringify({ model, query: "ping", documents: ["pong"] }) },
  speech: { path: "audio/speech", body: (model) => JSON.stringify({ model, input: "pong", voice: "alloy" }) },
  transcription: { path: "audio/transcriptions", body: silence },
  image: { path: "images/generations", body: (model) => JSON.stringify({ model, prompt: "A dot" }) },
};

const RATE = 16_000;

/** A tenth of a second of silence, as a form. */
function silence(model: string): FormData {
  const samples = RATE / 10;
  const wav = new DataView(new ArrayBuffer(44 + 2 * samples));
  const text = (at: number, word: string) =>
    [...word].forEach((char, index) => wav.setUint8(at + index, char.charCodeAt(0)));
  text(0, "RIFF");
  wav.setUint32(4, 36 + 2 * samples, true);
  text(8, "WAVEfmt ");
  wav.setUint32(16, 16, true);
  wav.setUint16(20, 1, true);
  wav.setUint16(22, 1, true);
  wav.setUint32(24, RATE, true);
  wav.setUint32(28, 2 * RATE, true);
  wav.setUint16(32, 2, true);
  wav.setUint16(34, 16, true);
  text(36, "data");
  wav.setUint32(40, 2 * samples, true);
  const form = new FormData();
  form.set("model", model);
  form.set("file", new Blob([wav.buffer], { type: "audio/wav" }), "silence.wav");
  return form;
}
