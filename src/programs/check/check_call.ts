/** Sends what the kit asks, and takes what comes as it is. */
import { withQuery } from "../../util/urls_and_headers.ts";
import type { CheckCall, CheckReply } from "../../contract/conformance.ts";

export interface CheckOptions {
  /** Below which the paths of the wires are: `http://127.0.0.1:8000/oss`. */
  baseUrl: string;
  /** Follows each path. */
  query?: string;
  headers: Readonly<Record<string, string>>;
  key?: string;
  /** The header of the key. Absent: both that the servers of the three wires look at. */
  keyHeader?: string;
  /** How long one answer may take, in milliseconds. */
  patienceMs: number;
}

/** How much of an answer is read, in characters: none that is asked for comes near. */
const MOST_TEXT = 2_000_000;

export function openCheck({ baseUrl, query, headers, key, keyHeader, patienceMs }: CheckOptions): CheckCall {
  const auth = key === undefined ? {} : authOf(key, keyHeader);
  return async (path, body) => {
    const isPieces = Array.isArray(body);
    const signal = AbortSignal.timeout(patienceMs);
    try {
      const url = `${baseUrl}/${path}`;
      const response = await fetch(query === undefined ? url : withQuery(url, query), {
        method: "POST",
        headers: { "content-type": "application/json", ...auth, ...headers },
        body: isPieces ? inPieces(body) : typeof body === "string" ? body : JSON.stringify(body),
        redirect: "manual",
        signal,
      });
      return await read(response, signal);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return { status: 0, contentType: "", headers: new Headers(), text, isCut: true, isLate: signal.aborted };
    }
  };
}

function authOf(key: string, header: string | undefined): Record<string, string> {
  const bearer = { authorization: `Bearer ${key}` };
  // Each server of the three wires looks for the key in one of the two.
  if (header === undefined) return { ...bearer, "x-api-key": key };
  return header === "authorization" ? bearer : { [header]: key };
}

function inPieces(pieces: readonly string[]): ReadableStream<Uint8Array> {
  const rest = [...pieces].reverse();
  return new ReadableStream<string>({
    pull(controller) {
      const next = rest.pop();
      if (next === undefined) controller.close();
      else controller.enqueue(next);
    },
  }).pipeThrough(new TextEncoderStream());
}

/** One that does not end in time is no answer; one that is too long is cut. */
async function read({ body, status, headers }: Response, signal: AbortSignal): Promise<CheckReply> {
  const contentType = headers.get("content-type") ?? "";
  const reply = { status, contentType, headers };
  let text = "";
  try {
    const decoder = new TextDecoder();
    for await (const piece of body ?? []) {
      text += decoder.decode(piece, { stream: true });
      if (text.length > MOST_TEXT) return { ...reply, text, isCut: true };
    }
  } catch {
    return { ...reply, ...signal.aborted && { status: 0, isLate: true }, text, isCut: true };
  }
  return { ...reply, text, isCut: false };
}
