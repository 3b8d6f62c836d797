import { every } from "../util/every.ts";
import { SharingEncoder } from "../util/text_encoder.ts";

/** For recording a copy of an answer. */
export interface Sent {
  /** Receives the bytes that are sent. */
  copy?: { add(bytes: Uint8Array): void };
}

/** Limits how long a client may stop reading its answer. */
export interface Unread {
  /**
   * How many milliseconds the client may read nothing. The limit may be exceeded by up to a quarter. Data in the system's
   * buffers counts as read.
   */
  sendStallMs: number;
  /** Called when the limit is exceeded. The answer ends, and the client's connection is broken off. */
  onStall(): void;
}

/** The text of a streamed answer, in chunks as they are sent. */
export interface Chunks {
  /** The next chunk. `undefined` at the end. */
  next(): Promise<string | undefined>;
  /** Ends the stream. Resolves once everything that it held is released. */
  cancel(): Promise<void>;
}

export interface StreamOptions extends Unread, Sent {
  /** The media type of the framing. */
  mediaType: string;
  /** The keep-alive text for an idle stream. Empty if the framing has none. */
  keepAlive(): string;
  /**
   * The idle time before a keep-alive, in milliseconds. It may be exceeded by up to a quarter, and by the time for which the
   * process could not run.
   */
  keepAliveMs: number;
  /** Whether a server sends the chunks. It transfers no memory, so chunks may share some. */
  isServed: boolean;
  /** Called if the client disconnects before the end. */
  onLeave(): void;
  /** Called if the chunks themselves fail, which report all other failures. The client's connection is broken off. */
  onFailure(thrown: unknown): void;
  /** Called when everything has ended. */
  onEnd(): void;
}

/** Time limits that need not be exact are counted in quarters, by timers that all streams share. */
const QUARTERS = 4;

/**
 * A response that streams chunks. It requests a chunk only when the client's connection accepts one, so a slow reader slows down
 * the upstream.
 */
export function streamResponse(chunks: Chunks, options: StreamOptions): Response {
  const { mediaType, keepAlive, keepAliveMs, sendStallMs } = options;
  const encoder = encoderFor(options);
  let isOver = false;

  const end = () => {
    isOver = true;
    writing.end();
    taking.end();
    options.onEnd();
  };
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const taking = watchTaking(sendStallMs, () => {
    options.onStall();
    end();
    controller.error(new CutOff());
    chunks.cancel().catch(() => {}); // nobody is left to report it to
  });
  const fail = (thrown: unknown) => {
    if (isOver) return;
    options.onFailure(thrown);
    end();
    controller.error(new CutOff());
  };
  const give = (text: string | undefined) => {
    if (isOver) return;
    try {
      taking.waits = false;
      taking.quarters = writing.quarters = 0;
      if (text !== undefined) return controller.enqueue(encoder.encode(text));
      end();
      controller.close();
    } catch (thrown) {
      fail(thrown);
    }
  };
  const writing = watchWriting(keepAliveMs, () => {
    // A client that is not reading needs no keep-alive, and they must not pile up.
    if (controller.desiredSize !== 0) return false;
    const text = keepAlive();
    if (text !== "") controller.enqueue(encoder.encode(text));
    return true;
  });
  const body = new ReadableStream<Uint8Array>({
    start: (its) => void (controller = its),
    pull() {
      taking.waits = true;
      return chunks.next().then(give, fail);
    },
    async cancel() {
      options.onLeave();
      end();
      await chunks.cancel();
    },
  }, { highWaterMark: 0 });

  return new Response(body, { headers: { "content-type": mediaType, ...STREAM_HEADERS } });
}

/** Encodes texts, and records the bytes if a copy is wanted. */
function encoderFor({ isServed, copy }: StreamOptions): { encode(text: string): Uint8Array<ArrayBuffer> } {
  const encoder = isServed ? new SharingEncoder() : new TextEncoder();
  if (!copy) return encoder;
  return {
    encode(text) {
      const bytes = encoder.encode(text);
      copy.add(bytes);
      return bytes;
    },
  };
}

const STREAM_HEADERS = {
  "cache-control": "no-cache",
  // Proxies that buffer a stream break it.
  "x-accel-buffering": "no",
};

export interface PassOnOptions extends Unread, Sent {
  /** Called if the client disconnects before the end. */
  onLeave(): void;
  /** Called if the bytes end early. The client's connection is broken off, so that the part is not taken for the whole. */
  onFailure(thrown: unknown): void;
  /** Called when everything has ended. */
  onEnd(): void;
}

/** Passes the bytes on as the client reads them, and reads none ahead. */
export function passOn(
  bytes: ReadableStream<Uint8Array<ArrayBuffer>>,
  { sendStallMs, copy, onStall, onLeave, onFailure, onEnd }: PassOnOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = bytes.getReader();
  const end = () => {
    taking.end();
    onEnd();
  };
  let stalled = () => {};
  const taking = watchTaking(sendStallMs, () => stalled());
  return new ReadableStream({
    start(controller) {
      stalled = () => {
        onStall();
        end();
        controller.error(new CutOff());
        reader.cancel().catch(() => {}); // nobody is left to report it to
      };
    },
    async pull(controller) {
      taking.waits = true;
      try {
        const { done, value } = await reader.read();
        taking.waits = false;
        taking.quarters = 0;
        if (value) copy?.add(value);
        if (!done) return controller.enqueue(value);
        end();
        controller.close();
      } catch (thrown) {
        onFailure(thrown);
        end();
        controller.error(new CutOff());
      }
    },
    async cancel() {
      onLeave();
      end();
      await reader.cancel();
    },
  }, { highWaterMark: 0 });
}

/** Counts the quarters of a time limit, because a look at the clock for each chunk would cost more than the chunk. */
interface QuarterCount {
  /** Set to 0 by what the limit waits for. */
  quarters: number;
  end(): void;
}

/** Calls `onQuiet` if nothing was written for `limitMs`, and again with each further quarter until it has written. */
function watchWriting(limitMs: number, onQuiet: () => boolean): QuarterCount {
  const count = {
    quarters: 0,
    end: every(limitMs / QUARTERS, () => {
      // The first quarter may have begun earlier. What `onQuiet` writes is written at the beginning of one.
      if (++count.quarters > QUARTERS && onQuiet()) count.quarters = 1;
    }),
  };
  return count;
}

/**
 * Calls `onStall` if a client requests no data for `limitMs`. It counts quarters of that time in which the client could have
 * asked, so a delay of the gateway itself is not blamed on the client. While the gateway waits for an upstream, the client has
 * asked: `waits` is set until it is handed something.
 */
function watchTaking(limitMs: number, onStall: () => void): QuarterCount & { waits: boolean } {
  const count = {
    waits: false,
    quarters: 0,
    end: every(limitMs / QUARTERS, () => {
      // The first quarter may have begun earlier.
      if (count.waits || ++count.quarters <= QUARTERS) return;
      count.end();
      onStall();
    }),
  };
  return count;
}

/** Breaks off the client's connection, so that it does not take a part of an answer for the whole. The log has the details. */
export class CutOff extends Error {
  override name = "CutOff";

  constructor() {
    super("A response was cut off: see its log line");
    this.stack = this.message;
  }
}

/** The response to a HEAD request. */
export function withoutBody(response: Response): Response {
  return new Response(null, response);
}
