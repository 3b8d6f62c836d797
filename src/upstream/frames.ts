/** The frames of an upstream's stream. */
import { createParser, type ParseError } from "eventsource-parser";
import { ByteBuffer } from "../util/byte_reader.ts";
import { isJsonText } from "../canonical/json.ts";
import { excessOf, harmlessLength, JSON_LIMITS } from "../canonical/json_limits.ts";
import type { Frame } from "../contract/frame.ts";
import type { Framing } from "../contract/stream.ts";
import { GatewayError } from "../errors.ts";
import type { ByteSource } from "../platform/transport.ts";
import { settleWithin } from "../util/timeout.ts";
import { brokenOff, tooLong, tooMuchJson, type Upstream } from "./send.ts";

type Limits = Pick<Upstream, "frameBytes" | "streamBytes" | "json">;

/** One frame can hold a whole answer with images. */
const LIMITS: Limits = { frameBytes: 32 * 1024 * 1024, streamBytes: Infinity, json: JSON_LIMITS };
/** A server that sends the end of its body separately does so after about 40 ms (delayed acknowledgements). */
const PATIENCE_MS = 80;

/**
 * The frames of an upstream's stream, including comments. A batch holds the frames that one read completed, which may
 * be none. It ends with the bytes, and the caller decides whether that is a proper end. Throws if a line, an event or
 * the whole stream exceeds its limit.
 */
export class FrameSource {
  readonly #bytes: ByteSource;
  readonly #parser: FrameParser;
  readonly #streamBytes: number;
  #length = 0;
  #isReading = false;
  #isOver = false;

  constructor(bytes: ByteSource, framing: Framing = "sse", limits = LIMITS) {
    this.#bytes = bytes;
    this.#parser = PARSERS[framing](limits);
    this.#streamBytes = limits.streamBytes;
  }

  /** The next batch. `undefined` after the last one. A broken connection is a failure. */
  next(): Promise<Frame[] | undefined> {
    const bytes = this.read();
    return bytes ? bytes.then((read) => this.framesIn(read), this.#break) : Promise.resolve(undefined);
  }

  /** The first step of `next`. `undefined` after the last batch. */
  read(): Promise<Uint8Array | undefined> | undefined {
    if (this.#isOver) return undefined;
    this.#isReading = true;
    return this.#bytes.read();
  }

  /** The second step of `next`: the batch of what was read. Without bytes they have ended, even if they broke off. */
  framesIn(bytes: Uint8Array | undefined): Frame[] | undefined {
    this.#isReading = false;
    if (this.#isOver) return undefined;
    if (!bytes) {
      this.#isOver = true;
      return this.#parser.end();
    }
    this.#length += bytes.length;
    if (this.#length > this.#streamBytes) throw tooLong("stream", this.#streamBytes);
    return this.#parser.read(bytes);
  }

  readonly #break = (cause: unknown): never => {
    this.#isReading = false;
    this.#isOver = true;
    throw brokenOff(cause);
  };

  /**
   * After `[DONE]` only the end of the body follows. Reading it allows the connection to be reused. If it does not come
   * soon, the read is given up.
   */
  async cancel(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!this.#isReading) {
      const isEnded = this.#bytes.read().then((bytes) => bytes === undefined, () => true);
      if (await settleWithin(isEnded, PATIENCE_MS)) return;
    }
    await this.#bytes.cancel().catch(() => {});
  }
}

/** Finds the frames in bytes that arrive in arbitrary pieces. */
export interface FrameParser {
  read(bytes: Uint8Array): Frame[];
  end(): Frame[];
}

export const PARSERS: Record<Framing, (limits: Limits) => FrameParser> = {
  sse: (limits) => new EventParser(limits),
  ndjson: (limits) => new LineParser(limits),
};

/** All frames of a complete text. */
export function framesIn(text: string, framing: Framing, limits: Limits): Frame[] {
  const parser = PARSERS[framing](limits);
  return [...parser.read(new TextEncoder().encode(text)), ...parser.end()];
}

/**
 * Server-sent events. CRLF, a byte order mark and fields without a space after the colon are accepted. A last event
 * without a blank line after it counts, and so does JSON outside of events.
 */
class EventParser implements FrameParser {
  readonly #lines: Lines;
  readonly #parser: ReturnType<typeof createParser>;
  readonly #limits: Limits;
  #frames: Frame[] = [];
  #hasEvent = false;
  /** Lines since the last event. Each one uses far more memory than its bytes until the event ends. */
  #openLines = 0;
  /** The lines of a JSON text that stand where events should. */
  #json = "";

  constructor(limits: Limits) {
    const { frameBytes, json } = this.#limits = limits;
    this.#lines = new Lines(frameBytes);
    const harmless = harmlessLength(json);
    this.#parser = createParser({
      onEvent: (event) => {
        if (event.data.length > harmless) checkJson(event.data, json);
        this.#frames.push(event);
        this.#hasEvent = true;
      },
      onComment: (comment) => void this.#frames.push({ comment }),
      onError: (error) => {
        if (error.type === "max-buffer-size-exceeded") throw frameTooLong();
        if (error.type === "unknown-field") this.#readOther(error);
      },
      maxBufferSize: frameBytes,
    });
  }

  /** A line that belongs to no event: of an answer that is no stream, or of a failure amid one. */
  #readOther({ field, value, line = "" }: ParseError): void {
    if (field === "error" && value) {
      return void this.#take(value.startsWith("{") ? value : JSON.stringify({ error: value }), "error");
    }
    const text = line.trim();
    if (this.#json === "" && !text.startsWith("{")) return;
    this.#json += text;
    if (this.#json.length > this.#limits.frameBytes) throw frameTooLong();
    if (this.#json === text && text.endsWith("}")) this.#takeJson();
  }

  #takeJson(): void {
    if (this.#json !== "" && this.#take(this.#json)) this.#json = "";
  }

  /** Whether it is JSON. It is read only if it is within the limits. */
  #take(data: string, event?: string): boolean {
    checkJson(data, this.#limits.json);
    if (!isJsonText(data)) return false;
    return this.#frames.push({ ...(event && { event }), data }) > 0;
  }

  read(bytes: Uint8Array): Frame[] {
    let more = bytes;
    if (this.#lines.length > LONG_BYTES) {
      // In V8 a slice keeps the whole text alive, so what follows a long line is decoded separately.
      const end = bytes.findIndex((one) => one === LF || one === CR) + 1;
      this.#parse(this.#lines.read(bytes.subarray(0, end)));
      more = bytes.subarray(end);
    }
    // Most reads hold whole lines.
    const isWhole = this.#lines.length === 0 && more[more.length - 1] === LF;
    this.#parse(isWhole ? decoder.decode(more) : this.#lines.read(more));
    const frames = this.#frames;
    this.#frames = [];
    return frames;
  }

  end(): Frame[] {
    const rest = this.#lines.end();
    this.#parse(`${rest}\n\n`);
    this.#takeJson();
    return withoutCut(this.#frames, rest);
  }

  #parse(text: string): void {
    if (text === "") return;
    this.#hasEvent = false;
    this.#parser.feed(text);
    if (this.#hasEvent) this.#openLines = 0;
    else this.#openLines += countOf("\n", text) + countOf("\r", text);
    if (this.#openLines > this.#limits.json.values) throw frameTooLong();
  }
}

/** JSON lines. A last line without a line break counts. Blank lines count as signs of life. */
class LineParser implements FrameParser {
  readonly #lines: Lines;
  readonly #json: Limits["json"];

  constructor({ frameBytes, json }: Limits) {
    this.#lines = new Lines(frameBytes, false);
    this.#json = json;
  }

  read(bytes: Uint8Array): Frame[] {
    return this.#parse(this.#lines.read(bytes));
  }

  end(): Frame[] {
    const rest = this.#lines.end();
    return withoutCut(this.#parse(rest), rest);
  }

  #parse(text: string): Frame[] {
    const frames = text.split("\n").map((line) => line.trim()).filter(Boolean).map((data) => ({ data }));
    for (const { data } of frames) checkJson(data, this.#json);
    return frames;
  }
}

/**
 * Leaves out the last event if its line was cut off. The reader knows whether the answer is complete without it. An
 * event that held a message or an error is kept, because the answer is incomplete without it.
 */
function withoutCut(frames: Frame[], lastLine: string): Frame[] {
  const data = frames.at(-1)?.data?.trim();
  const isCut = lastLine !== "" && data !== undefined && /^[{[]/.test(data) && data !== "[DONE]" && !isJsonText(data);
  return isCut && !data.includes('"message"') ? frames.slice(0, -1) : frames;
}

/** The beginning of an event stream, whatever its content type says. */
export const BEGINS_EVENTS = /^\ufeff?\s*(?:data|event|id|retry|error)?:/;

/** Counts occurrences. A regular expression would keep the text alive until the next match. */
function countOf(character: string, text: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) count++;
  return count;
}

/** Whether it is more than a comment. */
export function isEvent({ data }: Frame): boolean {
  return data !== undefined;
}

function checkJson(data: string, limits: Limits["json"]): void {
  const excess = excessOf(data, limits);
  if (excess) throw tooMuchJson("stream holds an event that", excess, limits);
}

function frameTooLong(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's stream holds a frame that is too long");
}

const [CR, LF] = [13, 10];
const LONG_BYTES = 2 ** 16;
/** A character never spans the end of a line, so decoding lines needs no state. The parser skips a byte order mark. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Assembles complete lines from pieces. The parser would keep each piece of a line as a separate string, at many times
 * its size.
 */
class Lines {
  /** How many bytes of an incomplete line there are. */
  length = 0;
  readonly #rest = new ByteBuffer();
  readonly #mostBytes: number;
  readonly #endsAtCr: boolean;

  /** `endsAtCr`: a carriage return also ends a line. */
  constructor(mostBytes: number, endsAtCr = true) {
    this.#mostBytes = mostBytes;
    this.#endsAtCr = endsAtCr;
  }

  /** The complete lines so far as text; empty if no line has ended. */
  read(bytes: Uint8Array): string {
    const end = this.#endOfLines(bytes);
    let whole = end === bytes.length ? bytes : bytes.subarray(0, end);
    if (end > 0 && this.length > 0) {
      this.#rest.append(whole);
      whole = this.#rest.take();
    }
    if (end < bytes.length) this.#rest.append(bytes.subarray(end));
    this.length = this.#rest.length;
    if (this.length > this.#mostBytes) throw frameTooLong();
    return decoder.decode(whole);
  }

  /** The offset at which the last complete line ends. */
  #endOfLines(bytes: Uint8Array): number {
    if (bytes[bytes.length - 1] === LF) return bytes.length;
    return Math.max(bytes.lastIndexOf(LF), this.#endsAtCr ? bytes.lastIndexOf(CR) : -1) + 1;
  }

  /** The incomplete line that is left. */
  end(): string {
    return decoder.decode(this.#rest.take());
  }
}
