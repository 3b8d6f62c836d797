/** Recorded streams that break off, and servers that continue them as the model that was recorded would have. */
import { collect } from "../../src/canonical/collect.ts";
import type { GenerateEvent, GenerateResponse, OutputPart } from "../../src/canonical/generate.ts";
import { replay } from "../../src/canonical/replay.ts";
import { type ConfigInput, newApp } from "./app.ts";
import { bodyOf, boundariesOf } from "./chunks.ts";
import { newContext, newWireRequest } from "./context.ts";
import { answerFor, CLIENTS, type Got } from "./continued_answers.ts";
import { type Asked, fakeUpstream } from "./fake_upstream.ts";
import { answerBytes, type Fixture, isStream, loadFixtures } from "./fixtures.ts";
import { type Wire, WIRES } from "./wires.ts";

/** How a recorded stream breaks. */
export const BREAKS = ["cut", "reset", "garbage", "error", "overload", "stall"] as const;
export type Break = typeof BREAKS[number];

/** A stream that was recorded, and the answer that it is. */
export class Recorded {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly boundaries: readonly number[];

  readonly wire: Wire;
  readonly fixture: Fixture;
  readonly whole: GenerateResponse;

  constructor(wire: Wire, fixture: Fixture, whole: GenerateResponse) {
    this.wire = wire;
    this.fixture = fixture;
    this.whole = whole;
    this.bytes = answerBytes(fixture);
    this.boundaries = boundariesOf(this.bytes).filter((boundary) => boundary > 0);
  }
}

/** All recorded streams that end. */
export async function recordedStreams(): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  for (const wire of WIRES) {
    for (const fixture of loadFixtures(wire.name).filter(isStream)) {
      const events = await wire.readStream(fixture, bodyOf([answerBytes(fixture)]));
      if (events.at(-1)?.type === "finish") recorded.push(new Recorded(wire, fixture, collect(events)));
    }
  }
  return recorded;
}

/** One case: a stream that breaks, and a client that reads it. */
export interface BrokenCase {
  recorded: Recorded;
  /** Which of the boundaries of events it breaks at. */
  at: number;
  how: Break;
  client: string;
}

export function casesOf(recorded: readonly Recorded[]): number {
  return recorded.reduce((sum, { boundaries }) => sum + boundaries.length, 0) * BREAKS.length *
    Object.keys(CLIENTS).length;
}

/** The case of that number, of `casesOf` many. */
export function caseAt(recorded: readonly Recorded[], number: number): BrokenCase {
  const clients = Object.keys(CLIENTS);
  let left = number;
  const take = (count: number) => {
    const index = left % count;
    left = Math.floor(left / count);
    return index;
  };
  const client = clients[take(clients.length)]!;
  const how = BREAKS[take(BREAKS.length)]!;
  for (const one of recorded) {
    if (left < one.boundaries.length) return { recorded: one, at: left, how, client };
    left -= one.boundaries.length;
  }
  throw new RangeError(`There is no case ${number}`);
}

/** How a failure is written into a stream of each wire. */
const FAILURES: Record<string, (overloaded: boolean) => string> = {
  chat: (overloaded) => {
    const error = {
      message: "failed",
      type: overloaded ? "overloaded_error" : "server_error",
      code: overloaded ? 503 : 500,
    };
    return `data: ${JSON.stringify({ error })}\n\n`;
  },
  messages: (overloaded) => {
    const error = { type: overloaded ? "overloaded_error" : "api_error", message: "failed" };
    return `event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`;
  },
  responses: (overloaded) => {
    const error = { code: overloaded ? "server_is_overloaded" : "server_error", message: "failed" };
    const response = { id: "r", status: "failed", error, output: [] };
    return `event: response.failed\ndata: ${JSON.stringify({ type: "response.failed", response })}\n\n`;
  },
};

const GARBAGE = 'data: {"choices":[{"index":0,"delta":{"content":"\n\n';

function brokenBody(
  { recorded: { bytes, boundaries, wire }, at, how }: BrokenCase,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const beginning = boundaries.slice(0, at + 1).map((end, index) => bytes.subarray(boundaries[index - 1] ?? 0, end));
  const encoded = (text: string) => new TextEncoder().encode(text);
  switch (how) {
    case "cut":
      return bodyOf(beginning);
    case "reset":
      return bodyOf(beginning, new TypeError("connection reset"));
    case "garbage":
      return bodyOf([...beginning, encoded(GARBAGE)]);
    case "stall":
      return new ReadableStream({
        start(controller) {
          for (const one of beginning) controller.enqueue(one);
          signal.addEventListener("abort", () => controller.error(signal.reason), { once: true });
        },
      });
    default:
      return bodyOf([...beginning, encoded(FAILURES[wire.name]!(how === "overload"))]);
  }
}

const STREAM = { headers: { "content-type": "text/event-stream" } };

/** The rest of the answer, for a request to go on. */
function restFor({ wire, whole }: Recorded, { body }: Asked): Response {
  const request = newWireRequest(JSON.parse(body));
  const input = wire.parseRequest(request, newContext(wire.name));
  const content = restOf(whole.content, begunIn(input.messages));
  const events = replay({ ...whole, content });
  return new Response(wire.writeText(events as Iterable<GenerateEvent>, wire.newExchange(input, request)), STREAM);
}

/** The text that the model is to go on from, and the one that it is to repeat first. */
interface Begun {
  text: string;
  quote: string;
}

function begunIn(messages: ReturnType<Wire["parseRequest"]>["messages"]): Begun {
  const [before, last] = messages.slice(-2);
  const textIn = (content: readonly { type: string; text?: string }[]) =>
    content.map(({ type, text = "" }) => type === "text" ? text : "").join("");
  if (last?.role === "assistant") return { text: textIn(last.content), quote: "" };
  if (before?.role === "assistant" && last) {
    return { text: textIn(before.content), quote: /\n\n([^]+)\n\n[^]*$/.exec(textIn(last.content))?.[1] ?? "" };
  }
  return { text: "", quote: "" };
}

function restOf(content: readonly OutputPart[], { text, quote }: Begun): OutputPart[] {
  let left = text;
  const rest: OutputPart[] = [];
  for (const part of content) {
    if (part.type === "text" && left !== "") {
      const known = part.text.slice(0, left.length);
      if (!left.startsWith(known)) throw new Error(`The turn is not the model's: ${JSON.stringify(text)}`);
      left = left.slice(known.length);
      if (known.length < part.text.length) rest.push({ ...part, text: part.text.slice(known.length) });
    } else if (left === "" && (text === "" || part.type !== "reasoning")) rest.push(part);
  }
  if (left !== "") throw new Error(`The turn is not the model's: ${JSON.stringify(text)}`);
  if (quote === "") return rest;
  const [first, ...others] = rest;
  return first?.type === "text"
    ? [{ ...first, text: quote + first.text }, ...others]
    : [{ type: "text", text: quote }, ...rest];
}

const MODELS: Record<string, string> = { chat: "org/model", messages: "claude-haiku-4-5", responses: "org/model" };

function configFor({ name }: Wire, broken: Break = "cut"): ConfigInput {
  const how = { chat: { prefill: "turn" as const }, responses: { continuation: "instruction" as const } }[name];
  return {
    upstreams: { fake: { driver: name, baseUrl: "http://upstream.test/v1", ...how } },
    lanes: {
      oss: {
        ...broken === "stall" && { stallContinueMs: 1 },
        models: { model: { task: "chat", targets: [{ upstream: "fake", model: MODELS[name]! }] } },
      },
    },
  };
}

/** The tools that the answer calls. */
function toolsIn({ content }: GenerateResponse): string[] {
  return [...new Set(content.flatMap((part) => part.type === "tool-call" ? [part.name] : []))];
}

/** The answer of a stream that does not break, as its client reads it. */
export async function wholeFor({ recorded, client }: BrokenCase): Promise<Got> {
  const upstream = fakeUpstream(() => new Response(bodyOf([recorded.bytes]), STREAM));
  const app = newApp({ config: configFor(recorded.wire), fetch: upstream.fetch });
  const got = await answerFor(app, client, { tools: toolsIn(recorded.whole) });
  await app.close();
  return got;
}

/** The answer of a stream that breaks, as its client reads it, and how many calls that took. */
export async function brokenFor(one: BrokenCase): Promise<{ got: Got; calls: number; failures: unknown[] }> {
  const { recorded, client } = one;
  const failures: unknown[] = [];
  let calls = 0;
  const upstream = fakeUpstream((asked) => {
    if (calls++ === 0) return new Response(brokenBody(one, asked.signal), STREAM);
    try {
      return restFor(recorded, asked);
    } catch (failure) {
      failures.push(failure);
      throw failure;
    }
  });
  const app = newApp({
    config: {
      ...configFor(recorded.wire, one.how),
      // A stall that is not continued ends soon.
      ...one.how === "stall" && { upstreams: impatient(configFor(recorded.wire)) },
    },
    fetch: upstream.fetch,
  });
  const got = await answerFor(app, client, { tools: toolsIn(recorded.whole) });
  await app.close();
  return { got, calls, failures };
}

function impatient({ upstreams = {} }: ConfigInput): ConfigInput["upstreams"] {
  const timeouts = { idleMs: 5, firstEventMs: 5 };
  return Object.fromEntries(Object.entries(upstreams).map(([name, one]) => [name, { ...one, timeouts }]));
}
