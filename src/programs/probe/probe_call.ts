/** Sends small requests to a server, one after another. */
import type { JsonObject, JsonValue } from "../../canonical/json.ts";
import type { SecretHeader } from "../../contract/call.ts";
import { whyUnreached } from "../doctor/reach.ts";
import { withQuery } from "../../util/urls_and_headers.ts";
import type { ProbeCall, ProbeReply } from "../../contract/probing.ts";

export interface ProbeOptions {
  /** Ends with a slash. */
  baseUrl: string;
  /** The query that is appended to each path. */
  query?: string;
  /** The secret, and its header. */
  access?: { value: string; place: SecretHeader };
  /** How long one answer may take, in milliseconds. */
  patienceMs: number;
  /** Called before each request. */
  onAsk?(): void;
  /** By default the global one. */
  fetch?: typeof globalThis.fetch;
}

/** How much of an answer is read, in characters. */
const MOST_TEXT = 1_000_000;

/** The error if the server cannot be examined. The message is for people. */
export class ProbeError extends Error {}

/** After this many requests in a row without an answer in time, no more are sent. */
const MOST_SILENT = 2;

/** The returned function throws `ProbeError` if the server has stopped answering. */
export function openProbe(
  { baseUrl, query, access, patienceMs, onAsk, fetch = globalThis.fetch }: ProbeOptions,
): ProbeCall {
  let silent = 0;
  const { value = "", place } = access ?? {};
  const auth: Record<string, string> = place
    ? { [place.header]: place.scheme ? `${place.scheme} ${value}` : value }
    : {};
  return async (path, body, headers) => {
    onAsk?.();
    const signal = AbortSignal.timeout(patienceMs);
    const type: Record<string, string> = body ? { "content-type": "application/json" } : {};
    const began = performance.now();
    try {
      const { href } = new URL(path, baseUrl);
      const response = await fetch(query === undefined ? href : withQuery(href, query), {
        method: body ? "POST" : "GET",
        headers: { accept: "*/*", ...type, ...auth, ...headers },
        body: body && JSON.stringify(body),
        redirect: "manual",
        signal,
      });
      const answer = await read(response, began);
      silent = 0;
      return { status: response.status, headers: response.headers, ...answer, ...parsed(answer.text) };
    } catch (error) {
      silent = signal.aborted ? silent + 1 : 0;
      if (silent < MOST_SILENT) return nothing(error, new URL(baseUrl).host);
      const seconds = patienceMs / 1000;
      throw new ProbeError(`The server has not answered ${silent} questions in a row within ${seconds} seconds each`);
    }
  };
}

async function read(
  response: Response,
  began: number,
): Promise<Pick<ProbeReply, "text" | "firstByteMs" | "longestPauseMs">> {
  const decoder = new TextDecoder();
  let [text, firstByteMs, longestPauseMs, last] = ["", 0, 0, began];
  for await (const piece of response.body ?? []) {
    const now = performance.now();
    if (firstByteMs === 0) firstByteMs = now - began;
    else longestPauseMs = Math.max(longestPauseMs, now - last);
    last = now;
    text += decoder.decode(piece, { stream: true });
    if (text.length > MOST_TEXT) break;
  }
  return { text, firstByteMs, longestPauseMs };
}

function parsed(text: string): { body?: JsonValue } {
  try {
    return { body: JSON.parse(text) };
  } catch {
    return {};
  }
}

function nothing(error: unknown, host: string): ProbeReply {
  return {
    status: 0,
    headers: new Headers(),
    text: whyUnreached(error, host).message,
    firstByteMs: 0,
    longestPauseMs: 0,
  };
}

/** The names of the models in a list. */
export function modelsIn({ body }: ProbeReply): string[] {
  const data = (body as JsonObject | undefined)?.data ?? body;
  return Array.isArray(data)
    ? data.flatMap((one) => typeof (one as JsonObject)?.id === "string" ? [(one as JsonObject).id as string] : [])
    : [];
}
