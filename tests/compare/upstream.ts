/**
 * The services behind one gateway, which answer as a script says, byte for byte, and record each byte that they are sent. It speaks
 * HTTP itself, so that it can break off wherever the script wants.
 */
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { Random } from "./random.ts";

/** How an answer is sent, and how it ends. */
export interface Play {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  /** `end`: as it should. `cut`: the connection closes within the body. `silence`: nothing more comes. */
  ending: "end" | "cut" | "reset" | "silence";
  /** Only so many bytes are sent before the ending, those of the head among them. */
  only?: number;
}

/** A request as an upstream got it. */
export interface Call {
  /** The request's line and its headers, as they came. */
  head: string;
  body: Buffer;
}

/** How the calls of one case are answered. */
export type Script = (call: Call, number: number) => Play;

interface Current {
  script: Script;
  random: Random;
  calls: Call[];
  open: Set<Promise<void>>;
}

const CRLF = "\r\n";
const MOST_PIECES = 6;

export class ScriptedUpstream {
  readonly #slots = new Map<string, Current>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #port = 0;

  constructor() {
    this.#server = createServer({ noDelay: true }, (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => {}); // whoever called has gone
      const gone = new Promise<void>((resolve) => socket.on("close", () => resolve()));
      void this.#serve(socket, gone);
    });
  }

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this.#port = (this.#server.address() as { port: number }).port;
  }

  get port(): number {
    return this.#port;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** From now on, calls to the paths below `/<slot>/` are answered by `script`. */
  begin(slot: string, script: Script, random: Random): void {
    this.#slots.set(slot, { script, random, calls: [], open: new Set() });
  }

  /** Resolves to the calls since `begin`, once all of them are answered or given up. */
  async end(slot: string): Promise<Call[]> {
    const { calls, open } = this.#slots.get(slot)!;
    while (open.size > 0) await Promise.race(open);
    return calls;
  }

  async #serve(socket: Socket, gone: Promise<void>): Promise<void> {
    const reader = new RequestReader(socket);
    while (true) {
      const call = await reader.next();
      if (!call) return void socket.destroy();
      const current = this.#slots.get(call.head.match(/^\S+ \/([^/ ?]+)/)?.[1] ?? "");
      if (!current) return void socket.destroy();
      const play = current.script(call, current.calls.push(call) - 1);
      const sending = send(socket, gone, play, current.random);
      current.open.add(sending);
      sending.finally(() => current.open.delete(sending));
      await sending;
      if (play.ending !== "end" || play.only !== undefined) return;
    }
  }
}

/** Reads the requests of a connection, one after the other. */
class RequestReader {
  readonly #pieces: AsyncIterator<Buffer>;
  #left = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#pieces = socket.iterator({ destroyOnReturn: false });
  }

  /** Nothing where the connection has ended. */
  async next(): Promise<Call | undefined> {
    const head = await this.#until(CRLF + CRLF);
    if (!head) return undefined;
    const text = head.toString("latin1");
    const length = Number(text.match(/^content-length: *(\d+)/im)?.[1] ?? 0);
    const body = /^transfer-encoding: *chunked/im.test(text) ? await this.#chunks() : await this.#take(length);
    return body && { head: text.trimEnd(), body };
  }

  async #chunks(): Promise<Buffer | undefined> {
    const chunks: Buffer[] = [];
    while (true) {
      const size = parseInt((await this.#until(CRLF))?.toString("latin1") ?? "0", 16);
      const chunk = await this.#take(size + 2);
      if (!chunk) return undefined;
      if (size === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, size));
    }
  }

  async #until(mark: string): Promise<Buffer | undefined> {
    while (!this.#left.includes(mark)) if (!await this.#more()) return undefined;
    return this.#take(this.#left.indexOf(mark) + mark.length);
  }

  async #take(length: number): Promise<Buffer | undefined> {
    while (this.#left.length < length) if (!await this.#more()) return undefined;
    const taken = this.#left.subarray(0, length);
    this.#left = this.#left.subarray(length);
    return taken;
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#pieces.next().catch(() => ({ value: undefined, done: true }));
    if (value) this.#left = Buffer.concat([this.#left, value]);
    return !done;
  }
}

/** The bytes of an answer: chunked where it is a stream, else with their length. */
function bytesOf({ status, headers, body, ending }: Play): Buffer {
  const isChunked = headers["content-type"]?.startsWith("text/event-stream") || ending !== "end";
  const framing = isChunked ? "transfer-encoding: chunked" : `content-length: ${body.length}`;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}${CRLF}`).join("");
  const head = `HTTP/1.1 ${status} Scripted${CRLF}${lines}${framing}${CRLF}${CRLF}`;
  if (!isChunked) return Buffer.concat([Buffer.from(head, "latin1"), body]);
  const chunk = body.length > 0 ? [Buffer.from(body.length.toString(16) + CRLF), body, Buffer.from(CRLF)] : [];
  return Buffer.concat([
    Buffer.from(head, "latin1"),
    ...chunk,
    ...(ending === "end" ? [Buffer.from(`0${CRLF}${CRLF}`)] : []),
  ]);
}

/** Resolves once it is sent, or the connection has gone. */
async function send(socket: Socket, gone: Promise<void>, play: Play, random: Random): Promise<void> {
  const bytes = bytesOf(play).subarray(0, play.only);
  const cuts = Array.from({ length: random.below(MOST_PIECES) }, () => random.below(bytes.length + 1));
  const ends = [0, ...cuts.sort((one, other) => one - other), bytes.length];
  for (const [index, end] of ends.entries()) {
    const piece = bytes.subarray(ends[index - 1] ?? 0, end);
    if (piece.length === 0 || socket.destroyed) continue;
    await Promise.race([gone, new Promise<void>((resolve) => socket.write(piece, () => resolve()))]);
    await new Promise(setImmediate);
  }
  if (play.ending === "reset") socket.resetAndDestroy();
  else if (play.ending === "cut" || play.ending === "end" && play.only !== undefined) {
    socket.end(() => socket.destroy());
  }
  if (play.ending !== "end") await gone;
}
