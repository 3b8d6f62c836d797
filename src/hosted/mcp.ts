/** A client for a server of the Model Context Protocol over HTTP: it lists the tools and calls them. */
import type { HostedResult, RemoteTool } from "../canonical/hosted.ts";
import { isJsonObject, type JsonObject, parseJson } from "../canonical/json.ts";
import { GatewayError } from "../errors.ts";
import type { ByteSource, TransportResponse } from "../platform/transport.ts";
import { FrameSource } from "../upstream/frames.ts";
import { type Callee, readReply, send } from "../upstream/send.ts";
import { abortAfter } from "../util/timeout.ts";
import { isSecretHeader, secretsInUrl } from "../util/urls_and_headers.ts";
import {
  contentIn,
  type Era,
  headersOf,
  hiddenIn,
  INITIALIZE,
  INITIALIZED,
  isModernFault,
  replyTo,
  requestOf,
  resultIn,
  toolsIn,
  VERSIONS,
} from "./mcp_messages.ts";

export interface RemoteServerOptions {
  /** The base URL is the origin of the server's address. The headers include those that only this server may get. */
  service: Callee;
  /** The part of the server's address after the origin. */
  path: string;
  /** Returns a function that hides these secrets in a text. */
  maskerFor(secrets: readonly string[]): (text: string) => string;
  /** Milliseconds by a monotonic clock. */
  now(): number;
}

const ANSWER_BYTES = 4 * 2 ** 20;
/** The most text of one result, in characters. */
const RESULT_CHARACTERS = 100_000;
const MOST_PAGES = 20;
const MOST_TOOLS = 500;
/** The most characters of all tool definitions of a server: each request to the model repeats them. */
const LIST_CHARACTERS = 500_000;
/** How long a list of tools is valid if the server does not say so, and at most, in milliseconds. */
const LIST_MS = 5 * 60_000;
const MOST_LIST_MS = 60 * 60_000;
/** How long the end of a session may take, in milliseconds: a process that ends waits for it. */
const END_MS = 2_000;

/** A connection to a server, and what its answers have told about it. */
export class RemoteServer {
  readonly #options: RemoteServerOptions;
  readonly #hide: (text: string) => string;
  #era: Era = "modern";
  #version = VERSIONS.modern;
  #session: string | undefined;
  #beginning: Promise<void> | undefined;
  #count = 0;
  #listed: { tools: RemoteTool[]; until: number } | undefined;

  constructor(options: RemoteServerOptions) {
    this.#options = options;
    this.#hide = options.maskerFor(credentialsOf(options.service, options.path));
  }

  /** Throws if the server does not answer as the protocol requires. */
  async list(signal: AbortSignal): Promise<readonly RemoteTool[]> {
    const now = this.#options.now();
    if (this.#listed && this.#listed.until > now) return this.#listed.tools;
    const tools: RemoteTool[] = [];
    let holdsMs = LIST_MS;
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES && tools.length < MOST_TOOLS; page++) {
      const found = toolsIn(await this.#ask("tools/list", cursor === undefined ? {} : { cursor }, undefined, signal));
      tools.push(...found.tools);
      holdsMs = Math.min(found.ttlMs ?? holdsMs, MOST_LIST_MS);
      cursor = found.cursor;
      if (cursor === undefined) break;
    }
    this.#listed = { tools: fitting(tools.slice(0, MOST_TOOLS)), until: now + holdsMs };
    return this.#listed.tools;
  }

  /** Throws if the server does not answer as the protocol requires. A failure of the tool itself is a result. */
  async call(name: string, input: string, signal: AbortSignal): Promise<HostedResult> {
    const fields = parseJson(input);
    if (!isJsonObject(fields)) return { kind: "error", code: "invalid_input" };
    const result = await this.#ask("tools/call", { name, arguments: fields }, name, signal);
    return contentIn(result, RESULT_CHARACTERS);
  }

  /** Ends the session at the server, if there is one. Other calls must not run meanwhile. */
  async end(): Promise<void> {
    await this.#beginning?.catch(() => {});
    await this.#startOver();
  }

  async #ask(method: string, params: JsonObject, name: string | undefined, signal: AbortSignal): Promise<JsonObject> {
    for (let isAgain = false;; isAgain = true) {
      await this.#beginning?.catch(() => {});
      const id = ++this.#count;
      const [era, session] = [this.#era, this.#session];
      const response = await this.#post(method, requestOf(id, method, params, era), name, signal);
      if (response.ok) {
        return hiddenIn(resultIn(await this.#answerOf(response, id, signal)), this.#hide) as JsonObject;
      }
      const { status, body } = await readReply(response, ANSWER_BYTES);
      if (isAgain || !mustInitialize(era, session, status, body)) {
        throw new GatewayError("upstream_error", `The server answered with status ${status}`);
      }
      if (this.#beginning || era === this.#era && session === this.#session) await this.#begin(signal);
    }
  }

  /** Among concurrent calls, one begins the session for all. If its caller leaves, another call begins the session. */
  async #begin(signal: AbortSignal): Promise<void> {
    while (this.#beginning) {
      const isDone = await this.#beginning.then(() => true, () => false);
      if (isDone) return;
      signal.throwIfAborted();
    }
    this.#beginning = this.#initialize(signal).finally(() => this.#beginning = undefined);
    await this.#beginning;
  }

  async #initialize(signal: AbortSignal): Promise<void> {
    try {
      await this.#agree(signal);
    } catch (thrown) {
      await this.#startOver();
      throw thrown;
    }
  }

  async #agree(signal: AbortSignal): Promise<void> {
    this.#era = "legacy";
    this.#session = undefined;
    const id = ++this.#count;
    const request = requestOf(id, "initialize", INITIALIZE, "legacy");
    const response = await this.#post("initialize", request, undefined, signal);
    if (!response.ok) {
      await response.body?.cancel();
      throw new GatewayError("upstream_error", `The server answered with status ${response.status}`);
    }
    const { protocolVersion } = resultIn(await this.#answerOf(response, id, signal));
    this.#version = typeof protocolVersion === "string" ? protocolVersion : VERSIONS.legacy;
    this.#session = response.headers.get("mcp-session-id") ?? undefined;
    await (await this.#post("notifications/initialized", INITIALIZED, undefined, signal)).body?.cancel();
  }

  /**
   * Ends the session, and forgets what was agreed: a server that fails may only be down for a while, so the next call begins again with
   * the modern era. A server that does not hear of the end forgets the session at some time.
   */
  async #startOver(): Promise<void> {
    const [session, version] = [this.#session, this.#version];
    [this.#era, this.#version, this.#session] = ["modern", VERSIONS.modern, undefined];
    if (session === undefined) return;
    const { service, path } = this.#options;
    const headers = { "mcp-session-id": session, "mcp-protocol-version": version };
    const end = (signal: AbortSignal) => send({ path, method: "DELETE", headers }, service, signal);
    const late = () => new GatewayError("upstream_timeout", `The session did not end within ${END_MS} ms`);
    await abortAfter(
      END_MS,
      new AbortController().signal,
      async (signal) => await (await end(signal)).body?.cancel(),
      late,
    )
      .catch(() => {});
  }

  async #post(
    method: string,
    body: JsonObject,
    name: string | undefined,
    signal: AbortSignal,
  ): Promise<TransportResponse> {
    const { service, path } = this.#options;
    const headers = {
      ...headersOf(this.#era, method, name, this.#version),
      ...(this.#session !== undefined && { "mcp-session-id": this.#session }),
    };
    return await send({ path, method: "POST", headers, body }, service, signal);
  }

  /** The response in the body, which is a single message or a stream that ends with it. */
  async #answerOf(response: TransportResponse, id: number, signal: AbortSignal): Promise<JsonObject> {
    const isStream = response.headers.get("content-type")?.includes("event-stream");
    if (isStream && response.body) return await this.#readStream(response.body, id, signal);
    const { body } = await readReply(response, ANSWER_BYTES);
    if (!isJsonObject(body)) throw new GatewayError("upstream_error", "The server's answer is not a message");
    if (body.id !== id) throw new GatewayError("upstream_error", "The server's answer is to another request");
    return body;
  }

  async #readStream(body: ByteSource, id: number, signal: AbortSignal): Promise<JsonObject> {
    const frames = new FrameSource(body, "sse");
    try {
      for (;;) {
        const batch = await frames.next();
        if (!batch) throw new GatewayError("upstream_error", "The server's stream ended before its answer");
        for (const { data } of batch) {
          const message = data === undefined ? undefined : parseJson(data);
          if (!isJsonObject(message)) continue;
          if (message.id === id && message.method === undefined) return message;
          await this.#reply(message, signal);
        }
      }
    } finally {
      await frames.cancel();
    }
  }

  async #reply(message: JsonObject, signal: AbortSignal): Promise<void> {
    const reply = this.#era === "legacy" ? replyTo(message) : undefined;
    if (reply) await (await this.#post("reply", reply, undefined, signal)).body?.cancel();
  }
}

/** Leaves out the tools that would make the list too long. */
function fitting(tools: readonly RemoteTool[]): RemoteTool[] {
  let left = LIST_CHARACTERS;
  return tools.filter((tool) => {
    const { length } = JSON.stringify(tool);
    const isFitting = length <= left;
    if (isFitting) left -= length;
    return isFitting;
  });
}

/** Whether the server turns out to be of the legacy era, or has forgotten the session. */
function mustInitialize(era: Era, session: string | undefined, status: number, body: unknown): boolean {
  // Many servers answer 400 although the specification requires 404.
  if (era === "legacy") return (status === 404 || status === 400) && session !== undefined;
  return status >= 400 && status < 500 && !OTHER_REFUSALS.has(status) && !isModernFault(body);
}

/** Refusals that say nothing about the protocol. */
const OTHER_REFUSALS: ReadonlySet<number> = new Set([401, 402, 403, 407, 408, 413, 429]);

/** The credentials that are sent with each request to a server. */
function credentialsOf({ baseUrl, secret, headers }: Callee, path: string): string[] {
  return [
    ...secret === undefined ? [] : [secret, ...coresOf(secret)],
    ...Object.entries(headers).flatMap(([name, value]) => isSecretHeader(name) ? coresOf(value) : []),
    ...secretsInUrl(`${baseUrl}/${path}`),
  ];
}

/** The parts of a credential that a server may repeat alone: each word, the value of a cookie, the password of "Basic". */
function coresOf(value: string): string[] {
  return value.split(/[\s;,]+/).flatMap((word) => {
    const [, core] = /^[^=]+=(.*[^=].*)$/.exec(word) ?? [];
    const [, password] = /^[^:]*:(.*)$/s.exec(decoded(word)) ?? [];
    return [word, core ?? [], password ?? []].flat();
  });
}

function decoded(word: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(word));
  } catch {
    return "";
  }
}
