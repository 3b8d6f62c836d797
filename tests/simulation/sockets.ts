/** WebSockets of a simulated world: two ends without a connection between them. */
import type { App } from "../../src/app.ts";
import type { Upgraded } from "../../src/platform/platform.ts";
import { bodyFor, type Received, requestAs } from "./client.ts";
import type { SimulatedTime } from "./clock.ts";

/** How long a message takes, in milliseconds. */
const LATENCY_MS = 1;
/** How many lanes of a connection clients use. */
const LANES = 3;
const ENDS = ["response.completed", "response.incomplete", "response.failed", "error"];

/** The gateway's end. */
class GatewayEnd {
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  onerror: (() => void) | null = null;
  onopen: (() => void) | null = null;
  readyState: number = WebSocket.CONNECTING;
  readonly bufferedAmount = 0;
  readonly #openings: (() => void)[] = [];
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  addEventListener(_type: "open", run: () => void): void {
    this.#openings.push(run);
  }

  begin(): void {
    this.readyState = WebSocket.OPEN;
    for (const run of this.#openings) run();
    this.onopen?.();
  }

  send(text: string): void {
    this.#connection.later(() => this.#connection.take(text));
  }

  close(): void {
    if (this.readyState >= WebSocket.CLOSING) return;
    this.readyState = WebSocket.CLOSING;
    this.#connection.later(() => this.#connection.close());
  }

  /** The other end has closed, or is gone. */
  end(): void {
    if (this.readyState === WebSocket.CLOSED) return;
    this.readyState = WebSocket.CLOSED;
    this.onclose?.();
  }
}

interface Asked {
  received: Received;
  over(): void;
}

/** The client's end. */
class Connection {
  readonly gatewayEnd = new GatewayEnd(this);
  isOpen = true;
  /** What is asked on each lane, in order. */
  readonly #lanes = new Map<string, Asked[]>();
  readonly #time: SimulatedTime;

  constructor(time: SimulatedTime) {
    this.#time = time;
  }

  later(run: () => void): void {
    this.#time.after(run, LATENCY_MS);
  }

  /** Resolves once the answer is over, or the connection is. */
  async ask(received: Received): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const lane = `lane${received.ask.id % LANES}`;
    const { stream: _, ...body } = bodyFor(received);
    this.#lanes.set(lane, [...this.#lanes.get(lane) ?? [], { received, over: resolve }]);
    const data = JSON.stringify({ type: "response.create", stream_id: lane, ...body });
    this.later(() => this.gatewayEnd.onmessage?.({ data }));
    await promise;
  }

  take(text: string): void {
    const { stream_id, ...event } = JSON.parse(text);
    const asked = this.#lanes.get(stream_id)?.[0];
    if (!this.isOpen || !asked) return;
    read(event, asked.received);
    if (!ENDS.includes(event.type)) return;
    this.#lanes.get(stream_id)!.shift();
    asked.over();
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    for (const lane of this.#lanes.values()) for (const { over } of lane) over();
    this.later(() => this.gatewayEnd.end());
  }
}

// deno-lint-ignore no-explicit-any -- events of the wire
function read({ type, status, ...event }: any, received: Received): void {
  const { headers: _, ...error } = event.error ?? {};
  const isRefused = type === "error" && received.text === "";
  received.headers = new Headers({ "content-type": "text/event-stream" });
  received.status ??= isRefused ? status : 200;
  if (isRefused) received.text = JSON.stringify({ error });
  else received.text += `event: ${type}\ndata: ${JSON.stringify({ type, ...event })}\n\n`;
  if (!isRefused && ENDS.includes(type)) received.text += "data: [DONE]\n\n";
}

/** A process that clients connect to. */
interface Place {
  app: App;
  number: number;
}

interface Known {
  name: string;
  /** The number of the process. */
  owner: number;
  connection: Connection;
  /** How the handshake ended. */
  answer: Promise<{ status: number; headers: Headers; text: string }>;
}

export class Sockets {
  readonly #time: SimulatedTime;
  readonly #connections: Known[] = [];

  constructor(time: SimulatedTime) {
    this.#time = time;
  }

  /** Takes the place of the platform's own: a number in the handshake says which connection it is. */
  readonly upgrade = ({ headers }: Request): Upgraded => {
    const { connection } = this.#connections[Number(headers.get("x-connection"))]!;
    const { gatewayEnd } = connection;
    connection.later(() => gatewayEnd.begin());
    return {
      socket: gatewayEnd as unknown as WebSocket,
      response: new Response(null, { status: 101 }),
      drop: () => gatewayEnd.end(),
    };
  };

  /** Asks on a connection that requests of the key share, if the client stays. A message that a closing gateway never read is sent again. */
  async ask(received: Received, place: () => Place): Promise<void> {
    const { ask } = received;
    const name = ask.leavesAfter === undefined ? `${ask.key}${ask.socket}` : `of ${ask.id}`;
    while (!received.isOver && !received.isLost) {
      const connection = await this.#connectionTo(place(), name, received);
      if (!connection || received.isOver) return;
      await connection.ask(received);
      if (received.text !== "") return;
    }
  }

  async #connectionTo({ app, number }: Place, name: string, received: Received): Promise<Connection | undefined> {
    const known = this.#connections.find((one) =>
      one.name === name && one.owner === number && one.connection.isOpen &&
      one.connection.gatewayEnd.readyState <= WebSocket.OPEN
    );
    const { connection, answer } = known ?? this.#open(app, { name, owner: number, key: received.ask.key });
    const { status, headers, text } = await answer;
    if (status === 101) return connection;
    connection.isOpen = false;
    Object.assign(received, { status, headers, text });
    return undefined;
  }

  #open(app: App, { name, owner, key }: { name: string; owner: number; key: string }): Known {
    const connection = new Connection(this.#time);
    const request = requestAs(key, "/oss/v1/responses", {
      headers: { upgrade: "websocket", "x-connection": `${this.#connections.length}` },
    });
    const known: Known = { name, owner, connection, answer: Promise.resolve(undefined as never) };
    this.#connections.push(known);
    known.answer = app.fetch(request).then(async (response) => ({
      status: response.status,
      headers: response.headers,
      text: response.status === 101 ? "" : await response.text(),
    }));
    return known;
  }

  /** The client of this request leaves. */
  leave({ ask }: Received): void {
    for (const { name, connection } of this.#connections) if (name === `of ${ask.id}`) connection.close();
  }

  /** Closes all connections to a process, or all. */
  close(owner?: number): void {
    for (const one of this.#connections) if (owner === undefined || one.owner === owner) one.connection.close();
  }
}
