/** Stands between a client and the gateway, and sees whether they understand each other. */
import { isJsonObject, type JsonValue } from "../../canonical/json.ts";

/** One request for an answer, without its content. */
export interface Seen {
  path: string;
  status: number;
  /** What the client asked for. */
  model?: string;
  /** Whether it carried the result of a tool. */
  hasResult: boolean;
  /** Whether the answer came to its end. */
  isWhole: boolean;
  /** What an answer that is an error begins with. */
  error?: string;
}

export interface Recorder {
  /** Its address, without a slash at its end. */
  url: string;
  seen: Seen[];
  close(): Promise<void>;
}

/** How much of an error is shown. */
const MOST_ERROR = 300;
/** What a connection has of its own, and the gateway is not sent. */
const OF_CONNECTION = ["host", "connection", "content-length", "transfer-encoding", "accept-encoding"];

/** Passes everything on to the gateway at `url`. `hide` takes the key out of an error before it is cut. */
export function record(url: string, hide: (text: string) => string): Recorder {
  const seen: Seen[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const body = request.body ? await request.text() : undefined;
    const headers = new Headers(request.headers);
    for (const name of OF_CONNECTION) headers.delete(name);
    const { method, signal } = request;
    let response: Response;
    try {
      response = await fetch(`${url}${pathname}${search}`, { method, headers, body, redirect: "manual", signal });
    } catch (error) {
      return new Response(`The gateway cannot be reached: ${(error as Error).message}`, { status: 502 });
    }
    const entry = method === "POST" && body !== undefined ? entryFor(pathname, response.status, body) : undefined;
    if (entry) seen.push(entry);
    if (!entry || !response.body) return response;
    return new Response(
      entry.status < 400 ? watched(response.body, entry) : await read(response, entry, hide),
      response,
    );
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, seen, close: () => server.shutdown() };
}

const RESULT = /"(tool_result|function_call_output|custom_tool_call_output|functionResponse)"|"role": ?"tool"/;

/** Nothing for what asks for no answer of a model, such as a count of tokens. */
function entryFor(path: string, status: number, body: string): Seen | undefined {
  // On some APIs the path names the model, and what is asked of it.
  const [, named] = /\/models\/(.+):(?:streamG|g)enerateContent$/.exec(path) ?? [];
  if (named === undefined && !/\/(messages|completions|responses|chat)$/.test(path)) return undefined;
  let sent: JsonValue | undefined;
  try {
    sent = JSON.parse(body);
  } catch {
    // the gateway says what is wrong with it
  }
  const model = isJsonObject(sent) && typeof sent.model === "string" ? sent.model : named;
  const hasResult = RESULT.test(body);
  return { path, status, model, hasResult, isWhole: false };
}

function watched(body: ReadableStream<Uint8Array<ArrayBuffer>>, entry: Seen): ReadableStream<Uint8Array> {
  return body.pipeThrough(new TransformStream({ flush: () => void (entry.isWhole = true) }));
}

async function read(response: Response, entry: Seen, hide: (text: string) => string): Promise<string> {
  const text = await response.text();
  entry.error = hide(text).slice(0, MOST_ERROR);
  return text;
}
