/**
 * The load generator: one keep-alive connection that speaks just enough HTTP/1.1. It is written by hand because `fetch`
 * spends as much time on a call as the servers that are measured here.
 */

export interface Answer {
  /** From the first byte sent to the first byte of the answer's body. */
  firstByteMs: number;
  totalMs: number;
  bytes: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const BUFFER_BYTES = 64 * 1024;
const LAST_CHUNK = "\r\n0\r\n\r\n";

/** The bytes of a `POST` with a JSON body, made once and sent often. */
export function postBytes(url: string, body: unknown, headers: Record<string, string> = {}): Uint8Array {
  const content = encoder.encode(JSON.stringify(body));
  return requestBytes(url, { "content-type": "application/json", ...headers }, content);
}

/** The same with a multipart form. */
export async function postFormBytes(url: string, form: FormData): Promise<Uint8Array> {
  const body = new Response(form);
  return requestBytes(url, { "content-type": body.headers.get("content-type")! }, await body.bytes());
}

function requestBytes(url: string, headers: Record<string, string>, content: Uint8Array): Uint8Array {
  const { host, pathname } = new URL(url);
  const lines = Object.entries({ host, ...headers, "content-length": content.length });
  const head = encoder.encode(
    `POST ${pathname} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`,
  );
  const bytes = new Uint8Array(head.length + content.length);
  bytes.set(head);
  bytes.set(content, head.length);
  return bytes;
}

export class Connection {
  readonly #socket: Deno.TcpConn;
  readonly #buffer = new Uint8Array(BUFFER_BYTES);
  #isOpen = true;

  private constructor(socket: Deno.TcpConn) {
    this.#socket = socket;
  }

  static async open(origin: string): Promise<Connection> {
    const { hostname, port } = new URL(origin);
    const socket = await Deno.connect({ hostname, port: Number(port) });
    socket.setNoDelay(true);
    return new Connection(socket);
  }

  /** Closes it, unless it is closed. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#socket.close();
  }

  /** Sends a request and reads its answer to the end; `onBytes` gets what comes as it comes. Throws unless the answer is a 200. */
  async ask(request: Uint8Array, onBytes: (bytes: Uint8Array) => void = () => {}): Promise<Answer> {
    const { started, head, body } = await this.#begin(request);
    const firstByteMs = performance.now() - started;
    onBytes(body);
    let bytes = body.length;
    const length = head.match(/\r\ncontent-length: (\d+)/i)?.[1];
    if (length !== undefined) {
      while (bytes < Number(length)) {
        const more = await this.#read();
        onBytes(more);
        bytes += more.length;
      }
    } else {
      let tail = decoder.decode(body.subarray(-LAST_CHUNK.length));
      while (!tail.endsWith(LAST_CHUNK)) {
        const more = await this.#read();
        onBytes(more);
        bytes += more.length;
        tail = (tail + decoder.decode(more.subarray(-LAST_CHUNK.length))).slice(-LAST_CHUNK.length);
      }
    }
    return { firstByteMs, totalMs: performance.now() - started, bytes };
  }

  /** Sends a request and returns at the first byte of the answer's body; the rest is left unread. */
  async begin(request: Uint8Array): Promise<void> {
    await this.#begin(request);
  }

  async #begin(request: Uint8Array): Promise<{ started: number; head: string; body: Uint8Array }> {
    const started = performance.now();
    for (let sent = 0; sent < request.length;) sent += await this.#socket.write(request.subarray(sent));
    let received = new Uint8Array(0);
    for (;;) {
      const more = await this.#read();
      const joined = new Uint8Array(received.length + more.length);
      joined.set(received);
      joined.set(more, received.length);
      received = joined;
      const text = decoder.decode(received);
      const end = text.indexOf("\r\n\r\n");
      if (end === -1 || end + 4 === text.length) continue;
      if (!text.startsWith("HTTP/1.1 200")) throw new Error(`Server answered: ${text.slice(0, 500)}`);
      return { started, head: text.slice(0, end), body: received.subarray(end + 4) };
    }
  }

  async #read(): Promise<Uint8Array> {
    const count = await this.#socket.read(this.#buffer);
    if (count === null) throw new Error("Server closed the connection");
    return this.#buffer.subarray(0, count);
  }
}
