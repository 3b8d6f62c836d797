/** Sends what the kit asks, and takes what comes as it is. */
import type { CheckAsk, CheckReply } from "../../contract/conformance.ts";

export interface Asking {
  /** Below which the paths of the wires are: `http://127.0.0.1:8000/oss`. */
  baseUrl: string;
  headers: Readonly<Record<string, string>>;
  key?: string;
  /** How long one answer may take, in milliseconds. */
  patienceMs: number;
}

export function asking({ baseUrl, headers, key, patienceMs }: Asking): CheckAsk {
  // Each server of the three wires looks for the key in one of the two.
  const auth: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}`, "x-api-key": key };
  return async (path, body) => {
    const isPieces = Array.isArray(body);
    const signal = AbortSignal.timeout(patienceMs);
    try {
      const response = await fetch(`${baseUrl}/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...auth, ...headers },
        body: isPieces ? inPieces(body) : typeof body === "string" ? body : JSON.stringify(body),
        redirect: "manual",
        signal,
      });
      return await read(response);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return { status: 0, contentType: "", headers: new Headers(), text, isCut: true };
    }
  };
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

async function read(response: Response): Promise<CheckReply> {
  const decoder = new TextDecoder();
  let [text, isCut] = ["", false];
  try {
    for await (const piece of response.body ?? []) text += decoder.decode(piece, { stream: true });
  } catch {
    isCut = true;
  }
  const contentType = response.headers.get("content-type") ?? "";
  return { status: response.status, contentType, headers: response.headers, text, isCut };
}
