import { every } from "../util/every.ts";

/** Whoever keeps a copy of an answer. */
export interface Sent {
  /** Gets what is sent. */
  copy?: { add(bytes: Uint8Array): void };
}

/** A client that takes nothing of its answer. */
export interface Unread {
  /** How long it may take nothing, in milliseconds; at most a quarter of it more. What the system buffers counts as taken. */
  sendStallMs: number;
  /** It did: the answer ends here, and the client's connection breaks off. */
  onStall(): void;
}

/** The text of a streamed answer, in the chunks in which it is sent. */
export interface Chunks {
  /** The next one; `undefined` at the end. */
  next(): Promise<string | undefined>;
  /** Ends it; resolves once all that it held is given back. */
  cancel(): Promise<void>;
}

export interface StreamOptions extends Unread, Sent {
  /** What sets the frames apart. */
  mediaType: string;
  /** What goes out in silence; nothing where the protocol has no such thing. */
  keepAlive(): string;
  /** Silence after which it goes out, in milliseconds; at most half of it more. */
  keepAliveMs: number;
  /** The client left before the end. */
  onLeave(): void;
  /** The chunks failed, which tell every failure but one of their own; the client's connection breaks off. */
  onFailure(thrown: unknown): void;
  /** All is over. */
  onEnd(): void;
}

const encoder = new TextEncoder();

/**
 * A response that streams chunks. It asks for one only when the client's connection takes one, so a slow reader slows the
 * upstream down.
 */
export function streamResponse(chunks: Chunks, options: StreamOptions): Response {
  const { mediaType, keepAlive, keepAliveMs, sendStallMs, copy } = options;
  let lastWrite = performance.now();
  let isOver = false;

  const end = () => {
    isOver = true;
    stopKeepAlives();
    taking.end();
    options.onEnd();
  };
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const taking = watchTaking(sendStallMs, () => {
    options.onStall();
    end();
    controller.error(brief());
    chunks.cancel().catch(() => {}); // nobody is left to report it to
  });
  const fail = (thrown: unknown) => {
    if (isOver) return;
    options.onFailure(thrown);
    end();
    controller.error(brief());
  };
  const give = (text: string | undefined) => {
    if (isOver) return;
    try {
      taking.handed();
      lastWrite = performance.now();
      if (text !== undefined) return send(controller, text, copy);
      end();
      controller.close();
    } catch (thrown) {
      fail(thrown);
    }
  };
  const stopKeepAlives = every(keepAliveMs / 2, () => {
    // A reader that takes nothing needs no sign of life, and must not pile them up.
    if (controller.desiredSize !== 0 || performance.now() - lastWrite < keepAliveMs) return;
    lastWrite = performance.now();
    const text = keepAlive();
    if (text !== "") send(controller, text, copy);
  });
  const body = new ReadableStream<Uint8Array>({
    start: (its) => void (controller = its),
    pull() {
      taking.asked();
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

function send(controller: ReadableStreamDefaultController<Uint8Array>, text: string, copy: Sent["copy"]): void {
  const bytes = encoder.encode(text);
  copy?.add(bytes);
  controller.enqueue(bytes);
}

const STREAM_HEADERS = {
  "cache-control": "no-cache",
  // Proxies that buffer a stream break it.
  "x-accel-buffering": "no",
};

export interface PassOnOptions extends Unread, Sent {
  /** The client left before the end. */
  onLeave(): void;
  /** The bytes ended before they were all there; the client's connection breaks off, so that nobody takes them for whole. */
  onFailure(thrown: unknown): void;
  /** All is over. */
  onEnd(): void;
}

/** The same bytes, each as soon as the client takes it and none before. */
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
        controller.error(brief());
        reader.cancel().catch(() => {}); // nobody is left to report it to
      };
    },
    async pull(controller) {
      taking.asked();
      try {
        const { done, value } = await reader.read();
        taking.handed();
        if (value) copy?.add(value);
        if (!done) return controller.enqueue(value);
        end();
        controller.close();
      } catch (thrown) {
        onFailure(thrown);
        end();
        controller.error(brief());
      }
    },
    async cancel() {
      onLeave();
      end();
      await reader.cancel();
    },
  }, { highWaterMark: 0 });
}

/**
 * Calls `onStall` where a client asks for nothing for `limitMs`. Counted in quarters that pass while it might have asked, so that
 * a gateway that was held up itself blames nobody; while it waits for an upstream, the client has asked.
 */
function watchTaking(limitMs: number, onStall: () => void): { asked(): void; handed(): void; end(): void } {
  let waits = false;
  let quarters = 0;
  const end = every(limitMs / 4, () => {
    // The first of them may have begun before.
    if (waits || ++quarters <= 4) return;
    end();
    onStall();
  });
  return {
    asked: () => void (waits = true),
    handed() {
      waits = false;
      quarters = 0;
    },
    end,
  };
}

/** What the server prints of an answer that breaks off, in a line; the log has the rest. */
function brief(): Error {
  const error = new Error("A response was cut off: see its log line");
  error.stack = error.message;
  return error;
}

/** The same response as HEAD gets it. */
export function withoutBody(response: Response): Response {
  return new Response(null, response);
}
