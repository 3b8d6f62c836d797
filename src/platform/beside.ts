/** The common part of the processes beside the gateway: a server whose requests need a token, and how the process speaks and ends. */
import { Buffer } from "node:buffer";
import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import process from "node:process";
import { digestOf } from "../util/digest.ts";
import { shown } from "../util/printable.ts";

/** Answers one request. `signal` is aborted when its client leaves. */
export type Work = (signal: AbortSignal) => object | Promise<object>;

export interface BesideOptions {
  /** The token that every request for work must have. */
  token: string;
  /** How long a request may take to arrive, in milliseconds. */
  arrivalMs: number;
  /** Further facts for `GET /healthz`, which needs no token. */
  health?(): object;
  /** Reads a request. `undefined` for a path that is not served, and from the function for a request that makes no sense. */
  reader(url: URL): ((request: IncomingMessage) => Promise<Work | undefined>) | undefined;
  /** Takes messages about failures. */
  say(text: string): void;
}

const HEAD_MS = 10_000;
const LEAST_TOKEN = 16;

export function createBesideServer(options: BesideOptions): Server {
  return createServer({ headersTimeout: HEAD_MS, requestTimeout: options.arrivalMs }, (request, response) => {
    answer(request, response, options).catch((thrown) => {
      options.say(`A request failed: ${thrown}`);
      reply(response, 500, { error: "unavailable" });
    });
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, { token, health, reader }: BesideOptions) {
  const url = new URL(request.url ?? "/", "http://beside");
  if (url.pathname === "/healthz") return reply(response, 200, { status: "ok", ...health?.() });
  const read = reader(url);
  if (!read) return reply(response, 404, { error: "not_found" });
  if (request.method !== "POST") return reply(response, 405, { error: "method_not_allowed" });
  if (!isSame(request.headers.authorization ?? "", `Bearer ${token}`)) {
    return reply(response, 401, { error: "unauthorized" });
  }
  const work = await read(request);
  if (!work) return reply(response, 400, { error: "invalid_input" });
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  try {
    reply(response, 200, await work(gone.signal));
  } catch (thrown) {
    if (!gone.signal.aborted) throw thrown;
  }
}

/** Compares in constant time. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(digestOf(one)), Buffer.from(digestOf(other)));
}

/** Absent if there are more bytes than `most`. */
export async function bytesOf(
  request: IncomingMessage,
  most: number,
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of request) {
    length += piece.length;
    if (length > most) return undefined;
    pieces.push(piece);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

function reply(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json", connection: "close" }).end(JSON.stringify(body));
}

/** The token of the environment, which must be long enough. */
export function requiredToken(variable: string): string {
  const token = process.env[variable] ?? "";
  return token.length < LEAST_TOKEN ? fail(`Set ${variable} to at least ${LEAST_TOKEN} characters`) : token;
}

/** Ends the process with the gateway that has started it, which holds its standard input. `stop` is called on SIGTERM. */
export function endWithGateway(stop: () => void, end: () => void): void {
  // A terminal sends its signals to the gateway, too, whose requests may still need this process.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", stop);
  process.stdin.on("end", end).on("error", end).resume();
}

export function say(text: string): void {
  process.stderr.write(`${shown(text)}\n`);
}

export function fail(message: string): never {
  say(message);
  process.exit(1);
}
