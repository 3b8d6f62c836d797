/** A gateway that redacts, before upstreams that answer with what they received. */
import type { GenerateEvent, OutputPart } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { type ConfigInput, ENV, newApp, type TestApp, type TestAppOptions } from "./app.ts";
import { newContext, newWireRequest } from "./context.ts";
import { USAGE } from "./hosted_rig.ts";
import { CHAT, type Wire } from "./wires.ts";

export const EMAIL = "ada@example.com";
export const PASSWORD = "hunter2-x9q";
/** The text of clients. It shows the password to be one, wherever it stands. */
export const SAID = `Mail ${EMAIL} that PASSWORD=${PASSWORD} is out`;
export const HELD = /redacted-(?:secret-\w{16}|email-\w{16}@mail\.invalid)/g;

/** Throws if the text has a secret, written in any way in which texts leave the gateway. */
export function assertClean(text: string, what: string): void {
  const forms = [text, text.replaceAll("\\", ""), safelyDecoded(text)];
  for (const secret of [EMAIL, PASSWORD]) {
    if (forms.some((form) => form.includes(secret))) throw new Error(`${what} has ${secret}: ${text.slice(0, 2_000)}`);
  }
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

export interface Received {
  host: string;
  path: string;
  headers: Headers;
  text: string;
  body: JsonObject;
  signal: AbortSignal;
}

/** How an upstream answers: with a response, or the parts of a message. */
export type Answering = (received: Received, round: number) => Response | readonly OutputPart[] | Promise<Response>;

export interface RedactionRig {
  app: TestApp;
  received: Received[];
}

export interface RedactionRigOptions extends Omit<TestAppOptions, "config" | "fetch"> {
  wire?: Wire;
  answers?: Answering;
  redact?: JsonObject;
  config?: JsonObject;
  /** The length of the pieces in which texts are streamed. */
  piece?: number;
}

/** All texts of a JSON value in which a placeholder or a secret stands, in order. */
export function textsIn(value: JsonValue | undefined): string[] {
  if (typeof value === "string") return value.match(HELD) || value.includes(PASSWORD) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  return isJsonObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

export const echo: Answering = ({ body }) => [{ type: "text", text: `You said: ${textsIn(body).at(-1)}!` }];

export function newRedactionRig(
  { wire = CHAT, answers = echo, redact, config, piece = 5, ...options }: RedactionRigOptions = {},
): RedactionRig {
  const received: Received[] = [];
  const app = newApp({
    config: {
      upstreams: { fake: { driver: wire.name, baseUrl: "http://upstream.test/v1" } },
      lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "org/model" }] } } } },
      redact: { secrets: true, emails: true, ...redact },
      ...config,
    } as unknown as ConfigInput,
    env: ENV,
    ...options,
    async fetch(input, init) {
      const request = new Request(input, init);
      const { hostname: host, pathname: path, search } = new URL(request.url);
      const { headers, signal } = request;
      const text = await request.text();
      const isJson = headers.get("content-type")?.includes("json");
      const one = { host, path: path + search, headers, signal, text, body: isJson ? JSON.parse(text) : {} };
      const round = received.push(one) - 1;
      const answer = await answers(one, round);
      return answer instanceof Response ? answer : await written(wire, answer, one.body.stream === true, piece);
    },
  });
  return { app, received };
}

/** The parts as an answer on the wire, whole or in pieces of this length. */
export async function written(
  wire: Wire,
  content: readonly OutputPart[],
  isStream: boolean,
  piece: number,
): Promise<Response> {
  const reason = content.some(({ type }) => type === "tool-call") ? "tool-calls" as const : "stop" as const;
  const response = { model: "org/model", content: [...content], finish: { reason }, usage: USAGE };
  const asked = newWireRequest({
    model: "m",
    max_tokens: 9,
    stream: isStream,
    messages: [{ role: "user", content: "a" }],
    input: "a",
  });
  const exchange = wire.newExchange(wire.parseRequest(asked, newContext(wire.name)), asked);
  if (!isStream) return Response.json(await wire.serializeResponse(response, exchange));
  const headers = { "content-type": "text/event-stream" };
  return new Response(wire.writeText(eventsOf(content, reason, piece), exchange), { headers });
}

function* eventsOf(
  content: readonly OutputPart[],
  reason: "tool-calls" | "stop",
  piece: number,
): Generator<GenerateEvent> {
  yield { type: "start", model: "org/model", inputTokens: 10 };
  for (const [index, part] of content.entries()) {
    const text = part.type === "tool-call" ? part.input : "text" in part ? part.text : "";
    const empty = part.type === "tool-call" ? { ...part, input: "" } : { ...part, text: "" };
    yield { type: "part-start", index, part: empty as OutputPart };
    const type = part.type === "tool-call" ? "tool-input" : part.type;
    for (let at = 0; at < text.length; at += piece) {
      yield { type: "part-delta", index, delta: { type: type as "text", text: text.slice(at, at + piece) } };
    }
    yield { type: "part-end", index };
  }
  yield { type: "finish", finish: { reason }, usage: USAGE };
}

/** How clients of a wire ask, and where they read the text of an answer. */
export interface ClientDoor {
  path(stream: boolean): string;
  body(said: string, stream: boolean, more?: JsonObject): JsonObject;
  /** The text in a whole answer, or in one event of a stream. */
  // deno-lint-ignore no-explicit-any -- what a client gets is looked into here and there
  read(body: any): string | undefined;
}

const inMessages = (said: string, stream: boolean, more?: JsonObject): JsonObject => ({
  model: "model",
  stream,
  messages: [{ role: "user", content: said }],
  ...more,
});

export const DOORS: Record<string, ClientDoor> = {
  chat: {
    path: () => "/oss/v1/chat/completions",
    body: inMessages,
    read: ({ choices: [one] = [] }) => one && (one.delta ?? one.message).content,
  },
  messages: {
    path: () => "/oss/v1/messages",
    body: (said, stream, more) => inMessages(said, stream, { max_tokens: 500, ...more }),
    read: ({ content, delta }) => content ? content[0].text : delta?.text,
  },
  responses: {
    path: () => "/oss/v1/responses",
    body: (said, stream, more) => ({ model: "model", stream, input: said, ...more }),
    read: ({ output, type, delta }) =>
      output ? output.at(-1).content[0].text : type === "response.output_text.delta" ? delta : undefined,
  },
  gemini: {
    path: (stream) => `/oss/v1beta/models/model:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: (said, _stream, more) => ({ contents: [{ role: "user", parts: [{ text: said }] }], ...more }),
    read: ({ candidates: [one] = [] }) => one?.content?.parts?.[0]?.text,
  },
  ollama: {
    path: () => "/oss/api/chat",
    body: inMessages,
    read: ({ message }) => message?.content,
  },
};

/** The text that a client of the wire reads in an answer. */
export function readText({ read }: ClientDoor, answer: string, stream: boolean): string {
  if (!stream) return read(JSON.parse(answer)) ?? "";
  const frames = answer.split("\n").map((line) => line.replace(/^data: ?/, "")).filter((line) => line.startsWith("{"));
  return frames.map((line) => read(JSON.parse(line)) ?? "").join("");
}

/** Throws if the console, asked for all that it recorded, or the log has a secret. Returns how many requests it recorded. */
export async function assertRecordsClean(app: TestApp): Promise<number> {
  const { data } = await (await app.get("/console/api/records")).json() as { data: { id: string }[] };
  for (const { id } of data) {
    assertClean(await (await app.get(`/console/api/record?id=${id}`)).text(), "A record of the console");
  }
  assertClean(Deno.inspect(app.logs, { depth: 20, strAbbreviateSize: Infinity }), "The log");
  return data.length;
}

/** Throws if an upstream received a secret. */
export function assertReceivedClean(received: readonly Received[]): void {
  for (const { host, path, text, headers } of received) {
    assertClean(`${path} ${text} ${JSON.stringify([...headers])}`, host);
  }
}

/** The configuration that records all requests for the console. */
export const RECORD: JsonObject = { console: { record: {} } };
