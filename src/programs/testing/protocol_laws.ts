import type { GenerateEvent, GenerateRequest, GenerateResponse, OutputPart } from "../../canonical/generate.ts";
import type { JsonObject, JsonValue } from "../../canonical/json.ts";
import { replay } from "../../canonical/replay.ts";
import type { Exchange, WireRequest } from "../../contract/context.ts";
import type { Frame } from "../../contract/frame.ts";
import type { Protocol } from "../../contract/protocol.ts";
import { type ErrorCode, GatewayError, STATUS_OF } from "../../errors.ts";
import { formatFrames } from "../../http/framing.ts";
import { type Law, must, mustEqual } from "./law.ts";
import { writeFrames } from "./stages.ts";

/** The content of an answer as a client of the wire reads it. */
export interface Read {
  text: string;
  /** The tool calls with parsed inputs. Absent if the wire has none. */
  calls?: readonly { name: string; input: JsonValue }[];
}

/** A protocol of conversations, and a sample exchange. */
export interface ProtocolSample {
  protocol: Protocol<"generate">;
  /** The body of a request, as a client sends it. */
  request: JsonValue;
  headers?: Record<string, string>;
  /** The parameters in its path, besides the lane. */
  params?: Record<string, string>;
  /** The text in a stream that marks the end of an answer, and the one after a failure. */
  marks: { done: string; error: string };
  /** Reads a whole answer, and the frames of a stream, as a client does. */
  read: { whole(body: JsonObject): Read; stream(frames: readonly Frame[]): Read };
}

const text = (words: string): OutputPart => ({ type: "text", text: words });
const call = (id: string, input: string): OutputPart => ({
  type: "tool-call",
  kind: "function",
  id,
  name: "look",
  input,
});

/** Contents of answers: nothing, text, thoughts before text, calls, and all of these. */
const CONTENTS: readonly OutputPart[][] = [
  [],
  [text("Hello, you")],
  [text('Lines\n\nand "quotes" and \u2028 and 😀')],
  [{ type: "reasoning", text: "Hm, well" }, text("So it is")],
  [text("I look"), call("call_1", '{"where": "there"}'), call("call_2", "{}")],
];
const ANSWERS = CONTENTS.map((content): GenerateResponse => ({
  model: "org/model",
  content,
  finish: { reason: content.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop" },
  usage: { inputTokens: 7, outputTokens: 3 },
}));

export function protocolLaws(sample: ProtocolSample): Law[] {
  const { protocol: { name } } = sample;
  const law = (rule: string, check: Law["check"]): Law => ({
    name: `${name}: ${rule}`,
    async check() {
      await sample.protocol.load?.();
      await check();
    },
  });
  return [
    law("a request is read, and the same one always as the same", () => checkRequests(sample)),
    law("a request that is none is refused", () => checkRefusals(sample)),
    law("a whole answer and a streamed one say the same, which is what the model said", () => checkAnswers(sample)),
    law("a streamed answer ends with its mark, and once", () => checkEnds(sample)),
    law("wherever a stream fails, it ends in one error", () => checkFailures(sample)),
    law("how an upstream cuts its words changes nothing", () => checkPieces(sample)),
    law("every error has its status and its message", () => checkErrors(sample)),
  ];
}

function wireOf({ request, headers = {}, params }: ProtocolSample): WireRequest {
  return {
    body: structuredClone(request),
    headers: new Headers(headers),
    params: { lane: "lane", ...params },
    query: new URLSearchParams(),
  };
}

function parsed({ protocol }: ProtocolSample, wire: WireRequest): GenerateRequest {
  return protocol.parse(wire, { clientWire: protocol.wire, note() {} });
}

function newExchange(sample: ProtocolSample): Exchange<"generate"> {
  const wire = wireOf(sample);
  return {
    clientWire: sample.protocol.wire,
    note() {},
    id: `${sample.protocol.idPrefix ?? ""}1`,
    created: 1_800_000_000,
    input: parsed(sample, wire),
    wire,
    now: () => 1_800_000_000,
    elapsedMs: () => 0,
    stored: false,
    frames: { sent: 0 },
  };
}

function checkRequests(sample: ProtocolSample): void {
  const wire = wireOf(sample);
  const request = parsed(sample, wire);
  must(typeof request.model === "string" && request.model !== "", "A request names a model", request);
  must(request.messages.length > 0, "A request has messages", request);
  mustEqual(wire.body, sample.request, "A parser leaves the body as it is");
  mustEqual(parsed(sample, wireOf(sample)), request, "The same body is the same request");
}

function checkRefusals(sample: ProtocolSample): void {
  for (const body of [null, 7, "text", [], {}]) {
    try {
      parsed(sample, { ...wireOf(sample), body });
    } catch (thrown) {
      must(thrown instanceof GatewayError, "A parser throws a GatewayError", String(thrown));
      must(thrown.status >= 400 && thrown.status < 500, "What is no request is the client's mistake", thrown.code);
      continue;
    }
    must(false, "What is no request is refused", body);
  }
}

function framesOf(sample: ProtocolSample, events: Iterable<GenerateEvent>): Frame[] {
  const { protocol: { name, stream } } = sample;
  if (!stream) throw new Error(`"${name}" has no "stream"`);
  const frames = writeFrames(stream.writer(newExchange(sample)), events);
  if (stream.framing === "ndjson") {
    const isLine = ({ data, event }: Frame) => data !== undefined && event === undefined && !data.includes("\n");
    must(frames.every(isLine), "A frame of JSON lines is one line of data", frames);
  }
  return frames;
}

function streamText(sample: ProtocolSample, events: Iterable<GenerateEvent>): string {
  return formatFrames(framesOf(sample, events), sample.protocol.stream?.framing ?? "sse");
}

async function checkAnswers(sample: ProtocolSample): Promise<void> {
  const { protocol, read } = sample;
  for (const answer of ANSWERS) {
    const response = protocol.serialize(answer, newExchange(sample));
    must(response.status === 200, "An answer has status 200", response.status);
    const whole = read.whole(await response.json());
    mustEqual(read.stream(framesOf(sample, replay(answer))), whole, "A stream says what a whole answer says");
    const said = answer.content.map((part) => part.type === "text" ? part.text : "").join("");
    must(whole.text === said, "An answer has the model's words", [whole.text, said]);
    const called = answer.content.flatMap((part) =>
      part.type === "tool-call" ? [{ name: part.name, input: JSON.parse(part.input) }] : []
    );
    if (whole.calls) mustEqual(whole.calls, called, "An answer has the model's calls");
  }
}

function checkEnds(sample: ProtocolSample): void {
  for (const answer of ANSWERS) mustEnd(sample, streamText(sample, replay(answer)), "done");
}

function mustEnd({ marks }: ProtocolSample, stream: string, how: "done" | "error"): void {
  const other = how === "done" ? "error" : "done";
  must(stream.split(marks[how]).length === 2, `A stream has "${marks[how]}" once`, stream);
  must(!stream.includes(marks[other]), `Such a stream has no "${marks[other]}"`, stream);
}

function checkFailures(sample: ProtocolSample): void {
  const error = new GatewayError("upstream_error", "The upstream broke off");
  for (const answer of ANSWERS) {
    const events = [...replay(answer)];
    for (let length = 0; length < events.length; length++) {
      mustEnd(sample, streamText(sample, [...events.slice(0, length), { type: "error", error }]), "error");
    }
  }
}

function checkPieces(sample: ProtocolSample): void {
  for (const answer of ANSWERS) {
    const events = [...replay(answer)];
    const whole = sample.read.stream(framesOf(sample, events));
    const pieces = events.flatMap((event): GenerateEvent[] =>
      event.type === "part-delta"
        ? [...event.delta.text].map((letter) => ({ ...event, delta: { ...event.delta, text: letter } }))
        : [event]
    );
    mustEqual(sample.read.stream(framesOf(sample, pieces)), whole, "Letter by letter it is the same answer");
  }
}

async function checkErrors({ protocol }: ProtocolSample): Promise<void> {
  for (const code of Object.keys(STATUS_OF) as ErrorCode[]) {
    const error = new GatewayError(code, "It went wrong");
    const response = protocol.serializeError(error, { requestId: "request-1" });
    const isKind = Math.floor(response.status / 100) === Math.floor(error.status / 100);
    must(isKind, `The status of "${code}" is of the kind of ${error.status}`, response.status);
    must((await response.text()).includes("It went wrong"), `The error "${code}" has its message`, code);
  }
}
