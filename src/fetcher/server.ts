/** The fetcher's HTTP server: `POST /fetch` and `POST /convert` with a token, and `GET /healthz`. */
import type { IncomingMessage, Server } from "node:http";
import { asObject, parseJson } from "../canonical/json.ts";
import { type BesideOptions, bytesOf, createBesideServer, type Work } from "../platform/beside.ts";
import type { FetchedPage } from "./page_fetcher.ts";
import { Refusal } from "./refusal.ts";
import type { Caller } from "./fetch_queue.ts";
import type { ConvertedDocument, DocumentWork } from "./documents.ts";

export interface FetcherServerOptions extends Pick<BesideOptions, "token" | "say"> {
  fetch(url: string, mostCharacters: number, signal: AbortSignal, caller?: Caller): Promise<FetchedPage>;
  /** Absent if documents are not read. */
  convert?(work: DocumentWork, signal: AbortSignal, caller?: Caller): Promise<ConvertedDocument>;
}

const REQUEST_BYTES = 64 * 1024;
const MOST_CHARACTERS = 1_000_000;
/** How long a request may take to arrive, in milliseconds. */
const ARRIVAL_MS = 10_000;
/** The largest document, in bytes. */
const DOCUMENT_BYTES = 64 * 2 ** 20;

export function createFetcherServer({ fetch, convert, ...options }: FetcherServerOptions): Server {
  return createBesideServer({
    ...options,
    arrivalMs: ARRIVAL_MS,
    reader({ pathname, searchParams }) {
      if (pathname === "/fetch") return (request) => pageIn(request, fetch);
      if (pathname === "/convert" && convert) return (request) => documentIn(request, searchParams, convert);
      return undefined;
    },
  });
}

/** A refusal is an answer. */
function refusable(work: Work): Work {
  return async (signal) => {
    try {
      return await work(signal);
    } catch (thrown) {
      if (!(thrown instanceof Refusal)) throw thrown;
      const { code: error, message, isSpoiling } = thrown;
      return { error, message, isSpoiling };
    }
  };
}

async function pageIn(request: IncomingMessage, fetch: FetcherServerOptions["fetch"]): Promise<Work | undefined> {
  const body = await bytesOf(request, REQUEST_BYTES);
  const asked = askedIn(body && parseJson(new TextDecoder().decode(body)));
  return asked && refusable((signal) => fetch(asked.url, asked.most, signal, asked.caller));
}

async function documentIn(
  request: IncomingMessage,
  query: URLSearchParams,
  convert: NonNullable<FetcherServerOptions["convert"]>,
): Promise<Work | undefined> {
  const [most, pictures, side] = ["characters", "pictures", "side"].map((name) => Number(query.get(name)));
  if (![most, pictures, side].every(Number.isInteger)) return undefined;
  const bytes = await bytesOf(request, DOCUMENT_BYTES);
  if (!bytes) return undefined;
  const work = { mediaType: query.get("type") ?? "", bytes, most: most!, pictures: pictures!, side: side! };
  return refusable((signal) => convert(work, signal, query.get("caller") ?? undefined));
}

function askedIn(body: unknown): { url: string; most: number; caller: Caller } | undefined {
  const { url, maxCharacters: most, caller } = asObject(body);
  if (typeof url !== "string" || typeof most !== "number" || !Number.isInteger(most) || most <= 0) return undefined;
  return { url, most: Math.min(most, MOST_CHARACTERS), caller: typeof caller === "string" ? caller : undefined };
}
