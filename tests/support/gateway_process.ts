/** The gateway as a process of its own before an upstream of this one, on a store that outlives it. */
import type { ConfigInput } from "./app.ts";
import { within } from "./wait.ts";

const ROOT = new URL("../../", import.meta.url);
const MAIN = new URL("src/main.ts", ROOT).href;
const PERMISSIONS = ["--no-prompt", "--allow-net", "--allow-env", "--allow-read"];

/** The environment of a gateway that takes nothing from the machine's. */
export const GATEWAY_ENV = { LANEWAY_CONFIG: "", HF_TOKEN: "", NO_COLOR: "1" };

/** The arguments that Deno is started with for a gateway that gets `args`. `options` are Deno's own. */
export function gatewayArgs(args: readonly string[], options: readonly string[] = []): string[] {
  return ["run", "--frozen", ...PERMISSIONS, ...options, MAIN, ...args];
}

/** The status of the answer; 0 where none comes. */
export async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(60_000), ...init });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}

export interface GatewayProcess {
  /** Its address, without a slash at the end. */
  url: string;
  pid: number;
  /** The output until it served. */
  message: string;
  /** SIGKILL: it has no time for a last word. Resolves once the process is gone. */
  kill(): Promise<void>;
  /** SIGINT. Resolves to its exit code. */
  stop(): Promise<number>;
}

/** A configuration file in `folder`, with the store in there, too. */
export async function writeConfig(folder: string, baseUrl: string): Promise<string> {
  const config: ConfigInput = {
    upstreams: { fake: { driver: "chat", baseUrl } },
    store: { kind: "kv", path: `${folder}/store.sqlite3` },
    lanes: { oss: { upstreams: { chat: "fake" } } },
  };
  const path = `${folder}/gateway.json`;
  await Deno.writeTextFile(path, JSON.stringify(config));
  return path;
}

/** Resolves once it serves. `options` are Deno's own; `onLog` gets its log, line by line; `env` is for it alone. */
export async function startGateway(
  config: string,
  options: readonly string[] = [],
  onLog?: (line: string) => void,
  env: Record<string, string> = {},
): Promise<GatewayProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: gatewayArgs(["--config", config, "--port", "0"], ["--allow-write", ...options]),
    cwd: ROOT,
    env: { ...GATEWAY_ENV, ...env },
    stdout: onLog ? "piped" : "null",
    stderr: "piped",
  }).spawn();
  const logged = onLog && tellLines(child.stdout, onLog);
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let message = "";
  while (!message.includes("Keys: ")) {
    const { done, value } = await within(reader.read());
    if (done) throw new Error(`The gateway did not start: ${message}`);
    message += value;
  }
  const drained = (async () => {
    while (!(await reader.read()).done);
  })();
  const end = async (signal: Deno.Signal) => {
    child.kill(signal);
    try {
      return (await within(child.status)).code;
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    } finally {
      await drained;
      await logged;
    }
  };
  return {
    url: message.match(/http:\/\/[\d.:]+/)![0],
    pid: child.pid,
    message,
    kill: async () => void await end("SIGKILL"),
    stop: () => end("SIGINT"),
  };
}

async function tellLines(stdout: ReadableStream<Uint8Array<ArrayBuffer>>, tell: (line: string) => void): Promise<void> {
  let rest = "";
  for await (const text of stdout.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    lines.forEach(tell);
  }
}
