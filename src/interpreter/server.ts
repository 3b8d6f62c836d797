/** The interpreter's HTTP server: `POST /run` and `POST /find` with a token, and `GET /healthz`. */
import { Buffer } from "node:buffer";
import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { asObject, asObjects, asText, parseJson } from "../canonical/json.ts";
import { digestOf } from "../util/digest.ts";
import { plainPath } from "./container.ts";
import type { Containers } from "./containers.ts";
import type { RunRequest } from "./protocol.ts";

export interface InterpreterServerOptions {
  /** The token that every request must have. */
  token: string;
  containers: Pick<Containers, "run" | "expiryOf" | "count">;
  /** The largest request, in bytes. */
  requestBytes: number;
  /** Takes messages about failures. */
  say(text: string): void;
}

const HEAD_MS = 10_000;
/** How long a request may take to arrive, in milliseconds. */
const BODY_MS = 60_000;

export function createInterpreterServer(options: InterpreterServerOptions): Server {
  return createServer({ headersTimeout: HEAD_MS, requestTimeout: BODY_MS }, (request, response) => {
    answer(request, response, options).catch((thrown) => {
      options.say(`A request failed: ${thrown}`);
      reply(response, 500, { error: "unavailable" });
    });
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, options: InterpreterServerOptions) {
  const { method, url, headers } = request;
  const { containers } = options;
  if (url === "/healthz") return reply(response, 200, { status: "ok", containers: containers.count });
  if (url !== "/run" && url !== "/find") return reply(response, 404, { error: "not_found" });
  if (method !== "POST") return reply(response, 405, { error: "method_not_allowed" });
  const given = Buffer.from(digestOf(headers.authorization ?? ""));
  if (!timingSafeEqual(given, Buffer.from(digestOf(`Bearer ${options.token}`)))) {
    return reply(response, 401, { error: "unauthorized" });
  }
  const body = await textOf(request, options.requestBytes);
  const asked = body === undefined ? undefined : askedIn(parseJson(body));
  if (!asked) return reply(response, 400, { error: "invalid_input" });
  if (url === "/find") {
    const expires = containers.expiryOf(asked.container, asked.owner);
    return reply(response, 200, expires === undefined ? { error: "expired" } : { expires });
  }
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  try {
    reply(response, 200, await containers.run(asked, gone.signal));
  } catch (thrown) {
    if (!gone.signal.aborted) throw thrown;
  }
}

function askedIn(body: unknown): RunRequest | undefined {
  const { container, owner, isNew, isShared, code, files } = asObject(body);
  if (typeof container !== "string" || container === "" || typeof owner !== "string") return undefined;
  const given = asObjects(files).map(({ name, data }) => ({ name: asText(name), data: asText(data) }));
  if (given.some(({ name }) => plainPath(name) === undefined || name.includes("/"))) return undefined;
  return { container, owner, isNew: isNew === true, isShared: isShared === true, code: asText(code), files: given };
}

/** `undefined` if there are more bytes than `most`. */
async function textOf(request: IncomingMessage, most: number): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of request) {
    length += piece.length;
    if (length > most) return undefined;
    pieces.push(piece);
  }
  return new TextDecoder().decode(Buffer.concat(pieces));
}

function reply(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json", connection: "close" }).end(JSON.stringify(body));
}
