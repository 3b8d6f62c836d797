/** Both ends of HTTP/1.1 by hand, so that a test decides when bytes go out and sees when the other side is gone. */

const encoder = new TextEncoder();

/** One request that reached the upstream, to be answered by the test. */
export interface Asked {
  /** Which connection it came on, counted from 0. */
  connection: number;
  method: string;
  path: string;
  headers: Headers;
  body: string;
  /** Fails once the gateway is gone. */
  write(text: string): Promise<void>;
  /** Closes the connection, whatever was promised on it. */
  cut(): void;
  /** When the gateway closed the connection, as `performance.now()` tells. */
  left: Promise<number>;
}

/** A server of which each answer is written by the test. */
export class TcpUpstream {
  /** In the order of arrival. */
  readonly asked: Asked[] = [];
  connections = 0;
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.TcpConn>();
  readonly #tasks: Promise<void>[] = [];
  #arrived = Promise.withResolvers<void>();
  #taken = 0;

  constructor() {
    this.#tasks.push(this.#accept());
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}/v1`;
  }

  /** The next request that no test has taken yet. */
  async next(): Promise<Asked> {
    while (this.asked.length === this.#taken) await this.#arrived.promise;
    return this.asked[this.#taken++]!;
  }

  async stop(): Promise<void> {
    close(this.#listener);
    for (const connection of this.#open) close(connection);
    await Promise.all(this.#tasks);
  }

  async #accept(): Promise<void> {
    try {
      for await (const connection of this.#listener) {
        // As most servers do: otherwise a short write may wait 40 ms for an acknowledgement.
        connection.setNoDelay(true);
        this.#open.add(connection);
        this.#tasks.push(this.#serve(connection, this.connections++));
      }
    } catch { /* the listener is closed */ }
  }

  async #serve(connection: Deno.TcpConn, number: number): Promise<void> {
    const left = Promise.withResolvers<number>();
    const requests = new HttpReader(connection);
    for (let request = await requests.next(); request; request = await requests.next()) {
      this.asked.push({
        connection: number,
        ...request,
        write: (text) => writeAll(connection, text),
        cut: () => close(connection),
        left: left.promise,
      });
      this.#arrived.resolve();
      this.#arrived = Promise.withResolvers();
    }
    left.resolve(performance.now());
    this.#open.delete(connection);
    close(connection);
  }
}

/** A client that sends what the test says, and reads only when it is told to. */
export class TcpClient {
  readonly #connection: Deno.TcpConn;
  readonly #decoder = new TextDecoder();
  readonly #buffer = new Uint8Array(65_536);
  /** All that was read so far: the head, and the body with its chunk sizes. */
  text = "";

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  static async connect(port: number): Promise<TcpClient> {
    return new TcpClient(await Deno.connect({ hostname: "127.0.0.1", port }));
  }

  send(text: string): Promise<void> {
    return writeAll(this.#connection, text);
  }

  /** A whole POST of JSON. */
  async post(path: string, body: unknown): Promise<void> {
    const json = JSON.stringify(body);
    await this.send(`${postHead(path, encoder.encode(json).length)}${json}`);
  }

  /** Reads until `part` has come so many times; fails where the connection ends before. */
  async readUntil(part: string, times = 1): Promise<string> {
    while (this.text.split(part).length - 1 < times) {
      const text = await this.#read();
      if (text === undefined) throw new Error(`The connection ended before "${part}" came: ${this.text}`);
      this.text += text;
    }
    return this.text;
  }

  /** Reads until `part` has come, and counts a character on the way; keeps nothing. */
  async count(character: string, part: string): Promise<number> {
    let count = 0;
    for (let tail = ""; !tail.includes(part);) {
      const text = await this.#read();
      if (text === undefined) throw new Error(`The connection ended before "${part}" came`);
      for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) count++;
      tail = (tail + text).slice(-1_000);
    }
    return count;
  }

  /** The last of what comes until the connection ends, however it ends. */
  async readToEnd(): Promise<string> {
    let tail = "";
    for (;;) {
      const text = await this.#read().catch(() => undefined);
      if (text === undefined) return tail;
      tail = (tail + text).slice(-1_000);
    }
  }

  close(): void {
    close(this.#connection);
  }

  async #read(): Promise<string | undefined> {
    const length = await this.#connection.read(this.#buffer);
    return length === null ? undefined : this.#decoder.decode(this.#buffer.subarray(0, length), { stream: true });
  }
}

/** The head of a POST with a JSON body of `length` bytes. */
export function postHead(path: string, length: number): string {
  return `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
}

/** The head of a stream in chunks. */
export const STREAM_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
export const LAST_CHUNK = "0\r\n\r\n";

/** One piece of a body in chunks. */
export function chunk(text: string): string {
  return `${encoder.encode(text).length.toString(16)}\r\n${text}\r\n`;
}

/** A whole answer in JSON. */
export function jsonAnswer(value: unknown, status = "200 OK"): string {
  const json = JSON.stringify(value);
  const length = encoder.encode(json).length;
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${json}`;
}

/** Reads requests from a connection, one after the other; `undefined` where it ends, however it ends. */
class HttpReader {
  readonly #connection: Deno.TcpConn;
  readonly #decoder = new TextDecoder("latin1");
  #buffered = "";

  constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  async next(): Promise<Pick<Asked, "method" | "path" | "headers" | "body"> | undefined> {
    const head = await this.#take((text) => {
      const end = text.indexOf("\r\n\r\n");
      return end < 0 ? undefined : end + 4;
    });
    if (head === undefined) return undefined;
    const [first = "", ...lines] = head.trimEnd().split("\r\n");
    const [method = "", path = ""] = first.split(" ");
    const headers = new Headers(lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }));
    const length = Number(headers.get("content-length") ?? 0);
    const body = await this.#take((text) => text.length < length ? undefined : length);
    return body === undefined ? undefined : { method, path, headers, body };
  }

  /** As much as `measure` wants of what has come, once it wants something. */
  async #take(measure: (text: string) => number | undefined): Promise<string | undefined> {
    const buffer = new Uint8Array(65_536);
    for (;;) {
      const end = measure(this.#buffered);
      if (end !== undefined) {
        const taken = this.#buffered.slice(0, end);
        this.#buffered = this.#buffered.slice(end);
        return taken;
      }
      const length = await this.#connection.read(buffer).catch(() => null);
      if (length === null) return undefined;
      this.#buffered += this.#decoder.decode(buffer.subarray(0, length));
    }
  }
}

async function writeAll(connection: Deno.TcpConn, text: string): Promise<void> {
  const bytes = encoder.encode(text);
  for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
}

function close(socket: Deno.TcpConn | Deno.TcpListener): void {
  try {
    socket.close();
  } catch { /* it is closed already */ }
}
