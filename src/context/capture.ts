/** A capture of everything that was sent for one request: by its client, to upstreams, and back. */
import type { Stage } from "../contract/stage.ts";
import type { AttemptReason } from "../observe/metric_events.ts";
import type { TurnFacts } from "../observe/conversations.ts";
import type { LogEntry } from "../observe/log.ts";
import type { ByteSource, Transport, TransportRequest, TransportResponse } from "../platform/transport.ts";
import type { FormField } from "../contract/context.ts";
import type { Caller } from "../http/auth.ts";
import { runStep } from "../util/sliced_work.ts";
import { captureBody, CapturedBytes, type Room } from "./captured_bytes.ts";
import { maskedUrl } from "../util/urls_and_headers.ts";
import { type HeaderList, maskedHeaders } from "./header_redaction.ts";
import { turnFactsOf } from "./turn_facts.ts";
import { jsonIn, leaveOut, type Redact, redactionFor } from "./redacted_capture.ts";

/**
 * The memory that a capture and a call use besides their texts, in bytes: the heads of answers, and the objects
 * themselves.
 */
const [RECORD_BYTES, CALL_BYTES] = [4_096, 4_096];
const MOST_EVENTS = 200;

/** The facts about a request when it is admitted. */
export interface CaptureOptions {
  id: string;
  /** Milliseconds since the epoch. */
  started: number;
  request: Request;
  url: URL | undefined;
  caller: Caller;
  gateway: { secrets: readonly string[]; stages: readonly Stage[] };
  /** `elapsedMs`: the milliseconds since the request arrived. */
  requestLog: { elapsedMs(): number; isFromConsole: boolean };
}

/** One call to an upstream. Times are in milliseconds since the request arrived. */
export interface CapturedCall {
  at: number;
  /** `upstream/model`. */
  target: string;
  upstream: string;
  driver: string;
  reason: AttemptReason;
  /**
   * Whether an earlier call was answered. This one may then hold more than the client sent, such as the result of a
   * hosted tool.
   */
  isFollowUp?: true;
  method: string;
  url: string;
  headers: HeaderList;
  body: CapturedBytes;
  headAt?: number;
  status?: number;
  /** The headers as received. They must be masked before they are shown. */
  answerHeaders?: Headers;
  answer: CapturedBytes;
  endAt?: number;
  /** Why the call was interrupted. */
  error?: string;
}

/** The target of a call, and the reason for it. */
export interface CallFacts extends Pick<CapturedCall, "target" | "upstream" | "driver" | "reason"> {
  /** The header with the upstream's secret, if its driver or configuration names one. */
  secretHeader?: string;
  /** The URL parameter that carries it, if it is in none. */
  secretParameter?: string;
}

/** An event between the calls. */
export interface CapturedEvent {
  at: number;
  /** When it began, if it took a while. */
  from?: number;
  what: "served" | "failed" | "broke off" | "queued" | "hosted tool" | "hosted tool ended";
  /** `upstream/model`, or the name of the tool. */
  name: string;
  detail?: string;
}

/** One request. Secrets in its headers are masked. Before its bodies are shown, its `secrets` must be hidden. */
export class Capture {
  readonly id: string;
  /** When the request arrived, in milliseconds since the epoch. */
  readonly started: number;
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderList;
  /** The caller, with its token replaced. */
  readonly caller: Caller;
  readonly body: CapturedBytes;
  readonly calls: CapturedCall[] = [];
  readonly events: CapturedEvent[] = [];
  readonly answer: CapturedBytes;
  status?: number;
  answerHeaders?: Headers;
  /** The log line, once the request is over. */
  entry?: Omit<LogEntry, "cause">;
  /** The facts about the turn, if it is one of a conversation. */
  turn?: TurnFacts;
  readonly #elapsedMs: () => number;
  readonly #room: Room;
  readonly #secrets: readonly (readonly string[])[];
  /** Present if stages of plugins change what is captured. */
  readonly #redact: Redact | undefined;
  /** The body that the client sent, and the request as models are asked: both until the body is recorded. */
  #received: unknown;
  #asked: unknown;

  constructor({ id, started, request, url, caller, gateway, requestLog }: CaptureOptions, room: Room) {
    this.id = id;
    this.started = started;
    this.method = request.method;
    this.url = maskedUrl(url!.href);
    this.headers = maskedHeaders(request.headers);
    this.caller = caller.token === undefined ? caller : { ...caller, token: "***" };
    this.#secrets = [gateway.secrets, caller.token === undefined ? [] : [caller.token]];
    this.#redact = redactionFor(gateway.stages, caller);
    this.#elapsedMs = requestLog.elapsedMs;
    this.#room = room;
    room.take(RECORD_BYTES + this.url.length + sizeOf(this.headers));
    this.body = new CapturedBytes(room);
    this.answer = new CapturedBytes(room);
  }

  /** The secrets of the gateway at that time, and those of the caller. */
  secrets(): readonly (readonly string[])[] {
    return this.#secrets;
  }

  event(what: CapturedEvent["what"], name: string, detail?: string, from?: number): void {
    if (this.events.length >= MOST_EVENTS || !this.#room.take(64 + name.length + (detail?.length ?? 0))) return;
    this.events.push({ at: this.#elapsedMs(), ...from !== undefined && { from }, what, name, detail });
  }

  /** Receives the bytes of a client's body. Absent if they may not be kept as they are. */
  get bodyCopy(): CapturedBytes | undefined {
    return this.#redact ? undefined : this.body;
  }

  /** Like `bodyCopy`, for the bytes of a streamed answer. A secret that its frames divide would not be found. */
  get answerCopy(): CapturedBytes | undefined {
    if (!this.#redact) return this.answer;
    leaveOut(this.answer);
    return undefined;
  }

  /**
   * Takes a parsed body if it was not copied as it arrived: a form, or one that has to pass the stages of plugins. Those
   * get it with the whole request, whose other turns may tell what is a secret in this one.
   */
  receive(kind: "json" | "form" | "bytes" | "none", body: unknown): void {
    if (kind === "form") this.#captureForm(body as FormField[]);
    else if (kind === "json" && this.#redact) this.#received = body;
  }

  /** Takes the request as a model is asked, with all that the gateway put into it. */
  asks(request: unknown): void {
    // A later attempt has the same turn in the form for its target.
    this.turn ??= turnFactsOf(request);
    if (this.#received !== undefined) this.#asked = request;
  }

  /** Records what was received if it has to pass the stages of plugins, and lets go of it. Returns the whole request. */
  async settle(): Promise<unknown> {
    const [received, asked] = [this.#received, this.#asked];
    this.#received = this.#asked = undefined;
    if (received === undefined) return undefined;
    await this.#redact?.(received, this.body, asked);
    return [received, asked];
  }

  /** Only the names, types and sizes of files are kept. */
  #captureForm(fields: readonly FormField[]): void {
    const described = fields.map(({ name, value, file }) =>
      file ? { name, file: { name: file.name, type: file.mediaType, bytes: file.bytes.length } } : { name, value }
    );
    this.body.isDescription = true;
    if (this.#redact) this.#received = described;
    else this.body.describe(described);
  }

  /** Records the body of a complete answer. A streamed one is captured as it is sent. */
  async answered(response: Response, { entry }: { entry: Partial<LogEntry> }): Promise<Response> {
    const { status, headers, ok } = response;
    const within = this.#redact && await this.settle();
    if (entry.stream && ok || status === 101 || status === 204) return response;
    const bytes = await response.bytes();
    if (this.#redact) await this.#redact(jsonIn(bytes), this.answer, within);
    else this.answer.add(bytes, true);
    this.answer.end();
    return new Response(bytes, { status, headers });
  }

  /** Records the head of the client's answer, with everything that the gateway adds. */
  concluded({ status, headers }: Response): void {
    this.status = status;
    this.answerHeaders = headers;
  }

  /** Wraps a transport so that its calls are recorded. */
  recorded(transport: Transport, facts: CallFacts): Transport {
    return { send: (request) => this.#send(request, transport, facts), close: () => transport.close() };
  }

  async #send(
    request: TransportRequest,
    transport: Transport,
    { secretHeader, secretParameter, ...facts }: CallFacts,
  ): Promise<TransportResponse> {
    const call: CapturedCall = {
      ...facts,
      at: this.#elapsedMs(),
      ...this.calls.some(({ status = 0 }) => status >= 200 && status < 300) && { isFollowUp: true },
      method: request.method,
      url: maskedUrl(request.url, secretParameter),
      headers: maskedHeaders(request.headers, secretHeader),
      body: new CapturedBytes(this.#room),
      answer: new CapturedBytes(this.#room),
    };
    if (this.#room.take(CALL_BYTES + call.url.length + sizeOf(call.headers))) this.calls.push(call);
    await runStep(() => captureBody(request.body, call.body));
    try {
      const response = await transport.send(request);
      call.headAt = this.#elapsedMs();
      // Field by field, because a transport may read the head lazily.
      const { status, ok, headers, body } = response;
      call.status = status;
      call.answerHeaders = headers;
      if (body) return { status, ok, headers, body: new CapturedSource(body, call, this.#elapsedMs) };
      this.#end(call);
      return response;
    } catch (thrown) {
      this.#end(call, thrown);
      throw thrown;
    }
  }

  #end(call: CapturedCall, thrown?: unknown): void {
    endCall(call, this.#elapsedMs(), thrown);
  }
}

/** Captures bytes as they are read. */
class CapturedSource implements ByteSource {
  readonly #source: ByteSource;
  readonly #call: CapturedCall;
  readonly #elapsedMs: () => number;

  constructor(source: ByteSource, call: CapturedCall, elapsedMs: () => number) {
    this.#source = source;
    this.#call = call;
    this.#elapsedMs = elapsedMs;
  }

  read(): Promise<Uint8Array | undefined> {
    return this.#source.read().then(this.#take, this.#fail);
  }

  readonly #take = (bytes: Uint8Array | undefined) => {
    if (bytes) this.#call.answer.add(bytes);
    else endCall(this.#call, this.#elapsedMs());
    return bytes;
  };

  readonly #fail = (thrown: unknown): never => {
    endCall(this.#call, this.#elapsedMs(), thrown);
    throw thrown;
  };

  async cancel(): Promise<void> {
    endCall(this.#call, this.#elapsedMs());
    await this.#source.cancel();
  }

  get whole(): ByteSource["whole"] {
    const whole = this.#source.whole;
    return whole && { length: whole.length, read: () => whole.read().then(this.#takeWhole, this.#fail) };
  }

  readonly #takeWhole = (bytes: Uint8Array<ArrayBuffer>) => {
    this.#call.answer.add(bytes, true);
    endCall(this.#call, this.#elapsedMs());
    return bytes;
  };
}

function endCall(call: CapturedCall, at: number, thrown?: unknown): void {
  if (call.endAt !== undefined) return;
  call.endAt = at;
  call.answer.end();
  if (thrown !== undefined) call.error = String(thrown instanceof Error ? thrown.message : thrown).slice(0, 500);
}

function sizeOf(headers: HeaderList): number {
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length + 64, 0);
}
