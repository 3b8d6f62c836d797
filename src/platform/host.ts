/**
 * The part of its runtime that the launcher uses: Deno itself, or a substitute on Node. The launcher loads this file, so it imports
 * nothing.
 */

export interface Host {
  readonly args: readonly string[];
  readonly pid: number;
  readonly build: { readonly os: string };
  readonly env: { get(name: string): string | undefined; has(name: string): boolean };
  readonly errors: { readonly NotFound: new (...args: never[]) => Error };
  readonly stdin: { isTerminal(): boolean };
  readonly stdout: { isTerminal(): boolean };
  readonly stderr: { isTerminal(): boolean; writeSync(bytes: Uint8Array): number };
  readonly permissions: { querySync(permission: { name: "net"; host: string }): { readonly state: string } };
  cwd(): string;
  execPath(): string;
  exit(code?: number): never;
  kill(pid: number, signal: Deno.Signal): void;
  addSignalListener(signal: Deno.Signal, run: () => void): void;
  removeSignalListener(signal: Deno.Signal, run: () => void): void;
  readTextFileSync(path: string | URL): string;
  lstatSync(path: string): unknown;
  listen(options: { hostname: string; port: number }): Listener | Promise<Listener>;
}

export interface CommandOptions {
  args?: string[];
  env?: Record<string, string>;
  clearEnv?: boolean;
  cwd?: string;
  detached?: boolean;
  /** Ends the process. */
  signal?: AbortSignal;
  stdin?: "piped" | "inherit" | "null";
  stdout?: "piped" | "inherit" | "null";
  stderr?: "piped" | "inherit" | "null";
}

export interface Command {
  spawn(): ChildProcess;
  output(): Promise<Output>;
}

export interface Output {
  success: boolean;
  code: number;
  stdout: Uint8Array<ArrayBuffer>;
  stderr: Uint8Array<ArrayBuffer>;
}

export interface ChildProcess {
  readonly pid: number;
  readonly stdin: WritableStream<Uint8Array<ArrayBuffer>>;
  readonly stdout: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly stderr: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly status: Promise<Deno.CommandStatus>;
  kill(signal?: Deno.Signal): void;
}

export interface Listener {
  readonly addr: { readonly port: number };
  accept(): Promise<Connection>;
  close(): void;
}

export interface Connection {
  read(bytes: Uint8Array): Promise<number | null>;
  write(bytes: Uint8Array): Promise<number>;
  close(): void;
}

/** A module of the program that runs as a process of its own, with the options of `deno run` that say what it may do. */
export interface ModuleRun
  extends Pick<CommandOptions, "env" | "clearEnv" | "cwd" | "detached" | "stdin" | "stdout" | "stderr"> {
  flags: readonly string[];
  main: string;
  args: readonly string[];
  /** Whether it starts threads. */
  hasThreads?: boolean;
}

/** The substitute on Node, with the differences that the launcher has to know. */
export interface NodeHost extends Host {
  /** The program's entry file. */
  readonly main: string;
  /** The beginning of a command line that starts the gateway. */
  readonly command: string;
  /** Whether this version can keep a process off the network. */
  readonly canConfineNet: boolean;
  program(program: string, options?: CommandOptions): Command;
  module(run: ModuleRun): Command;
}

/** The variables that Deno itself reads, without secrets and proxies: a proxy would connect to any address. */
export const RUNTIME_VARIABLES = [
  "PATH",
  "HOME",
  "USERPROFILE",
  "LOCALAPPDATA",
  "SystemRoot",
  "XDG_CACHE_HOME",
  "DENO_DIR",
  "DENO_CERT",
  "DENO_TLS_CA_STORE",
  "NO_COLOR",
];

let substitute: NodeHost | undefined;

/** Must be called before a module of the launcher is loaded. */
export function standIn(host: NodeHost): void {
  substitute = host;
}

/** Absent on Deno. */
export function onNode(): NodeHost | undefined {
  return substitute;
}

export function host(): Host {
  return substitute ?? Deno;
}

export function command(program: string, options?: CommandOptions): Command {
  return substitute ? substitute.program(program, options) : new Deno.Command(program, options);
}

export function moduleCommand(run: ModuleRun): Command {
  if (substitute) return substitute.module(run);
  const { flags, main, args, hasThreads: _, ...options } = run;
  return command(Deno.execPath(), { args: ["run", ...flags, main, ...args], ...options });
}
