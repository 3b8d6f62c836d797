/** What the upstream of the bench of stalls answers, by the name of the case. */
import { JSON_LIMITS } from "../../src/canonical/json_limits.ts";
import { createGzip } from "node:zlib";
import { configSchema } from "../../src/config/schema.ts";

export interface HeavyAnswer {
  body: BodyInit;
  headers: Record<string, string>;
  status?: number;
}

type Make = () => HeavyAnswer | Promise<HeavyAnswer>;

const json = (value: unknown): HeavyAnswer => text(JSON.stringify(value));
const text = (body: string): HeavyAnswer => ({
  body: new TextEncoder().encode(body),
  headers: { "content-type": "application/json" },
});
const sse = (frames: string): HeavyAnswer => ({
  body: new TextEncoder().encode(frames),
  headers: { "content-type": "text/event-stream" },
});
const frame = (data: unknown, event?: string) => `${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
const typed = (data: { type: string }) => frame(data, data.type);
/** As many of them as one answer or one event may hold. */
export const upTo = <T>(make: (at: number) => T): T[] => many(countUpTo(make(0)), make);

/** How many of such a value may be in one request, answer or event: some room is left for what is around them. */
export function countUpTo(value: unknown): number {
  const values = JSON.stringify(value).match(/"(?:[^"\\]|\\.)*"|[{[]|true|false|null/g)?.length ?? 1;
  return Math.floor((JSON_LIMITS.values - 1_000) / values);
}

const many = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

// Chat

const chatUsage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
const chat = (message: object, finish_reason = "stop") => ({
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
  usage: chatUsage,
});
const chatText = (content: string) => json(chat({ content }));
const chunk = (delta: object, finish_reason: string | null = null) =>
  frame({ id: "c", choices: [{ index: 0, delta, finish_reason }] });
const chatStream = (chunks: string, finish = "stop") =>
  sse(`${chunks}${chunk({}, finish)}${frame({ id: "c", choices: [], usage: chatUsage })}data: [DONE]\n\n`);
const call = (at: number, args = "{}") => ({
  index: at,
  id: `call_${at}`,
  type: "function",
  function: { name: "f", arguments: args },
});
/** All of the text in one delta. */
const chatTextStream = (content: string) => chatStream(chunk({ content }));
const pieces = (content: string, length: number) =>
  many(Math.ceil(content.length / length), (at) => chunk({ content: content.slice(at * length, (at + 1) * length) }))
    .join("");

// Messages

const message = (content: object[], stop_reason = "end_turn") => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content,
  stop_reason,
  usage: { input_tokens: 10, output_tokens: 10 },
});
const messageStream = (content: object[], deltas: (block: object) => object[]) =>
  sse(
    typed({ type: "message_start", message: message([]) } as never) +
      content.map((block, index) =>
        typed({ type: "content_block_start", index, content_block: block } as never) +
        deltas(block).map((delta) => typed({ type: "content_block_delta", index, delta } as never)).join("") +
        typed({ type: "content_block_stop", index } as never)
      ).join("") +
      typed({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 10 } } as never) +
      typed({ type: "message_stop" }),
  );

// Responses

const response = (output: object[]) => ({
  id: "resp_1",
  object: "response",
  status: "completed",
  model: "m",
  output,
  usage: { input_tokens: 10, output_tokens: 10, total_tokens: 20 },
});
const outputText = (text: string, id = "item_0") => ({
  id,
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});
const functionCall = (at: number) => ({
  type: "function_call",
  id: `fc_${at}`,
  call_id: `call_${at}`,
  name: "f",
  arguments: "{}",
  status: "completed",
});
const responseStream = (output: object[]) =>
  sse(
    typed({ type: "response.created", response: { ...response([]), status: "in_progress" } } as never) +
      output.map((item, output_index) =>
        typed({ type: "response.output_item.added", output_index, item } as never) +
        typed({ type: "response.output_item.done", output_index, item } as never)
      ).join("") +
      typed({ type: "response.completed", response: response(output) } as never),
  );

// Everything else

const MB = 1_000_000;
const WORDS = "It is raining in Oslo, and 17 people wait for the bus. ";
const words = (bytes: number) => WORDS.repeat(Math.ceil(bytes / WORDS.length));
const CALLS = 100_000;
/** As much as a model may write. */
const TEXT = configSchema.parse({}).limits.answerText - WORDS.length;

/** The gzip of so many bytes of `fill`, between `before` and `after`. */
async function bomb(bytes: number, fill: string, before: string, after: string): Promise<Uint8Array<ArrayBuffer>> {
  const gzip = createGzip({ level: 1 });
  const parts: Uint8Array[] = [];
  gzip.on("data", (part: Uint8Array) => parts.push(part));
  const block = fill.repeat(Math.ceil(MB / fill.length));
  gzip.write(before);
  for (let sent = 0; sent < bytes; sent += block.length) {
    if (!gzip.write(block)) await new Promise((resolve) => gzip.once("drain", resolve));
  }
  gzip.end(after);
  await new Promise((resolve) => gzip.once("end", resolve));
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}
const bombOf =
  (type: string, fill: string, before = "", after = "", status = 200, bytes = 1_000 * MB): Make => async () => ({
    body: await bomb(bytes, fill, before, after),
    headers: { "content-type": type, "content-encoding": "gzip" },
    status,
  });

const vector = (width: number, at: number) => many(width, (index) => Math.sin(at * 12.9898 + index * 78.233) / 16);
const FLOATS = many(64, (at) => vector(4_096, at));
const embeddings = (count: number, spell: (vector: number[]) => unknown) =>
  json({
    object: "list",
    data: many(count, (index) => ({ object: "embedding", index, embedding: spell(FLOATS[index % 64]!) })),
    usage: { prompt_tokens: 10, total_tokens: 10 },
  });
const base64 = (vector: number[]) => new Uint8Array(new Float32Array(vector).buffer).toBase64();

const SEGMENT = { id: 1, start: 1, end: 1, text: "a", avg_logprob: 1 };
const NEAR = "{'a': 'b', ";
const OBJECTS = `[${many(countUpTo({ id: 1, name: "n" }), (at) => `{"id": ${at}, "name": "n"}`).join(",")}]`;

export const ANSWERS: Record<string, Make | undefined> = {
  "chat-calls": () => json(chat({ content: null, tool_calls: upTo((at) => call(at)) }, "tool_calls")),
  "chat-calls-stream": () => chatStream(many(CALLS, (at) => chunk({ tool_calls: [call(at)] })).join(""), "tool_calls"),
  "chat-calls-one-frame": () => chatStream(chunk({ tool_calls: upTo((at) => call(at)) }), "tool_calls"),
  "messages-calls": () =>
    json(message(upTo((at) => ({ type: "tool_use", id: `call_${at}`, name: "f", input: {} })), "tool_use")),
  "messages-blocks-stream": () =>
    messageStream(many(CALLS, () => ({ type: "text", text: "" })), () => [{ type: "text_delta", text: "a" }]),
  "responses-calls": () => json(response(upTo(functionCall))),
  "responses-items": () => json(response(upTo((at) => outputText("a", `item_${at}`)))),
  "responses-calls-stream": () => responseStream(upTo(functionCall)),
  "text": () => chatText(words(TEXT)),
  "text-beyond": () => chatText(words(48 * MB)),
  "frames-beyond": () => chatStream(many(60, () => chunk({ content: words(MB) })).join("")),
  "picture": () =>
    json(
      response([{ type: "image_generation_call", id: "ig_1", status: "completed", result: "iVBOR".repeat(9 * MB) }]),
    ),
  "text-messages": () => json(message([{ type: "text", text: words(TEXT) }])),
  "text-responses": () => json(response([outputText(words(TEXT))])),
  "text-no-usage": () => json({ ...chat({ content: words(TEXT) }), usage: undefined }),
  "reasoning": () => json(chat({ content: "ok", reasoning_content: words(TEXT) })),
  "thought": () => json(chat({ content: "ok", reasoning_content: "It is raining." })),
  "one-letter-words": () => chatText("a ".repeat(TEXT / 2)),
  "annotations": () =>
    json(response([{
      ...outputText("a"),
      content: [{
        type: "output_text",
        text: words(MB),
        annotations: upTo((at) => ({ type: "url_citation", url: `https://a.test/${at}`, title: "t" })),
      }],
    }])),
  "frames-small": () => chatStream(many(CALLS, () => chunk({ content: "a " })).join("")),
  "frames-large": () => chatStream(many(8, () => chunk({ content: words(TEXT / 8 - WORDS.length) })).join("")),
  "frame-one": () => chatTextStream(words(TEXT)),
  "frames-comments": () => chatStream(": ping\n\n".repeat(1_000_000)),
  "frames-empty": () => chatStream("data: {}\n\n".repeat(1_000_000)),
  "frames-messages": () =>
    messageStream([{ type: "text", text: "" }], () => many(CALLS, () => ({ type: "text_delta", text: "a " }))),
  "bomb": bombOf("application/json", " ", '{"a": "', '"}'),
  "bomb-limit": bombOf(
    "application/json",
    WORDS,
    '{"choices":[{"index":0,"message":{"content":"',
    '"}}]}',
    200,
    48 * MB,
  ),
  "bomb-error": bombOf("application/json", " ", '{"error": "', '"}', 400),
  "bomb-stream": bombOf("text/event-stream", ": ping\n\n"),
  "bomb-frame": bombOf("text/event-stream", "a", "data: "),
  ...Object.fromEntries(
    Object.entries({
      "angles": "<",
      "braces": "{",
      "brackets": "[",
      "marks": "<[{",
      "backticks": "`",
      "spaces": " ",
      "think": "<think>a<",
      "near-calls": '<tool_call>{"name": "f", "arguments": {"city": "',
      "list": '[TOOL_CALLS][{"name": "f", "arguments": {}}, ',
      "tags": "<function=f><parameter=city>",
      "calls": '<tool_call>{"name": "f", "arguments": {}}</tool_call>\n',
      "words": WORDS,
    }).flatMap(([name, unit]) => {
      const content = unit.repeat(4 * MB / unit.length);
      return [
        [`forms-${name}`, () => chatText(content)],
        [`forms-${name}-stream`, () => chatTextStream(content)],
        [`forms-${name}-pieces`, () => chatStream(pieces(content, 64))],
      ];
    }),
  ),
  "near-json": () => json(chat({ tool_calls: [call(0, NEAR.repeat(8 * MB / NEAR.length))] }, "tool_calls")),
  "near-json-stream": () =>
    chatStream(chunk({ tool_calls: [call(0, NEAR.repeat(8 * MB / NEAR.length))] }), "tool_calls"),
  "near-json-calls": () => json(chat({ tool_calls: upTo((at) => call(at, "{'a': 1,}")) }, "tool_calls")),
  "near-json-fits": () =>
    json(chat({ tool_calls: [call(0, `{'a': [${"{'b': 1}, ".repeat(300_000)}]}`)] }, "tool_calls")),
  "form-objects": () => chatText(OBJECTS),
  "form-fenced": () => chatText(`Here:\n\`\`\`json\n${OBJECTS}\n\`\`\``),
  "form-braces": () => chatText("{".repeat(8 * MB)),
  /** 46 MB of text. */
  "embeddings-float": () => embeddings(500, (vector) => vector),
  "embeddings-base64": () => embeddings(2_048, base64),
  "pooling": () => json(many(32, () => many(64, (at) => FLOATS[at]!.slice(0, 1_024)))),
  "pooling-one": () => json([many(500, (at) => FLOATS[at % 64]!)]),
  "rerank": () => json({ results: many(10_000, (index) => ({ index, relevance_score: Math.sin(index) })) }),
  "transcript": () =>
    json({
      text: words(5 * MB),
      duration: 5,
      language: "en",
      segments: many(
        countUpTo(SEGMENT) / 2,
        (id) => ({ id, start: id, end: id + 1, text: " It is raining", avg_logprob: -0.1 }),
      ),
      words: many(
        countUpTo({ word: "a", start: 1, end: 1 }) / 2,
        (at) => ({ word: "raining", start: at, end: at + 1 }),
      ),
    }),
};

/** A short answer, by the path that was asked. */
export function okFor(path: string, stream: boolean): HeavyAnswer {
  if (path.endsWith("/messages")) {
    return stream
      ? messageStream([{ type: "text", text: "" }], () => [{ type: "text_delta", text: "ok" }])
      : json(message([{ type: "text", text: "ok" }]));
  }
  if (path.endsWith("/responses")) {
    return stream ? responseStream([outputText("ok")]) : json(response([outputText("ok")]));
  }
  if (path.endsWith("/embeddings")) {
    return json({ data: [{ index: 0, embedding: [0.1, 0.2] }], usage: { prompt_tokens: 1, total_tokens: 1 } });
  }
  return stream ? chatTextStream("ok") : chatText("ok");
}
