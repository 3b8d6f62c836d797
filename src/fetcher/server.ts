/** The fetcher's HTTP server: `POST /fetch` and `POST /convert` with a token, and `GET /healthz`. */
import { Buffer } from "node:buffer";
import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { asObject } from "../canonical/json.ts";
import { digestOf } from "../util/digest.ts";
import type { FetchedPage } from "./page_fetcher.ts";
import { Refusal } from "./refusal.ts";
import type { Caller } from "./fetch_queue.ts";
import type { ConvertedDocument, DocumentWork } from "./documents.ts";

export interface FetcherServerOptions {
  /** The token that every request for a page must have. */
  token: string;
  fetch(url: string, mostCharacters: number, signal: AbortSignal, caller?: Caller): Promise<FetchedPage>;
  /** Absent if documents are not read. */
  convert?(work: DocumentWork, signal: AbortSignal, caller?: Caller): Promise<ConvertedDocument>;
  /** Takes messages about failures. */
  say(text: string): void;
}

const REQUEST_BYTES = 64 * 1024;
const MOST_CHARACTERS = 1_000_000;
const HEAD_MS = 10_000;
/** The largest document, in bytes. */
const DOCUMENT_BYTES = 64 * 2 ** 20;

export function createFetcherServer(options: FetcherServerOptions): Server {
  return createServer({ headersTimeout: HEAD_MS, requestTimeout: HEAD_MS }, (request, response) => {
    answer(request, response, options).catch((thrown) => {
      options.say(`A request failed: ${thrown}`);
      reply(response, 500, { error: "unavailable" });
    });
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, options: FetcherServerOptions) {
  const { method, url, headers } = request;
  if (url === "/healthz") return reply(response, 200, { status: "ok" });
  const { pathname, searchParams } = new URL(url ?? "/", "http://fetcher");
  const isDocument = pathname === "/convert" && options.convert !== undefined;
  if (pathname !== "/fetch" && !isDocument) return reply(response, 404, { error: "not_found" });
  if (method !== "POST") return reply(response, 405, { error: "method_not_allowed" });
  if (!isSame(headers.authorization ?? "", `Bearer ${options.token}`)) {
    return reply(response, 401, { error: "unauthorized" });
  }
  const work = isDocument ? await documentIn(request, searchParams, options) : await pageIn(request, options);
  if (!work) return reply(response, 400, { error: "invalid_input" });
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  try {
    reply(response, 200, await work(gone.signal));
  } catch (thrown) {
    if (gone.signal.aborted) return;
    if (!(thrown instanceof Refusal)) throw thrown;
    const { code: error, message, isSpoiling } = thrown;
    reply(response, 200, { error, message, isSpoiling });
  }
}

type Work = (signal: AbortSignal) => Promise<object>;

async function pageIn(request: IncomingMessage, { fetch }: FetcherServerOptions): Promise<Work | undefined> {
  const body = await bytesOf(request, REQUEST_BYTES);
  const asked = askedIn(body && jsonIn(body));
  return asked && ((signal) => fetch(asked.url, asked.most, signal, asked.caller));
}

async function documentIn(
  request: IncomingMessage,
  query: URLSearchParams,
  { convert }: FetcherServerOptions,
): Promise<Work | undefined> {
  const [most, pictures, side] = ["characters", "pictures", "side"].map((name) => Number(query.get(name)));
  if (![most, pictures, side].every(Number.isInteger)) return undefined;
  const bytes = await bytesOf(request, DOCUMENT_BYTES);
  if (!bytes) return undefined;
  const work = { mediaType: query.get("type") ?? "", bytes, most: most!, pictures: pictures!, side: side! };
  return (signal) => convert!(work, signal, query.get("caller") ?? undefined);
}

function askedIn(body: unknown): { url: string; most: number; caller: Caller } | undefined {
  const { url, maxCharacters: most, caller } = asObject(body);
  if (typeof url !== "string" || typeof most !== "number" || !Number.isInteger(most) || most <= 0) return undefined;
  return { url, most: Math.min(most, MOST_CHARACTERS), caller: typeof caller === "string" ? caller : undefined };
}

/** Compares in constant time. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(digestOf(one)), Buffer.from(digestOf(other)));
}

/** Absent if there are more bytes than `most`. */
async function bytesOf(request: IncomingMessage, most: number): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of request) {
    length += piece.length;
    if (length > most) return undefined;
    pieces.push(piece);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

function jsonIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

function reply(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json", connection: "close" }).end(JSON.stringify(body));
}
