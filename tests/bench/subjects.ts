/** What the bench compares. Another subject is another entry of `SUBJECTS`, with its path and body. */
import { type Server, startServer } from "./server.ts";

export interface Subject {
  name: string;
  path: string;
  /** Where it counts the tokens of such a body, if it does. */
  countPath?: string;
  /** Starts a server in front of the upstream. Absent for the upstream itself: the figure that the others add to. */
  start?(upstream: string): Promise<Server>;
  body(load: Load): unknown;
}

export interface Load {
  /** About how long the body is. */
  bytes: number;
  /** What the fake upstream shall stream (see there); a whole answer where absent. */
  stream?: string;
}

export function startUpstream(): Promise<Server> {
  return startServer([import.meta.resolve("./fake_upstream.ts")]);
}

export const SUBJECTS: readonly Subject[] = [
  { name: "direct", path: "/v1/chat/completions", body: chatBody },
  {
    name: "passthrough",
    path: "/v1/chat/completions",
    body: chatBody,
    start: startPassthrough,
  },
  { name: "chat", path: "/oss/v1/chat/completions", body: chatBody, start: startLaneway },
  {
    name: "messages",
    path: "/oss/v1/messages",
    countPath: "/oss/v1/messages/count_tokens",
    body: messagesBody,
    start: startLaneway,
  },
  {
    name: "responses",
    path: "/oss/v1/responses",
    countPath: "/oss/v1/responses/input_tokens",
    body: responsesBody,
    start: startLaneway,
  },
];

export function startPassthrough(upstream: string): Promise<Server> {
  return startServer([import.meta.resolve("./passthrough.ts"), upstream]);
}

/** Its lane has the model `bench`, and one for each other task and kind of upstream. */
export async function startLaneway(upstream: string): Promise<Server> {
  const model = (task: string, upstream = "fake") => ({ task, targets: [{ upstream, model: "bench" }] });
  const folder = await Deno.makeTempDir({ prefix: "laneway-bench-" });
  const config = `${folder}/gateway.json`;
  await Deno.writeTextFile(
    config,
    JSON.stringify({
      upstreams: {
        fake: { driver: "chat", baseUrl: `${upstream}/v1`, batch: 2_048 },
        hub: { driver: "hub", baseUrl: `${upstream}/hub` },
        fal: { driver: "fal", baseUrl: `${upstream}/fal` },
      },
      lanes: {
        oss: {
          models: {
            bench: model("chat"),
            embedding: model("embedding"),
            "hub-embedding": model("embedding", "hub"),
            speech: model("speech"),
            transcription: model("transcription"),
            "fal-transcription": model("transcription", "fal"),
          },
        },
      },
      store: { path: `${folder}/store.sqlite3` },
    }),
  );
  return await startServer([import.meta.resolve("../../src/main.ts"), "--config", config, "--port", "0"], folder);
}

/** A conversation as an agent has it: calls of a tool and what it answered, until it is long enough. */
export function chatBody({ bytes, stream }: Load): unknown {
  const calls = Array.from({ length: callsIn(bytes) }, (_, at) => [
    {
      role: "assistant",
      content: "I will read the file.",
      tool_calls: [{
        id: `call_${at}`,
        type: "function",
        function: { name: "read", arguments: `{"path":"/src/${at}.ts"}` },
      }],
    },
    { role: "tool", tool_call_id: `call_${at}`, content: FILE },
  ]);
  return {
    model: "bench",
    messages: [
      { role: "system", content: "You are a careful assistant." },
      ...calls.flat(),
      { role: "user", content: `What do they do? ${stream ?? ""}` },
    ],
    tools: [{ type: "function", function: { name: "read", description: "Reads a file", parameters: PARAMETERS } }],
    max_tokens: 1_024,
    temperature: 0.2,
    ...(stream !== undefined && { stream: true }),
  };
}

/** The same conversation on the messages wire. */
function messagesBody({ bytes, stream }: Load): unknown {
  const calls = Array.from({ length: callsIn(bytes) }, (_, at) => [
    {
      role: "assistant",
      content: [
        { type: "text", text: "I will read the file." },
        { type: "tool_use", id: `call_${at}`, name: "read", input: { path: `/src/${at}.ts` } },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: `call_${at}`, content: FILE }] },
  ]);
  return {
    model: "bench",
    system: [{ type: "text", text: "You are a careful assistant." }],
    messages: [...calls.flat(), { role: "user", content: `What do they do? ${stream ?? ""}` }],
    tools: [{ name: "read", description: "Reads a file", input_schema: PARAMETERS }],
    max_tokens: 1_024,
    temperature: 0.2,
    ...(stream !== undefined && { stream: true }),
  };
}

/** The same conversation on the responses wire, which stores nothing either. */
export function responsesBody({ bytes, stream }: Load): object {
  const calls = Array.from({ length: callsIn(bytes) }, (_, at) => [
    { role: "assistant", content: [{ type: "output_text", text: "I will read the file." }] },
    { type: "function_call", call_id: `call_${at}`, name: "read", arguments: `{"path":"/src/${at}.ts"}` },
    { type: "function_call_output", call_id: `call_${at}`, output: FILE },
  ]);
  return {
    model: "bench",
    instructions: "You are a careful assistant.",
    input: [...calls.flat(), { role: "user", content: `What do they do? ${stream ?? ""}` }],
    tools: [{ type: "function", name: "read", description: "Reads a file", parameters: PARAMETERS, strict: false }],
    max_output_tokens: 1_024,
    temperature: 0.2,
    store: false,
    ...(stream !== undefined && { stream: true }),
  };
}

function callsIn(bytes: number): number {
  return Math.max(1, Math.floor(bytes / CALL_BYTES));
}

const PARAMETERS = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
export const FILE = 'function add(a, b) {\n\treturn `${a} + "${b}"`; // the sum — 和\n}\n\n'.repeat(8);
/** What one call and its answer take. */
const CALL_BYTES = 800;
