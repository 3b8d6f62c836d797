/** The frames of an upstream's stream. */
import { createParser } from "eventsource-parser";
import { ByteBuffer } from "../util/byte_reader.ts";
import { excessOf, JSON_LIMITS } from "../canonical/json_limits.ts";
import type { Frame } from "../contract/frame.ts";
import type { Framing } from "../contract/stream.ts";
import { GatewayError } from "../errors.ts";
import type { ByteSource } from "../platform/transport.ts";
import { brokenOff, tooLong, tooMuchJson, type Upstream } from "./send.ts";

type Limits = Pick<Upstream, "frameBytes" | "streamBytes" | "json">;

/** A whole answer with pictures fits into a frame. */
const LIMITS: Limits = { frameBytes: 32 * 1024 * 1024, streamBytes: Infinity, json: JSON_LIMITS };
/** A server that sends the end of its body apart from the rest does so after some 40 ms (delayed acknowledgements). */
const PATIENCE_MS = 80;

/** What observes the progress of an upstream's stream. */
export interface Pulse {
  /** A piece is waited for. */
  wait(): void;
  /** A piece is there, with an event in it or only a comment. */
  beat(event: boolean): void;
  /** The connection ended before the stream did; the frames end with it. */
  broken(cause: unknown): void;
}

/**
 * The frames of an upstream's stream, comments among them: a batch is what one read ended, which may be nothing. Ends where the
 * bytes end; what it means that they end there, the caller knows. `pulse` is called when a piece is waited for, and when it is
 * there. Throws where a line, an event or all of them are longer than they may be.
 */
export class FrameSource {
  readonly #bytes: ByteSource;
  readonly #parser: FrameParser;
  readonly #pulse: Pulse | undefined;
  readonly #streamBytes: number;
  #length = 0;
  #isReading = false;
  #isOver = false;

  constructor(bytes: ByteSource, framing: Framing = "sse", pulse?: Pulse, limits = LIMITS) {
    this.#bytes = bytes;
    this.#parser = PARSERS[framing](limits);
    this.#pulse = pulse;
    this.#streamBytes = limits.streamBytes;
  }

  next(): Promise<Frame[] | undefined> {
    if (this.#isOver) return Promise.resolve(undefined);
    this.#pulse?.wait();
    this.#isReading = true;
    return this.#bytes.read().then(this.#framesIn, this.#break);
  }

  readonly #break = (cause: unknown): Frame[] => {
    this.#isReading = false;
    this.#isOver = true;
    if (!this.#pulse) throw brokenOff(cause);
    this.#pulse.broken(cause);
    return this.#framesIn(undefined);
  };

  /** Nothing where the bytes have ended. */
  readonly #framesIn = (bytes: Uint8Array | undefined): Frame[] => {
    this.#isReading = false;
    this.#isOver ||= bytes === undefined;
    this.#length += bytes?.length ?? 0;
    if (this.#length > this.#streamBytes) throw tooLong("stream", this.#streamBytes);
    const frames = bytes ? this.#parser.read(bytes) : this.#parser.end();
    this.#pulse?.beat(frames.some(isEvent));
    return frames;
  };

  /**
   * After `[DONE]` nothing follows but the end of the body. Reading that far lets the connection be used again; an upstream
   * that stays silent instead is not waited for.
   */
  async cancel(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!this.#isReading) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const patience = new Promise<"late">((resolve) => timer = setTimeout(resolve, PATIENCE_MS, "late"));
      const rest = this.#bytes.read().catch(() => undefined);
      const next = await Promise.race([rest, patience]);
      clearTimeout(timer);
      if (next === undefined) return;
    }
    await this.#bytes.cancel().catch(() => {});
  }
}

/** Finds the frames in bytes that come in pieces, cut anywhere. */
export interface FrameParser {
  read(bytes: Uint8Array): Frame[];
  end(): Frame[];
}

export const PARSERS: Record<Framing, (limits: Limits) => FrameParser> = {
  sse: (limits) => new EventParser(limits),
  ndjson: (limits) => new LineParser(limits),
};

/** All frames of a stream that is all there. */
export function framesIn(text: string, framing: Framing, limits: Limits): Frame[] {
  const parser = PARSERS[framing](limits);
  return [...parser.read(new TextEncoder().encode(text)), ...parser.end()];
}

/**
 * Server-sent events. CRLF, a byte order mark and fields without a blank are taken; a last event without its blank line
 * counts.
 */
class EventParser implements FrameParser {
  readonly #lines: Lines;
  readonly #parser: ReturnType<typeof createParser>;
  readonly #mostLines: number;
  #frames: Frame[] = [];
  /** Those since the last event: each takes far more memory than it has bytes, until its event ends. */
  #openLines = 0;

  constructor({ frameBytes, json }: Limits) {
    this.#lines = new Lines(frameBytes);
    this.#mostLines = json.values;
    this.#parser = createParser({
      onEvent: ({ event, data, id }) => {
        checkJson(data, json);
        this.#frames.push({ event, data, id });
      },
      onComment: (comment) => void this.#frames.push({ comment }),
      onError: (error) => {
        if (error.type === "max-buffer-size-exceeded") throw frameTooLong();
      },
      maxBufferSize: frameBytes,
    });
  }

  read(bytes: Uint8Array): Frame[] {
    // A text that is cut out of a longer one keeps all of it: what follows a long line is read apart.
    const end = this.#lines.isLong ? bytes.findIndex((one) => one === LF || one === CR) + 1 : 0;
    const before = end > 0 ? this.#parse(this.#lines.read(bytes.subarray(0, end))) : [];
    const after = this.#parse(this.#lines.read(bytes.subarray(end)));
    return before.length > 0 ? [...before, ...after] : after;
  }

  end(): Frame[] {
    return this.#parse(`${this.#lines.end()}\n\n`);
  }

  #parse(text: string): Frame[] {
    if (text === "") return [];
    this.#parser.feed(text);
    const frames = this.#frames;
    this.#frames = [];
    this.#openLines = frames.some(isEvent) ? 0 : this.#openLines + countOf("\n", text) + countOf("\r", text);
    if (this.#openLines > this.#mostLines) throw frameTooLong();
    return frames;
  }
}

/** JSON in lines. A last line without its end counts; blank lines are signs of life. */
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
    return this.#parse(this.#lines.end());
  }

  #parse(text: string): Frame[] {
    const frames = text.split("\n").map((line) => line.trim()).filter(Boolean).map((data) => ({ data }));
    for (const { data } of frames) checkJson(data, this.#json);
    return frames;
  }
}

/** How often it is there. A regular expression would keep the text until the next one is used. */
function countOf(character: string, text: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) count++;
  return count;
}

function isEvent({ data }: Frame): boolean {
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

/** Whole lines of what comes in pieces. The parser would keep each piece of a line as a text of its own, at many times its size. */
class Lines {
  readonly #decoder = new TextDecoder();
  /** The beginning of a line whose end has not come. */
  readonly #rest = new ByteBuffer();
  readonly #mostBytes: number;
  readonly #endsAtCr: boolean;

  /** `endsAtCr`: a carriage return ends a line, too. */
  constructor(mostBytes: number, endsAtCr = true) {
    this.#mostBytes = mostBytes;
    this.#endsAtCr = endsAtCr;
  }

  /** Whether a line has begun that is longer than most reads. */
  get isLong(): boolean {
    return this.#rest.length > LONG_BYTES;
  }

  /** The lines that are whole by now, as text; none where no line has ended. */
  read(bytes: Uint8Array): string {
    const end = Math.max(bytes.lastIndexOf(LF), this.#endsAtCr ? bytes.lastIndexOf(CR) : -1) + 1;
    let whole = bytes.subarray(0, end);
    if (end > 0 && this.#rest.length > 0) {
      this.#rest.append(whole);
      whole = this.#rest.take();
    }
    if (end < bytes.length) this.#rest.append(bytes.subarray(end));
    if (this.#rest.length > this.#mostBytes) throw frameTooLong();
    return this.#decoder.decode(whole, { stream: true });
  }

  /** What is left. */
  end(): string {
    return this.#decoder.decode(this.#rest.take());
  }
}
