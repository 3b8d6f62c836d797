/** An app on a port of its own that remembers what was asked and answered. */
import type { App } from "../../src/app.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";

/** One request and its answer. */
export interface Exchange {
  method: string;
  /** With its query. */
  path: string;
  headers: Headers;
  /** The JSON that was sent; empty where there was none. */
  body: JsonObject;
  status: number;
  answerHeaders: Headers;
  /** What the client was sent, once it is over. */
  answer: Promise<string>;
}

export interface Recorder {
  /** The gateway's address, without a slash at its end. */
  url: string;
  /** In the order of arrival. */
  exchanges: Exchange[];
  stop(): Promise<void>;
}

export function record(app: Pick<App, "fetch">): Recorder {
  const exchanges: Exchange[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request, info) => {
    const text = await request.clone().text();
    const response = await app.fetch(request, info);
    const { pathname, search } = new URL(request.url);
    const isUpgrade = response.status === 101;
    const over = Promise.withResolvers<string>();
    exchanges.push({
      method: request.method,
      path: pathname + search,
      headers: new Headers(request.headers),
      body: parseObject(text),
      status: response.status,
      answerHeaders: new Headers(response.headers),
      answer: over.promise,
    });
    // What is said in the connection is not recorded.
    if (isUpgrade) over.resolve("");
    return isUpgrade ? response : new Response(remember(response.body, over.resolve), response);
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, exchanges, stop: () => server.shutdown() };
}

function parseObject(text: string): JsonObject {
  const value = text === "" ? {} : JSON.parse(text);
  return isJsonObject(value) ? value : {};
}

/** The same bytes; tells their text when they end or nobody wants more. */
function remember(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  tell: (text: string) => void,
): ReadableStream<Uint8Array> | null {
  if (!body) {
    tell("");
    return null;
  }
  const decoder = new TextDecoder();
  let text = "";
  return body.pipeThrough(
    new TransformStream({
      transform(bytes, controller) {
        text += decoder.decode(bytes, { stream: true });
        controller.enqueue(bytes);
      },
      flush: () => tell(text),
      cancel: () => tell(text),
    }),
  );
}
