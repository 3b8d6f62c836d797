/** Asks a server, one small request after another. */
import type { JsonObject, JsonValue } from "../../canonical/json.ts";
import type { ProbeAsk, ProbeReply } from "../../contract/probing.ts";

export interface Asked {
  /** Ends with a slash. */
  baseUrl: string;
  secret?: string;
  /** How long one answer may take, in milliseconds. */
  patienceMs: number;
}

/** How much of an answer is read, in characters. */
const MOST_TEXT = 1_000_000;

export function asking({ baseUrl, secret, patienceMs }: Asked): ProbeAsk {
  return async (path, body, headers) => {
    const signal = AbortSignal.timeout(patienceMs);
    const auth: Record<string, string> = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
    const type: Record<string, string> = body ? { "content-type": "application/json" } : {};
    const began = performance.now();
    try {
      const response = await fetch(new URL(path, baseUrl), {
        method: body ? "POST" : "GET",
        headers: { accept: "*/*", ...type, ...auth, ...headers },
        body: body && JSON.stringify(body),
        redirect: "manual",
        signal,
      });
      const { text, firstByteMs } = await read(response, began);
      return { status: response.status, headers: response.headers, text, firstByteMs, ...parsed(text) };
    } catch (error) {
      return nothing(error as Error);
    }
  };
}

async function read(response: Response, began: number): Promise<{ text: string; firstByteMs: number }> {
  const decoder = new TextDecoder();
  let [text, firstByteMs] = ["", 0];
  for await (const piece of response.body ?? []) {
    firstByteMs ||= performance.now() - began;
    text += decoder.decode(piece, { stream: true });
    if (text.length > MOST_TEXT) break;
  }
  return { text, firstByteMs };
}

function parsed(text: string): { body?: JsonValue } {
  try {
    return { body: JSON.parse(text) };
  } catch {
    return {};
  }
}

function nothing({ message }: Error): ProbeReply {
  return { status: 0, headers: new Headers(), text: message, firstByteMs: 0 };
}

/** The first model of a list, and how many there are. */
export function modelsIn({ body }: ProbeReply): string[] {
  const data = (body as JsonObject | undefined)?.data ?? body;
  return Array.isArray(data)
    ? data.flatMap((one) => typeof (one as JsonObject)?.id === "string" ? [(one as JsonObject).id as string] : [])
    : [];
}
