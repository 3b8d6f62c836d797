import type { ServerSentEvent } from "../contract/frame.ts";
import { formatFrame } from "./sse.ts";

export interface StreamOptions {
  /** What goes out in silence; a comment where there is nothing. */
  keepAlive(): ServerSentEvent | undefined;
  /** Silence after which it goes out, in milliseconds; at most half of it more. */
  keepAliveMs: number;
  /** What is to be said before the next frame, such as a note that came late. */
  interject(): ServerSentEvent | undefined;
  /** The client left before the end. */
  onLeave(): void;
  /** The frames failed, which tell every failure but one of their own; the client's connection breaks off. */
  onFailure(thrown: unknown): void;
  /** All is over. */
  onEnd(): void;
}

/**
 * A response that streams `frames`. It asks for a frame only when the client's connection takes one, so a slow reader slows
 * the upstream down.
 */
export function streamResponse(frames: AsyncIterable<ServerSentEvent>, options: StreamOptions): Response {
  const { keepAlive, keepAliveMs } = options;
  const iterator = frames[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;
  let lastWrite = performance.now();

  const end = () => {
    clearInterval(timer);
    options.onEnd();
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => {
        // A reader that takes nothing needs no sign of life, and must not pile them up.
        if (controller.desiredSize !== 0 || performance.now() - lastWrite < keepAliveMs) return;
        lastWrite = performance.now();
        controller.enqueue(encoder.encode(formatFrame(keepAlive() ?? { comment: "keep-alive" })));
      }, keepAliveMs / 2);
    },
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        lastWrite = performance.now();
        if (done) {
          end();
          controller.close();
          return;
        }
        const interjection = options.interject();
        const text = interjection ? formatFrame(interjection) + formatFrame(value) : formatFrame(value);
        controller.enqueue(encoder.encode(text));
      } catch (thrown) {
        options.onFailure(thrown);
        end();
        controller.error(brief());
      }
    },
    async cancel() {
      options.onLeave();
      end();
      await iterator.return?.();
    },
  }, { highWaterMark: 0 });

  return new Response(body, {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      // Proxies that buffer a stream break it.
      "x-accel-buffering": "no",
    },
  });
}

export interface PassOnOptions {
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
  { onLeave, onFailure, onEnd }: PassOnOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = bytes.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        onEnd();
        controller.close();
      } catch (thrown) {
        onFailure(thrown);
        onEnd();
        controller.error(brief());
      }
    },
    async cancel() {
      onLeave();
      onEnd();
      await reader.cancel();
    },
  }, { highWaterMark: 0 });
}

/** What the server prints of an answer that breaks off, in a line; the log has the rest. */
function brief(): Error {
  const error = new Error("An answer broke off: see its line in the log");
  error.stack = error.message;
  return error;
}

/** The same response as HEAD gets it. */
export function withoutBody(response: Response): Response {
  return new Response(null, response);
}
