/**
 * Golden files of endpoints that have no wire of their own at upstreams: each has a client's request, as every kind of upstream gets
 * it, and its answer. Everything passes the whole gateway. What is the same of several upstreams is written once.
 */
import type { Frame } from "../../../src/contract/frame.ts";
import type { Framing } from "../../../src/contract/stream.ts";
import { toArray } from "../chunks.ts";
import type { Asked } from "../fake_upstream.ts";
import { readFrames } from "../sources.ts";
import type { Usual } from "./pieces.ts";
import type { Translation } from "./translate.ts";
import { write } from "./write.ts";

/** One request or answer, and the upstream that it belongs to. */
export interface Part {
  what: string;
  upstream: string;
  content: Translation["content"];
  notes: string[];
}

const NOTHING_USUAL: Usual = { envelopes: new Map(), ids: new Map() };

/** The calls of one request. Those that are alike are counted. */
export function requestsTo(upstream: string, asked: readonly Asked[]): Part[] {
  return [...Map.groupBy(asked, ({ url, body }) => url.pathname + body).values()].map((alike) => {
    const [{ url, body, method }] = alike as [Asked];
    const times = alike.length === 1 ? "" : `, ${alike.length} times`;
    return { what: `request: ${method} ${url.pathname}${times}`, upstream, content: body, notes: [] };
  });
}

/** The answer to the client. */
export async function answerOf(upstream: string, response: Response): Promise<Part> {
  const { status, headers } = response;
  const notes = headers.get("x-laneway-notes")?.split("; ") ?? [];
  const framing = FRAMINGS[headers.get("content-type")?.split(";")[0] ?? ""];
  const what = response.ok ? "answer" : `error ${status}`;
  if (!framing) return { what, upstream, content: await response.text(), notes };
  const frames = await toArray(readFrames(response.body!, framing));
  const content: Frame[] = frames.map((frame) => JSON.parse(JSON.stringify(frame)));
  return { what: `${what}, streamed`, upstream, content, notes };
}

const FRAMINGS: Record<string, Framing> = { "text/event-stream": "sse", "application/x-ndjson": "ndjson" };

/** The parts below a heading each, in the order in which they first come up. */
export function writeParts(parts: readonly Part[], isSure: boolean): string {
  const same = Map.groupBy(parts, ({ what, content, notes }) => JSON.stringify([what, content, notes]));
  return [...same.values()].map((all) => {
    const { what, content, notes } = all[0]!;
    const name = `${what} (${all.map(({ upstream }) => upstream).join(", ")})`;
    return write({ name, content, notes }, NOTHING_USUAL, isSure);
  }).join("\n");
}
