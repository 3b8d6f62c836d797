import { createParser } from "eventsource-parser";
import { ByteBuffer, ByteReader } from "../util/byte_reader.ts";
import { excessOf, JSON_LIMITS } from "../canonical/json_limits.ts";
import { paced } from "../util/work.ts";
import type { Frame } from "../contract/frame.ts";
import { GatewayError } from "../errors.ts";
import { brokenOff, tooLong, tooMuchJson, type Upstream } from "./send.ts";

type Limits = Pick<Upstream, "frameBytes" | "streamBytes" | "json">;

/** A whole answer with pictures fits into a frame. */
const LIMITS: Limits = { frameBytes: 32 * 1024 * 1024, streamBytes: Infinity, json: JSON_LIMITS };
const BUFFER_BYTES = 8 * 1024;
/** A server that sends the end of its body apart from the rest does so after some 40 ms (delayed acknowledgements). */
const PATIENCE_MS = 80;

/** Who hears how an upstream's stream goes on. */
export interface Pulse {
  /** A piece is waited for. */
  wait(): void;
  /** A piece is there, with an event in it or only a comment. */
  beat(event: boolean): void;
  /** The connection ended before the stream did; the frames end with it. */
  broken(cause: unknown): void;
}

/**
 * The frames of an upstream's stream, comments among them. Bytes may be cut anywhere; CRLF, a byte order mark and fields
 * without a blank are taken; a last event without its blank line counts. Ends where the bytes end; what it means that they
 * end there, the caller knows. `pulse` hears when a piece is waited for, and when it is there. Throws where a line, an
 * event or all of them are longer than they may be.
 */
export async function* readFrames(
  body: ReadableStream<Uint8Array>,
  pulse?: Pulse,
  { frameBytes, streamBytes, json } = LIMITS,
): AsyncGenerator<Frame> {
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent({ event, data, id }) {
      const excess = excessOf(data, json);
      if (excess) throw tooMuchJson("stream holds an event that", excess, json);
      frames.push({ event, data, id });
    },
    onComment: (comment) => frames.push({ comment }),
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") throw frameTooLong();
    },
    maxBufferSize: frameBytes,
  });
  const lines = new Lines(frameBytes);
  const reader = new ByteReader(body, BUFFER_BYTES);
  let length = 0;
  /** Those since the last event: each takes far more memory than it has bytes, until its event ends. */
  let openLines = 0;
  let ended = false;
  try {
    while (!ended) {
      pulse?.wait();
      const bytes = await reader.read().catch((cause) => {
        if (!pulse) throw brokenOff(cause);
        pulse.broken(cause);
      });
      ended = bytes === undefined;
      length += bytes?.length ?? 0;
      if (length > streamBytes) throw tooLong("stream", streamBytes);
      const text = bytes ? lines.read(bytes) : `${lines.end()}\n\n`;
      parser.feed(text);
      const hasEvent = frames.some(({ data }) => data !== undefined);
      openLines = hasEvent ? 0 : openLines + (text.match(/[\r\n]/g)?.length ?? 0);
      if (openLines > json.values) throw frameTooLong();
      pulse?.beat(hasEvent);
      yield* paced(frames.splice(0));
    }
  } finally {
    if (!ended) await leave(reader);
  }
}

function frameTooLong(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's stream holds a frame that is too long");
}

const [CR, LF] = [13, 10];

/** Whole lines of what comes in pieces. The parser would keep each piece of a line as a text of its own, at many times its size. */
class Lines {
  readonly #decoder = new TextDecoder();
  /** The beginning of a line whose end has not come. */
  readonly #rest = new ByteBuffer();

  constructor(readonly mostBytes: number) {}

  /** The lines that are whole by now, as text; none where no line has ended. */
  read(bytes: Uint8Array): string {
    const end = Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1;
    let whole = bytes.subarray(0, end);
    if (end > 0 && this.#rest.length > 0) {
      this.#rest.append(whole);
      whole = this.#rest.take();
    }
    if (end < bytes.length) this.#rest.append(bytes.subarray(end));
    if (this.#rest.length > this.mostBytes) throw frameTooLong();
    return this.#decoder.decode(whole, { stream: true });
  }

  /** What is left. */
  end(): string {
    return this.#decoder.decode(this.#rest.take());
  }
}

/**
 * After `[DONE]` nothing follows but the end of the body. Reading that far lets the connection be used again; an upstream
 * that stays silent instead is not waited for.
 */
async function leave(reader: ByteReader): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<"late">((resolve) => timer = setTimeout(resolve, PATIENCE_MS, "late"));
  const rest = reader.read().catch(() => undefined);
  const next = await Promise.race([rest, patience]);
  clearTimeout(timer);
  if (next !== undefined) await reader.cancel().catch(() => {});
}
