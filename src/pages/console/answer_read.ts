/** The answer of a recorded request as its reader saw it, and the frames that built it. */
import { collect } from "../../canonical/collect.ts";
import type {
  GenerateEvent,
  GenerateRequest,
  GenerateResponse,
  Message,
  OutputPart,
} from "../../canonical/generate.ts";
import type { Input } from "../../canonical/operations.ts";
import type { Gateway } from "../../context/gateway.ts";
import type { Capture } from "../../context/capture.ts";
import type { RequestContext } from "../../context/request_context.ts";
import type { AnswerContext } from "../../contract/context.ts";
import type { Driver, Target } from "../../contract/driver.ts";
import type { Frame } from "../../contract/frame.ts";
import type { Emit, Framing, StreamReader } from "../../contract/stream.ts";
import { framesIn } from "../../upstream/frames.ts";
import { readEvents } from "../../upstream/read_events.ts";
import { respond } from "../../upstream/run.ts";
import { runSliced, Slice, yieldToEventLoop } from "../../util/sliced_work.ts";
import { hiderOf } from "./masked_text.ts";
import { recordOf } from "./records.ts";
import { toolNames } from "./conversations.ts";
import { shortened } from "./turn_changes.ts";
import { answerOf, attempted, jsonIn, type Parsed, parseRecorded } from "./understood.ts";

/** How many frames the page gets, and how much of each, in characters. The raw answer has the whole. */
const [MOST_FRAMES, LONGEST_FRAME] = [2_000, 4_000];
const FRAME_BYTES = 2 ** 25;

/** A frame of a streamed answer, and the parts of the answer that it began, continued or ended. */
interface ReadFrame {
  event?: string;
  text: string;
  parts: number[];
  isEnd?: true;
}

interface Read {
  output?: Partial<GenerateResponse>;
  error?: { code: string; message: string };
  /** The answer has not ended: it still runs, or it broke off. */
  isOpen?: true;
  frames?: ReadFrame[];
  /** How many frames there are. */
  total?: number;
}

/** `?id=`: what the reader asked last, what was answered, and the frames. */
export async function readAnswer(context: RequestContext): Promise<Response> {
  const one = recordOf(context);
  const { gateway, signal } = context;
  const hideFirst = await runSliced(hiderOf(one), signal);
  const parsed = await attempted(() => parseRecorded(one, gateway));
  const read = await attempted(() => readBy(one, parsed.value, gateway));
  const input = parsed.value && "messages" in parsed.value.input ? parsed.value.input as GenerateRequest : undefined;
  const { output, error, ...rest } = read.value ?? {};
  const view = {
    asked: input && lastAsked(input.messages).map(shortened),
    tools: input && toolNames(input),
    problem: read.problem ?? (read.value ? undefined : parsed.problem),
    output: output && shortened({ ...output, content: output.content?.map(withFields) }),
    error: error && { ...error, code: one.entry?.error ?? error.code, message: error.message.replace(OWN_WORDS, "") },
    ...rest,
  };
  // Meanwhile the record may have got another call.
  const hideLast = await runSliced(hiderOf(one), signal);
  const hidden = await runSliced(hideLast(await runSliced(hideFirst(JSON.stringify(view)), signal)), signal);
  return new Response(hidden, { headers: { "content-type": "application/json" } });
}

/** The words that a driver puts before the message of an upstream. Here they come before the gateway's own. */
const OWN_WORDS = /^The upstream failed(?: while it answered| \(\d+\))?: /;

/** A part that only its own wire knows, with the fields that its reader got. */
function withFields(part: OutputPart): object {
  return part.type === "opaque" ? { type: part.type, fields: part.extra.fields } : part;
}

/** The messages since the model last spoke, without instructions. */
function lastAsked(messages: readonly Message[]): Message[] {
  const from = messages.findLastIndex(({ role }) => role === "assistant") + 1;
  return messages.slice(from).filter(({ role }) => role !== "system");
}

/** Reads the answer as a program that speaks the client's wire does. */
async function readBy(one: Capture, parsed: Parsed | undefined, gateway: Gateway): Promise<Read | undefined> {
  const { answer, entry } = one;
  const status = one.status ?? entry?.status;
  if (status === undefined || answer.length === 0) return entry ? undefined : { isOpen: true };
  const text = new TextDecoder().decode(answer.bytes());
  if (status >= 300) return { error: errorIn(text, status, parsed && driverFor(parsed, gateway)) };
  if (!parsed || parsed.protocol.operation !== "generate") return undefined;
  const read = jsonIn(text) === text
    ? await readFrames(text, one, parsed, gateway)
    : await readWhole(text, one, parsed, gateway);
  return read && { ...read, ...entry ? {} : { isOpen: true } };
}

async function readWhole(text: string, one: Capture, parsed: Parsed, gateway: Gateway): Promise<Read | undefined> {
  const { answer, answerHeaders: headers = new Headers() } = one;
  if (answer.kept < answer.length) return undefined;
  const asked = askedBy(parsed, gateway);
  if (!asked) return await fromUpstreams(one, parsed, gateway);
  const reply = { status: 200, headers, body: jsonIn(text) as string };
  return { output: await respond([reply], asked as never, asked.way as never) as GenerateResponse };
}

async function readFrames(text: string, one: Capture, parsed: Parsed, gateway: Gateway): Promise<Read | undefined> {
  const framing = framingOf(parsed);
  const frames = framing && framesIn(text, framing, limitsOf(gateway));
  const asked = askedBy(parsed, gateway);
  if (frames && asked) return await readStream(frames, asked);
  return { ...await fromUpstreams(one, parsed, gateway), ...listed(frames) };
}

function driverFor({ protocol: { wire } }: Parsed, { drivers }: Gateway): Driver | undefined {
  return [...drivers.values()].find((driver) => driver.wire === wire && driver.operations.generate !== undefined);
}

function framingOf({ protocol }: Parsed): Framing | undefined {
  const framing = protocol.stream?.framing;
  return framing === "json" ? undefined : framing;
}

function limitsOf({ guards: { limits: { json } } }: Gateway) {
  return { frameBytes: FRAME_BYTES, streamBytes: Infinity, json };
}

function errorIn(text: string, status: number, driver: Driver | undefined): Read["error"] {
  const body = jsonIn(text) as string;
  if (!driver) return { code: String(status), message: text.slice(0, LONGEST_FRAME) };
  const { code, message } = driver.parseError({ status, headers: new Headers(), body });
  return { code, message };
}

/** The way of a driver that reads the client's wire. `undefined` for a wire that the gateway writes, but does not read. */
function askedBy(parsed: Parsed, gateway: Gateway) {
  const { protocol, input } = parsed;
  const driver = driverFor(parsed, gateway);
  const way = driver?.operations.generate;
  if (!driver || !way || "local" in way) return undefined;
  const context: AnswerContext = { clientWire: protocol.wire, note() {}, inputTokens: 0 };
  const asked = input as Input<"generate">;
  const target: Target = { upstream: "", model: asked.model, systemMessages: "anywhere" };
  const upstream = { ...limitsOf(gateway), driver };
  return { operation: "generate" as const, input: asked, target, context, upstream, way };
}

/** Reads frame by frame. If the stream broke off, the output is the part before that. */
async function readStream(
  frames: readonly Frame[],
  { input, target, context, way }: NonNullable<ReturnType<typeof askedBy>>,
): Promise<Read> {
  const reader = way.stream!.reader(input, target, context);
  const events: GenerateEvent[] = [];
  const emit = (event: GenerateEvent) => void events.push(event);
  const list: ReadFrame[] = [];
  let problem: string | undefined;
  const slice = new Slice();
  for (const frame of frames) {
    if (slice.isOver()) await yieldToEventLoop();
    const before = events.length;
    const isOver = reader.done || problem !== undefined;
    if (!isOver) problem = (await attempted(() => readEvents([frame], reader, emit))).problem;
    const isEnd = problem !== undefined && !isOver;
    if (list.length < MOST_FRAMES) list.push({ ...frameOf(frame, events.slice(before)), ...isEnd && { isEnd } });
  }
  if (problem === undefined && !reader.done) problem = (await attempted(() => ended(reader, emit))).problem;
  return { ...outputOf(events, problem), frames: list, total: frames.length };
}

function outputOf(events: readonly GenerateEvent[], problem: string | undefined): Read {
  const failed = events.find((event) => event.type === "error")?.error;
  const { code = "upstream_error", message = problem } = failed ?? {};
  if (events.some(({ type }) => type === "finish")) return { output: collect(events) };
  const { model, content } = collect([...events.filter(({ type }) => type !== "error"), CUT]);
  return { output: { model, content }, ...message !== undefined && { error: { code, message } } };
}

async function ended(reader: StreamReader<GenerateEvent>, emit: Emit<GenerateEvent>): Promise<void> {
  const more = reader.end(emit);
  if (more) await runSliced(more);
}

/** Stands for the end that a stream has not reached. */
const CUT: GenerateEvent = {
  type: "finish",
  finish: { reason: "other" },
  usage: { inputTokens: 0, outputTokens: 0 },
};

function frameOf(frame: Frame, events: readonly GenerateEvent[] = []): ReadFrame {
  const written = events.filter(({ type }) => type === "part-start" || type === "part-delta");
  const text = frame.data ?? (frame.comment === undefined ? "" : `: ${frame.comment}`);
  return {
    ...frame.event !== undefined && { event: frame.event },
    text: text.length > LONGEST_FRAME ? `${text.slice(0, LONGEST_FRAME)}…` : text,
    // The frame that begins a part often ends the one before it.
    parts: [
      ...new Set((written.length > 0 ? written : events).flatMap((event) => "index" in event ? [event.index] : [])),
    ],
    ...events.some(({ type }) => type === "finish" || type === "error") && { isEnd: true },
  };
}

function listed(frames: readonly Frame[] | undefined): Pick<Read, "frames" | "total"> {
  if (!frames) return {};
  return { frames: frames.slice(0, MOST_FRAMES).map((frame) => frameOf(frame)), total: frames.length };
}

/** The content of all rounds, for a wire that the gateway writes but does not read. */
async function fromUpstreams(one: Capture, parsed: Parsed, gateway: Gateway): Promise<Read> {
  const content: GenerateResponse["content"] = [];
  let last: Partial<GenerateResponse> | undefined;
  for (const call of one.calls) {
    const { value } = await attempted(() => answerOf(call, parsed, gateway));
    const { output } = (value ?? {}) as { output?: GenerateResponse };
    if (!output) continue;
    content.push(...output.content);
    last = output;
  }
  return last ? { output: { ...last, content } } : {};
}
