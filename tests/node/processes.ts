/** Deno's child processes, on Node. */
import { type ChildProcess as Child, spawn, spawnSync, type StdioOptions } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

interface Options {
  args?: readonly string[];
  cwd?: string | URL;
  env?: Record<string, string>;
  clearEnv?: boolean;
  stdin?: Stream;
  stdout?: Stream;
  stderr?: Stream;
  signal?: AbortSignal;
}

type Stream = "piped" | "null" | "inherit";

const STREAMS = { piped: "pipe", null: "ignore", inherit: "inherit" } as const;
const HOOKS = new URL("hooks.ts", import.meta.url).href;
const ROOT = new URL("../../", import.meta.url).href;

/** What starts the same on Node. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "src/main.ts": "tests/node/main.ts",
  "src/cli/launch.ts": "src/node.ts",
};

/** Node's arguments for those of `deno run`, whose own options it does without. */
function argumentsOf(program: string, args: readonly string[] = []): readonly string[] {
  if (program !== process.execPath) return args;
  const [command, ...rest] = args;
  if (command === "eval") return ["--import", HOOKS, "--input-type=module-typescript", "--eval", rest.at(-1)!];
  if (command !== "run") throw new Error(`Only Deno has this command: ${command}`);
  const at = rest.findIndex((arg, at) => !arg.startsWith("-") && !/^--(config|preload|ext)$/.test(rest[at - 1] ?? ""));
  const given = rest[at]!;
  const path = fileURLToPath(given.startsWith("file:") ? given : new URL(given, ROOT));
  const name = path.slice(fileURLToPath(ROOT).length);
  const isOfTests = name.startsWith("tests/");
  const instead = PROGRAMS[name];
  return [
    ...isOfTests ? ["--import", HOOKS] : [],
    instead ? fileURLToPath(ROOT + instead) : path,
    ...rest.slice(at + 1),
  ];
}

function optionsOf({ cwd, env = {}, clearEnv = false, signal }: Options) {
  return { cwd, env: clearEnv ? env : { ...process.env, ...env }, signal };
}

export class Command {
  readonly #program: string;
  readonly #options: Options;

  constructor(program: string | URL, options: Options = {}) {
    this.#program = program instanceof URL ? fileURLToPath(program) : program;
    this.#options = options;
  }

  spawn(defaultStream: Stream = "inherit"): ChildProcess {
    const { args = [], stdin = "inherit", stdout = defaultStream, stderr = defaultStream } = this.#options;
    const stdio: StdioOptions = [STREAMS[stdin], STREAMS[stdout], STREAMS[stderr]];
    const options = { ...optionsOf(this.#options), stdio };
    return new ChildProcess(spawn(this.#program, argumentsOf(this.#program, args), options));
  }

  async output() {
    const { stdin = "null" } = this.#options;
    const child = new Command(this.#program, { ...this.#options, stdin }).spawn("piped");
    await child.started;
    return await child.output();
  }

  outputSync() {
    const { args = [] } = this.#options;
    const { status, signal, stdout, stderr, error } = spawnSync(
      this.#program,
      argumentsOf(this.#program, args),
      optionsOf(this.#options),
    );
    if (error) throw error;
    return { success: status === 0, code: status ?? 1, signal, stdout, stderr };
  }
}

interface Status {
  success: boolean;
  code: number;
  signal: string | null;
}

export class ChildProcess {
  readonly pid: number;
  readonly status: Promise<Status>;
  readonly started: Promise<void>;
  readonly #child: Child;
  #streams: Partial<Record<"stdout" | "stderr", ReadableStream<Uint8Array>>> = {};
  #stdin: WritableStream<Uint8Array> | undefined;
  #isOver = false;

  constructor(child: Child) {
    this.#child = child;
    this.pid = child.pid!;
    const { promise, resolve } = Promise.withResolvers<Status>();
    const started = Promise.withResolvers<void>();
    child.once("spawn", started.resolve).once("error", started.reject);
    started.promise.catch(() => {});
    child.once("exit", (code, signal) => {
      this.#isOver = true;
      resolve({ success: code === 0, code: code ?? 128 + signals(signal), signal });
    });
    this.started = started.promise;
    this.status = promise;
  }

  get stdout() {
    return this.#stream("stdout");
  }

  get stderr() {
    return this.#stream("stderr");
  }

  get stdin() {
    return this.#stdin ??= Writable.toWeb(this.#child.stdin!) as WritableStream<Uint8Array>;
  }

  kill(signal: NodeJS.Signals = "SIGTERM"): void {
    if (this.#isOver) throw new TypeError("Child process has already terminated");
    this.#child.kill(signal);
  }

  ref(): void {
    this.#child.ref();
  }

  unref(): void {
    this.#child.unref();
  }

  async output() {
    const [status, stdout, stderr] = await Promise.all([this.status, this.bytes("stdout"), this.bytes("stderr")]);
    return { ...status, stdout, stderr };
  }

  async bytes(name: "stdout" | "stderr"): Promise<Uint8Array> {
    return this.#child[name] ? await new Response(this.#stream(name)).bytes() : new Uint8Array();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#isOver) this.kill();
    await this.status;
  }

  #stream(name: "stdout" | "stderr") {
    const stream = this.#streams[name] ??= Readable.toWeb(this.#child[name]!) as unknown as ReadableStream<Uint8Array>;
    return Object.assign(stream, {
      text: () => new Response(stream).text(),
      bytes: () => new Response(stream).bytes(),
      json: () => new Response(stream).json(),
    });
  }
}

function signals(name: NodeJS.Signals | null): number {
  return name === null ? 0 : { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }[name as string] ?? 0;
}

export const kill = (pid: number, signal: NodeJS.Signals = "SIGTERM") => void process.kill(pid, signal);
