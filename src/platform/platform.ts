import type { AttributeValue, MeterProvider, TracerProvider } from "@opentelemetry/api";

/**
 * What a runtime gives the gateway beside web standards and the `node:` modules that Deno and Node both have. All else of `src/`
 * is the same on every runtime.
 */
export interface Platform {
  /** The operating system: `linux`, `darwin`, `windows`. */
  readonly os: string;
  /** Whether there is a database for what outlives the process. */
  readonly hasDatabase: boolean;
  /** The arguments of the command line, without the program. */
  readonly args: readonly string[];
  /** The program's file, where it was made into one that needs no runtime beside it. */
  readonly executable?: string;
  /** How a user starts the gateway who has not installed it: the beginning of a command line. */
  readonly command: string;
  /** An environment variable's value. Throws where the process may not read it. */
  env(name: string): string | undefined;
  /** Calls an upstream. No time limit of the runtime's own ends it before those of the configuration do. */
  readonly fetch: typeof globalThis.fetch;
  /** Writes some of the bytes, and resolves to how many. Waits for a slow reader without holding anything else up. */
  write(to: "stdout" | "stderr", bytes: Uint8Array): Promise<number>;
  /** Whether one of the standard streams is at a terminal that is still open. */
  isTerminal(stream: "stdin" | "stdout" | "stderr"): boolean;
  /** Whether the process may do this. Where the runtime has no permissions, it may do everything. */
  isGranted(permission: Permission): boolean;
  /** Calls `run` at each such signal. Returns what ends that. */
  onSignal(signal: Signal, run: () => void): () => void;
  /**
   * Calls `run` with what was thrown and nobody caught, and with what a promise was rejected with that nobody handles; otherwise
   * either ends the process. Returns what ends that.
   */
  onUncaught(run: (thrown: unknown) => void): () => void;
  /** The text of a file. Throws with the `code` `ENOENT` where there is none. */
  readText(path: string): string;
  /** When a file was last written, in milliseconds since the epoch. Throws where there is none. */
  modifiedAt(path: string): number;
  /** The bytes of memory that the process takes. */
  memory(): number;
  /** Those of them that the engine does not manage, such as what has arrived on connections and is not read yet. */
  unmanagedMemory(): number;
  /** The process that started this one, or what took its place once it had ended. */
  parentId(): number;
  /** Serves until it is shut down. Throws where the port cannot be taken; `code` is `EADDRINUSE` where another has it. */
  serve(options: ServeOptions): Promise<Serving>;
  /**
   * Makes a WebSocket of a request that asks for one, which is open once the response is returned. Throws where the request did not
   * come over a connection of this platform's. Absent where the runtime serves none.
   */
  upgrade?(request: Request): Upgraded;
  /** OpenTelemetry, where the process was started with it. */
  readonly telemetry?: Telemetry;
  /** Calls `run` in so many milliseconds. A process that has nothing else to do waits for it. It cannot be cancelled. */
  after(ms: number, run: () => void): void;
  /** Ends the process. */
  exit(code: number): never;
}

/** What a runtime brings of OpenTelemetry. What is absent is asked of the API's own registry. */
export interface Telemetry {
  readonly tracerProvider?: TracerProvider;
  readonly meterProvider?: MeterProvider;
  /** Whether the runtime, or what was loaded into it, makes spans of its own: they hold whole URLs. */
  readonly isAutomatic: boolean;
  /** A whole number, as the runtime's exporter takes it. */
  integer(value: number): AttributeValue;
}

export interface Upgraded {
  socket: WebSocket;
  response: Response;
  /** Ends the connection without waiting for the client, and frees what has arrived of a message that is not complete. */
  drop(): void;
}

export type Signal = "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGBREAK";

/** One thing that a process may do: reach a host, read a variable, read or write a path. */
export type Permission =
  | { name: "net"; host: string }
  | { name: "env"; variable: string }
  | { name: "read" | "write"; path: string };

/** Who is at the other end of a connection. */
export interface Peer {
  /** `tcp`, or `unix` for a socket that only this machine can reach. */
  readonly transport: string;
  /** The address, for `tcp`. */
  readonly hostname?: string;
  readonly port?: number;
  /** The socket's file, for `unix`. */
  readonly path?: string;
}

export interface ServeOptions {
  hostname: string;
  /** 0 for a free one. */
  port: number;
  /** Where other processes take connections at the same port: whether this one is the first of them. */
  shared?: { isFirst: boolean };
  /** Answers a request. Its signal is aborted once the client has gone. */
  handler(request: Request, info: { remoteAddr: Peer }): Promise<Response>;
  /** Called once connections are taken, with where that is. */
  onListen(address: { hostname: string; port: number }): void;
  /** Answers in place of a handler that threw. */
  onError(thrown: unknown): Response;
  /** Whether few descriptors are left, though no more than so many requests run: connections that are idle have them. */
  areWasted(running: number): boolean;
  /** Called before a new server takes the place of the last one. */
  onRenew(): void;
  say(text: string): void;
}

export interface Serving {
  /** Takes no more connections; resolves once all requests have ended. */
  shutdown(): Promise<void>;
}
