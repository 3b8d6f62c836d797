/** A client of a WebSocket by hand (RFC 6455), so that a test decides which frames go out and when any are read. */
import type { JsonObject } from "../../src/canonical/json.ts";

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  opcode: number;
  payload: Uint8Array;
}

export interface FrameOptions {
  /** Whether it is the last one of its message. */
  isLast?: boolean;
  isMasked?: boolean;
  /** What its head says in place of its length. */
  claimedLength?: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A frame as a client sends it. The mask is zero, which changes nothing of the payload. */
export function frame(opcode: number, payload: string | Uint8Array, options: FrameOptions = {}): Uint8Array {
  const { isLast = true, isMasked = true, claimedLength } = options;
  const bytes = typeof payload === "string" ? encoder.encode(payload) : payload;
  const length = claimedLength ?? bytes.length;
  const sized = length < 126
    ? [length]
    : length < 65_536
    ? [126, ...bigEndian(length, 2)]
    : [127, ...bigEndian(length, 8)];
  const head = [(isLast ? 0x80 : 0) | opcode, sized[0]! | (isMasked ? 0x80 : 0), ...sized.slice(1)];
  if (isMasked) head.push(0, 0, 0, 0);
  const framed = new Uint8Array(head.length + bytes.length);
  framed.set(head);
  framed.set(bytes, head.length);
  return framed;
}

function bigEndian(value: number, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, at) => Math.floor(value / 256 ** (bytes - 1 - at)) % 256);
}

export class RawWebSocket {
  readonly #connection: Deno.TcpConn;
  readonly #buffer = new Uint8Array(65_536);
  #unread = new Uint8Array();

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  /** Throws with the head of the answer where the handshake is refused. */
  static async open(port: number, path?: string, key?: string): Promise<RawWebSocket> {
    const socket = await RawWebSocket.start(port, path, key);
    let head = "";
    while (!head.endsWith("\r\n\r\n")) head += decoder.decode(await socket.#take(1));
    if (!head.startsWith("HTTP/1.1 101 ")) {
      socket.close();
      throw new Error(head);
    }
    return socket;
  }

  /** Sends the handshake, and reads no answer to it. */
  static async start(port: number, path = "/oss/v1/responses", key?: string): Promise<RawWebSocket> {
    const socket = new RawWebSocket(await Deno.connect({ hostname: "127.0.0.1", port }));
    const lines = [
      `GET ${path} HTTP/1.1`,
      `host: 127.0.0.1:${port}`,
      "connection: Upgrade",
      "upgrade: websocket",
      "sec-websocket-version: 13",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
      ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
    ];
    await socket.write(encoder.encode(`${lines.join("\r\n")}\r\n\r\n`));
    return socket;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let sent = 0; sent < bytes.length;) sent += await this.#connection.write(bytes.subarray(sent));
  }

  /** Sends a message in one frame. */
  async send(message: object | string): Promise<void> {
    await this.write(frame(OPCODE.text, typeof message === "string" ? message : JSON.stringify(message)));
  }

  /** The next frame; nothing once the connection has ended, however it did. */
  async next(): Promise<Frame | undefined> {
    const head = await this.#take(2);
    if (!head) return undefined;
    const [first = 0, second = 0] = head;
    const extended = second === 126 ? await this.#take(2) : second === 127 ? await this.#take(8) : undefined;
    const length = extended ? extended.reduce((sum, byte) => sum * 256 + byte, 0) : second;
    const payload = await this.#take(length);
    return payload && { opcode: first & 0x0f, payload };
  }

  /** The events up to the end of a response, or to an error. Pings are answered. */
  async turn(): Promise<JsonObject[]> {
    const events: JsonObject[] = [];
    for (;;) {
      const one = await this.next();
      if (!one || one.opcode === OPCODE.close) throw new Error("The connection ended");
      if (one.opcode === OPCODE.ping) await this.write(frame(OPCODE.pong, one.payload));
      if (one.opcode !== OPCODE.text) continue;
      const event: JsonObject = JSON.parse(decoder.decode(one.payload));
      events.push(event);
      if (/^(error|response\.(completed|failed|incomplete))$/.test(String(event.type))) return events;
    }
  }

  /** Reads until the connection ends, and returns the frame that said so, if one did. */
  async readToEnd(): Promise<Frame | undefined> {
    let last: Frame | undefined;
    for (let one = await this.next(); one; one = await this.next()) last = one;
    return last?.opcode === OPCODE.close ? last : undefined;
  }

  close(): void {
    try {
      this.#connection.close();
    } catch { /* it is closed already */ }
  }

  async #take(length: number): Promise<Uint8Array | undefined> {
    const pieces: Uint8Array[] = [this.#unread];
    let has = this.#unread.length;
    while (has < length) {
      const read = await this.#connection.read(this.#buffer).catch(() => null);
      if (read === null) return undefined;
      pieces.push(this.#buffer.slice(0, read));
      has += read;
    }
    const all = pieces.length === 1 ? pieces[0]! : joined(pieces, has);
    this.#unread = all.subarray(length) as Uint8Array<ArrayBuffer>;
    return all.subarray(0, length);
  }
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
