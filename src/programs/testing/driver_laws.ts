import { collect } from "../../canonical/collect.ts";
import type { GenerateEvent, GenerateRequest, GenerateResponse } from "../../canonical/generate.ts";
import type { JsonObject, JsonValue } from "../../canonical/json.ts";
import { replay } from "../../canonical/replay.ts";
import type { AnswerContext } from "../../contract/context.ts";
import type { Driver, Target, UpstreamOperation } from "../../contract/driver.ts";
import type { Frame } from "../../contract/frame.ts";
import { GatewayError } from "../../errors.ts";
import { FrameSource } from "../../upstream/frames.ts";
import { ByteReader } from "../../util/byte_reader.ts";
import { type Law, must, mustEqual } from "./law.ts";
import { readEvents } from "./stages.ts";
import { assertWellFormed, comparable } from "./well_formed.ts";

/** A driver of conversations, and what a server of its kind says. */
export interface DriverSample {
  driver: Driver;
  /** A whole answer. */
  whole: JsonValue;
  /** The text of a streamed one that says the same. */
  stream: string;
  /** Where the stream says how the answer ended: before this text nobody can know it. */
  ending: string;
  /** What it is answered to; a short question where absent. */
  request?: GenerateRequest;
}

const REQUEST: GenerateRequest = {
  model: "model",
  messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
  stream: false,
};
const TARGET: Target = { upstream: "upstream", model: "org/model", systemMessages: "first" };

export function driverLaws(sample: DriverSample): Law[] {
  const { driver: { name } } = sample;
  const law = (rule: string, check: Law["check"]): Law => ({ name: `${name}: ${rule}`, check });
  return [
    law("a request is one call, and the same one always the same call", () => checkCalls(sample)),
    law("a stream is well formed, and says what a whole answer says", () => checkAnswers(sample)),
    law("how the bytes of a stream are cut changes nothing", () => checkCuts(sample)),
    law("wherever a stream breaks off, it ends in one error", () => checkPrefixes(sample)),
    law("what is no answer is the upstream's failure", () => checkNonsense(sample)),
    law("every refusal is an error", () => checkRefusals(sample)),
  ];
}

function operationOf({ operations, name }: Driver): UpstreamOperation<"generate"> {
  const way = operations.generate;
  if (!way || !("request" in way)) throw new Error(`"${name}" has no way to call an upstream for "generate"`);
  return way;
}

const newContext = (): AnswerContext => ({ clientWire: "other", inputTokens: 7, note() {} });

function checkCalls({ driver, request = REQUEST }: DriverSample): void {
  const before = structuredClone(request);
  const make = () => [operationOf(driver).request(request, TARGET, newContext())].flat();
  const calls = make();
  must(calls.length === 1, "A turn of a conversation is one call", calls);
  mustEqual(make(), calls, "The same request is the same call");
  mustEqual(request, before, "A driver leaves the request as it is");
}

function wholeOf({ driver, whole, request = REQUEST }: DriverSample, body = whole): GenerateResponse {
  const reply = { status: 200, headers: new Headers(), body };
  return operationOf(driver).response([reply], request, TARGET, newContext());
}

const BUFFER_BYTES = 8 * 1024;

async function eventsOf(sample: DriverSample, bytes: Uint8Array<ArrayBuffer>, size: number): Promise<GenerateEvent[]> {
  const { driver, request = REQUEST } = sample;
  const { stream } = operationOf(driver);
  if (!stream) throw new Error(`"${driver.name}" has no "stream"`);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
  const source = new FrameSource(new ByteReader(body, BUFFER_BYTES), stream.framing);
  const frames: Frame[] = [];
  for (let batch = await source.next(); batch; batch = await source.next()) frames.push(...batch);
  return readEvents(stream.reader({ ...request, stream: true }, TARGET, newContext()), frames);
}

const bytesOf = ({ stream }: DriverSample) => new TextEncoder().encode(stream);

async function checkAnswers(sample: DriverSample): Promise<void> {
  const whole = wholeOf(sample);
  assertWellFormed([...replay(whole)]);
  const bytes = bytesOf(sample);
  const events = await eventsOf(sample, bytes, bytes.length);
  assertWellFormed(events);
  mustEqual(meaningOf(collect(events)), meaningOf(whole), "A stream says what a whole answer says");
}

/** What both say. Fields of the wire's own may be in one only. */
function meaningOf({ content, finish, usage }: GenerateResponse): JsonObject {
  const said = content.map((part) => {
    switch (part.type) {
      case "text":
      case "reasoning":
      case "refusal":
        return { type: part.type, text: part.text };
      case "tool-call":
        return { type: part.type, id: part.id, name: part.name, input: part.input };
      default:
        return { type: part.type };
    }
  });
  return { said, finish: finish.reason, input: usage.inputTokens, output: usage.outputTokens };
}

async function checkCuts(sample: DriverSample): Promise<void> {
  const bytes = bytesOf(sample);
  const whole = comparable(await eventsOf(sample, bytes, bytes.length));
  for (const size of [1, 2, 3, 7, 64]) {
    mustEqual(comparable(await eventsOf(sample, bytes, size)), whole, `In pieces of ${size} bytes it is the same`);
  }
}

async function checkPrefixes(sample: DriverSample): Promise<void> {
  const bytes = bytesOf(sample);
  const whole = await eventsOf(sample, bytes, bytes.length);
  const end = whole.at(-1)!;
  const said = sample.stream.indexOf(sample.ending);
  must(said >= 0, `The stream says "${sample.ending}"`, sample.stream);
  const endsAt = new TextEncoder().encode(sample.stream.slice(0, said)).length;
  for (let length = 0; length < bytes.length; length++) {
    const events = await eventsOf(sample, bytes.slice(0, length), bytes.length);
    assertWellFormed(events);
    const last = events.at(-1)!;
    // Once the upstream has said how the answer ended, its counts may be all that is missing.
    const isOver = length >= endsAt && last.type === "finish" && end.type === "finish" &&
      last.finish.reason === end.finish.reason;
    must(last.type === "error" || isOver, `After ${length} bytes a stream ends in an error`, events);
  }
  const [first] = await eventsOf(sample, new Uint8Array(), 1);
  must(first?.type === "error", "A stream of nothing is an error", first);
}

function checkNonsense(sample: DriverSample): void {
  for (const body of [null, 7, "<html>Busy</html>", [], {}] as JsonValue[]) {
    try {
      wholeOf(sample, body);
    } catch (thrown) {
      must(thrown instanceof GatewayError, "A driver throws a GatewayError", String(thrown));
      must(thrown.status >= 500, "What is no answer is the upstream's failure", thrown.code);
      continue;
    }
    must(false, "What is no answer is an error", body);
  }
}

function checkRefusals({ driver }: DriverSample): void {
  for (const status of [400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529]) {
    for (const body of ["", "<html>Busy</html>", null, [], {}, { error: "No" }, { error: { message: "No" } }]) {
      const error = driver.parseError({ status, headers: new Headers(), body: body as JsonValue });
      must(error instanceof GatewayError, "A refusal is a GatewayError", [status, body]);
      must(error.message !== "" && !error.message.includes("<html>"), "Its message is for people", error.message);
    }
  }
}
