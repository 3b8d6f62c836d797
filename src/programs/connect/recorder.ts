/** A proxy between a client and the gateway that records whether they understand each other. */
import { isJsonObject, type JsonValue } from "../../canonical/json.ts";
import { serveHere } from "../../platform/here.ts";

/** One request to a model, without its content. */
export interface Seen {
  path: string;
  status: number;
  /** The model that the client requested. */
  model?: string;
  /** Whether it contained the result of a tool. */
  hasResult: boolean;
  /** Whether the answer is complete. */
  isWhole: boolean;
  /** The beginning of an error. */
  error?: string;
}

export interface Recorder {
  /** Its URL, without a trailing slash. */
  url: string;
  seen: Seen[];
  close(): Promise<void>;
}

/** How much of an error is shown, in characters. */
const MOST_ERROR = 300;
/** Headers of the connection itself, which are not passed on to the gateway. */
const OF_CONNECTION = ["host", "connection", "content-length", "transfer-encoding", "accept-encoding"];

/** Passes everything on to the gateway at `url`. `hide` removes the key from an error before it is cut. */
export async function record(url: string, hide: (text: string) => string): Promise<Recorder> {
  const seen: Seen[] = [];
  const handler = async (request: Request): Promise<Response> => {
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
  };
  const server = await serveHere({ port: 0, handler });
  return { url: `http://127.0.0.1:${server.port}`, seen, close: () => server.shutdown() };
}

const RESULT = /"(tool_result|function_call_output|custom_tool_call_output|functionResponse)"|"role": ?"tool"/;

/** Absent for a request that needs no answer of a model, such as a token count. */
function entryFor(path: string, status: number, body: string): Seen | undefined {
  // On some APIs the path names the model and the operation.
  const [, named] = /\/models\/(.+):(?:streamG|g)enerateContent$/.exec(path) ?? [];
  if (named === undefined && !/\/(messages|completions|responses|chat)$/.test(path)) return undefined;
  let sent: JsonValue | undefined;
  try {
    sent = JSON.parse(body);
  } catch {
    // the gateway reports what is wrong with the body
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
  entry.error = wordsOf(hide(text)).slice(0, MOST_ERROR);
  return text;
}

/** The sentence in an error, in whichever form its protocol has it. */
function wordsOf(error: string): string {
  try {
    const { error: inner, message } = JSON.parse(error);
    const words = inner?.message ?? message ?? inner;
    return typeof words === "string" ? words : error;
  } catch {
    return error;
  }
}
