import type { AttributeValue, MeterProvider, TracerProvider } from "@opentelemetry/api";

/**
 * The functions of a runtime that go beyond web standards and the `node:` modules that both Deno and Node have. All other code of
 * `src/` is the same on every runtime.
 */
export interface Platform {
  /** The operating system: `linux`, `darwin`, `windows`. */
  readonly os: string;
  /** The database for data that outlives the process: Deno's own, or the runtime's SQLite. Absent if there is none. */
  readonly database?: "kv" | "sqlite";
  /** The arguments of the command line, without the program. */
  readonly args: readonly string[];
  /** The program's file, if it is compiled to one that includes the runtime. */
  readonly executable?: string;
  /** The beginning of a command line that starts the gateway without installing it. */
  readonly command: string;
  /** An environment variable's value. Throws if the process may not read it. */
  env(name: string): string | undefined;
  /** Calls an upstream. No time limit of the runtime itself ends the call before the configured ones do. */
  readonly fetch: typeof globalThis.fetch;
  /** Writes some of the bytes, and resolves to how many. It waits for a slow reader without blocking anything else. */
  write(to: "stdout" | "stderr", bytes: Uint8Array): Promise<number>;
  /** Whether a standard stream is connected to a terminal that is still open. */
  isTerminal(stream: "stdin" | "stdout" | "stderr"): boolean;
  /** How many columns a stream's terminal has. 80 if it has no terminal. */
  columns(stream: "stdout" | "stderr"): number;
  /** The limits of the process, in words. Absent if everything that it does is confined. */
  readonly sandbox?: string;
  /** The options of the runtime for the permissions that options of `deno run` name. Absent on Deno. */
  optionsFor?(flags: readonly string[]): string[];
  /** Whether the process has the permission. Without permissions in the runtime, it may do everything. */
  isGranted(permission: Permission): boolean;
  /** Calls `run` at each such signal. Returns a function that removes the listener. */
  onSignal(signal: Signal, run: () => void): () => void;
  /**
   * Calls `run` with uncaught exceptions and unhandled rejections, which would otherwise end the process. Returns a function that
   * removes the listener.
   */
  onUncaught(run: (thrown: unknown) => void): () => void;
  /** The text of a file. Throws with the `code` `ENOENT` if there is none. */
  readText(path: string): string;
  /** When a file was last written, in milliseconds since the epoch. Throws if there is none. */
  modifiedAt(path: string): number;
  /** The memory that the process uses, in bytes. */
  memory(): number;
  /** The part of it that the engine does not manage, such as unread data of connections. */
  unmanagedMemory(): number;
  /** The most that the program may use, in bytes, on a runtime that does not show what it uses. */
  readonly memoryLimit?: number;
  /** The process that started this one, or its substitute once that has ended. */
  parentId(): number;
  /** Serves until it is shut down. Throws if the port cannot be used, with the `code` `EADDRINUSE` if another process has it. */
  serve(options: ServeOptions): Promise<Serving>;
  /**
   * Upgrades a request to a WebSocket, which is open once the response is returned. Throws if the request did not come over a
   * connection of this platform. Absent if the runtime supports none.
   */
  upgrade?(request: Request): Upgraded;
  /** Loads the client of the store's server, in place of its package. */
  readonly storeClient?: () => Promise<unknown>;
  /** OpenTelemetry, if the process was started with it. */
  readonly telemetry?: Telemetry;
  /** Calls `run` in `ms` milliseconds. A process without other work waits for it. It cannot be cancelled. */
  after(ms: number, run: () => void): void;
  /** Keeps the process from ending by itself. Absent if the runtime waits for timers of signals. */
  readonly stay?: () => void;
  /** Ends the process. */
  exit(code: number): never;
}

/** The runtime's OpenTelemetry. An absent provider is looked up in the API's own registry. */
export interface Telemetry {
  readonly tracerProvider?: TracerProvider;
  readonly meterProvider?: MeterProvider;
  /** Whether the runtime, or a library in it, makes spans of its own, which hold whole URLs. */
  readonly isAutomatic: boolean;
  /** Makes a whole number for the runtime's exporter. */
  integer(value: number): AttributeValue;
}

export interface Upgraded {
  socket: WebSocket;
  response: Response;
  /** Ends the connection without waiting for the client, and frees the memory of an incomplete message. */
  drop(): void;
}

export type Signal = "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGBREAK";

/** A permission to reach a host, read a variable, or read or write a path. */
export type Permission =
  | { name: "net"; host: string }
  | { name: "env"; variable: string }
  | { name: "read" | "write"; path: string };

/** The other end of a connection. */
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
  /** 0 for any free port. */
  port: number;
  /** Present if other processes use the same port. `isFirst`: whether this is the first of them. */
  shared?: { isFirst: boolean };
  /** Answers a request. Its signal is aborted once the client has gone. */
  handler(request: Request, info: { remoteAddr: Peer }): Promise<Response>;
  /** Called with the address once connections are accepted. */
  onListen(address: { hostname: string; port: number }): void;
  /** The answer if the handler threw. */
  onError(thrown: unknown): Response;
  /** Whether few descriptors are left although only `running` requests run, because idle connections use them. */
  areWasted(running: number): boolean;
  /** Called before a new server replaces the last one. */
  onRenew(): void;
  say(text: string): void;
}

export interface Serving {
  /** Accepts no more connections. Resolves once all requests have ended. */
  shutdown(): Promise<void>;
}
