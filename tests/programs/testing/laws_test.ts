/** The laws for strangers' plugins: the built-in ones keep them, and whoever breaks one is caught by its name. */
import { assert, assertEquals } from "@std/assert";
import { type DriverSample, type Law, laws, type ProtocolSample } from "@laneway/gateway/testing";
import { chatDriver, chatProtocols } from "../../../plugins/chat/mod.ts";
import { geminiProtocols } from "../../../plugins/gemini/mod.ts";
import { messagesDriver } from "../../../plugins/messages/mod.ts";
import { ollamaProtocols } from "../../../plugins/ollama/mod.ts";
import { responsesDriver } from "../../../plugins/responses/mod.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canonical/json.ts";
import type { Frame } from "../../../src/contract/frame.ts";
import type { AnyProtocol, Protocol } from "../../../src/contract/protocol.ts";
import { GatewayError } from "../../../src/errors.ts";
import { pieces } from "../../../examples/own_driver/pieces.ts";
import { chatStream, chatWhole, events, SHORTEST } from "../../regressions/support.ts";

const generateOf = (protocols: readonly AnyProtocol[]) =>
  protocols.find(({ operation }) => operation === "generate") as Protocol<"generate">;

interface Call extends JsonObject {
  function: { name: string; arguments: JsonValue };
}
const callsIn = (calls: JsonValue | undefined) =>
  ((calls ?? []) as Call[]).map(({ function: { name, arguments: input } }) => ({ name, input }));
const messageIn = ({ data }: Frame) => JSON.parse(data!).message ?? {};

const ollama: ProtocolSample = {
  protocol: generateOf(ollamaProtocols),
  request: { model: "m", messages: [{ role: "user", content: "Hello" }] },
  marks: { done: '"done":true', error: '{"error":"' },
  read: {
    whole: ({ message }) => ({
      text: String((message as JsonObject).content),
      calls: callsIn((message as JsonObject).tool_calls),
    }),
    stream: (frames) => ({
      text: frames.map((frame) => messageIn(frame).content).join(""),
      calls: frames.flatMap((frame) => callsIn(messageIn(frame).tool_calls)),
    }),
  },
};

const partsIn = (answer: JsonObject) => {
  const [candidate] = (answer.candidates ?? []) as JsonObject[];
  return (candidate?.content as JsonObject | undefined)?.parts as JsonObject[] ?? [];
};
const geminiRead = (parts: readonly JsonObject[]) => ({
  text: parts.map(({ text, thought }) => thought ? "" : text ?? "").join(""),
  calls: parts.flatMap(({ functionCall }) =>
    isJsonObject(functionCall) ? [{ name: String(functionCall.name), input: functionCall.args as JsonObject }] : []
  ),
});
const geminiOf = (name: string, marks: ProtocolSample["marks"], read: ProtocolSample["read"]["stream"]) => ({
  protocol: geminiProtocols.find((protocol) => protocol.name === name) as Protocol<"generate">,
  request: { contents: [{ role: "user", parts: [{ text: "Hello" }] }] },
  params: { id: "m" },
  marks,
  read: { whole: (answer: JsonObject) => geminiRead(partsIn(answer)), stream: read },
});
const gemini: ProtocolSample[] = [
  geminiOf(
    "gemini-v1beta-stream",
    { done: '"finishReason":', error: 'data: {"error":{' },
    (frames) => geminiRead(frames.flatMap(({ data }) => partsIn(JSON.parse(data!)))),
  ),
  geminiOf(
    "gemini-v1beta-list",
    { done: '"finishReason":', error: '{"error":{' },
    (frames) => geminiRead(JSON.parse(frames.map(({ data }) => data).join("\n")).flatMap(partsIn)),
  ),
];

function chatRead(frames: readonly Frame[]) {
  const deltas = frames.filter(({ data }) => data !== "[DONE]").flatMap(({ data }) =>
    (JSON.parse(data!).choices as JsonObject[]).map(({ delta }) => delta as JsonObject)
  );
  const calls: { name: string; text: string }[] = [];
  for (const call of deltas.flatMap(({ tool_calls }) => (tool_calls ?? []) as Call[])) {
    const { name, arguments: text } = call.function;
    const at = call.index as number;
    calls[at] = { name: name ?? calls[at]!.name, text: (calls[at]?.text ?? "") + text };
  }
  return {
    text: deltas.map(({ content }) => content ?? "").join(""),
    calls: calls.map(({ name, text }) => ({ name, input: JSON.parse(text) })),
  };
}

const chat: ProtocolSample = {
  protocol: generateOf(chatProtocols),
  request: { model: "m", messages: [{ role: "user", content: "Hello" }], stream: true },
  marks: { done: "[DONE]", error: 'data: {"error":{' },
  read: {
    whole({ choices }) {
      const { content, tool_calls } = (choices as JsonObject[])[0]!.message as JsonObject;
      const calls = callsIn(tool_calls).map(({ name, input }) => ({ name, input: JSON.parse(String(input)) }));
      return { text: String(content ?? ""), calls };
    },
    stream: chatRead,
  },
};

const MESSAGE = { ...SHORTEST.messages, content: [] };
const drivers: DriverSample[] = [
  {
    driver: chatDriver,
    whole: chatWhole({ content: "Hello" }),
    stream: chatStream([{ content: "Hello" }]),
    ending: '"finish_reason"',
  },
  {
    driver: messagesDriver,
    ending: '"stop_reason":"end_turn"',
    whole: SHORTEST.messages,
    stream: events(
      {
        type: "message_start",
        message: { ...MESSAGE, stop_reason: null, usage: { input_tokens: 5, output_tokens: 1 } },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
      { type: "message_stop" },
    ),
  },
  {
    driver: responsesDriver,
    ending: "response.completed",
    whole: SHORTEST.responses,
    stream: events({ type: "response.completed", response: SHORTEST.responses }),
  },
];

for (const { name, check } of [ollama, ...gemini, chat, ...drivers].flatMap(laws)) {
  Deno.test(`built-in: ${name}`, check);
}

/** The names of the laws that do not hold. */
async function broken(checks: readonly Law[]): Promise<string[]> {
  const names: string[] = [];
  for (const { name, check } of checks) {
    try {
      await check();
    } catch (thrown) {
      assert(thrown instanceof Error && thrown.message !== "");
      names.push(name.replace(/^[^:]+: /, ""));
    }
  }
  return names;
}

const { protocol } = ollama;
const rewritten = (change: (frame: Frame) => Frame[]): Protocol<"generate"> => ({
  ...protocol,
  stream: {
    framing: "ndjson",
    writer: (exchange) => {
      const writer = protocol.stream!.writer(exchange);
      return { write: (event, emit) => writer.write(event, (frame) => change(frame).forEach(emit)) };
    },
  },
});

let parsed = 0;
const PROTOCOLS: [what: string, protocol: Protocol<"generate">, law: RegExp][] = [
  ["a parser that counts", {
    ...protocol,
    parse: (wire, context) => ({ ...protocol.parse(wire, context), seed: ++parsed }),
  }, /^a request is read/],
  ["a parser that takes anything", {
    ...protocol,
    parse: () => ({ model: "m", messages: [{ role: "user", content: [] }], stream: true }),
  }, /^a request that is none/],
  [
    "a stream without its calls",
    rewritten((frame) => frame.data!.includes("tool_calls") ? [] : [frame]),
    /^a whole answer/,
  ],
  [
    "a stream that ends twice",
    rewritten((frame) => frame.data!.includes('"done":true') ? [frame, frame] : [frame]),
    /ends with/,
  ],
  [
    "a failure in silence",
    rewritten((frame) => frame.data!.startsWith('{"error"') ? [] : [frame]),
    /^wherever a stream/,
  ],
  [
    "a stream without short words",
    rewritten((frame) => messageIn(frame).content?.length === 1 ? [] : [frame]),
    /cuts its words/,
  ],
  ["an error without a word", {
    ...protocol,
    serializeError: (error) => Response.json({}, { status: error.status }),
  }, /^every error/],
];
for (const [what, protocol, law] of PROTOCOLS) {
  Deno.test(`laws: ${what} is caught`, async () => {
    const names = await broken(laws({ ...ollama, protocol }));
    assert(names.some((name) => law.test(name)), `Only these were broken: ${names.join("; ")}`);
  });
}

const sample: DriverSample = {
  driver: pieces,
  whole: { text: "Hi", in: 5, out: 2 },
  ending: '"end"',
  stream: '{"text":"Hi"}\n{"end":"stop","in":5,"out":2}\n',
};
const way = pieces.operations.generate as Extract<typeof pieces.operations.generate, { request: unknown }>;
const drivenBy = (change: Partial<typeof way>): DriverSample => ({
  ...sample,
  driver: { ...pieces, operations: { generate: { ...way, ...change } } },
});
let called = 0;
const DRIVERS: [what: string, sample: DriverSample, law: RegExp][] = [
  [
    "a call with a number of its own",
    drivenBy({ request: () => ({ path: "x", body: { number: ++called } }) }),
    /^a request is one call/,
  ],
  [
    "a stream that says something else",
    { ...sample, stream: sample.stream.replace("Hi", "Ho") },
    /^a stream is well formed/,
  ],
  [
    "a stream that breaks off in silence",
    drivenBy({
      stream: {
        framing: "ndjson",
        reader(...options) {
          const reader = way.stream!.reader(...options);
          return {
            read: (frame, emit) => reader.read(frame, emit),
            end() {},
            get done() {
              return reader.done;
            },
          };
        },
      },
    }),
    /^wherever a stream/,
  ],
  [
    "a stream that is over when its connection is",
    drivenBy({
      stream: {
        framing: "ndjson",
        reader(...options) {
          const reader = way.stream!.reader(...options);
          const end = { data: '{"end":"stop","in":5,"out":2}' };
          return {
            read: (frame, emit) => reader.read(frame, emit),
            end: (emit) => reader.read(end, emit),
            get done() {
              return reader.done;
            },
          };
        },
      },
    }),
    /^wherever a stream/,
  ],
  [
    "an answer made of nothing",
    drivenBy({
      response: () => ({
        model: "",
        content: [{ type: "text", text: "Hi" }],
        finish: { reason: "stop" },
        usage: { inputTokens: 5, outputTokens: 2 },
      }),
    }),
    /^what is no answer/,
  ],
  ["a refusal that is passed on as it is", {
    ...sample,
    driver: {
      ...pieces,
      parseError: ({ body }) => new GatewayError("upstream_error", isJsonObject(body) ? "No" : String(body)),
    },
  }, /^every refusal/],
];
for (const [what, sample, law] of DRIVERS) {
  Deno.test(`laws: ${what} is caught`, async () => {
    const names = await broken(laws(sample));
    assert(names.some((name) => law.test(name)), `Only these were broken: ${names.join("; ")}`);
  });
}

Deno.test("laws: what keeps them all breaks none", async () => {
  assertEquals(await broken([...laws(ollama), ...laws(sample)]), []);
});
