/**
 * A real Redis server as a process of the test's own, on loopback, which keeps nothing. `LANEWAY_REDIS_SERVER` names another
 * program that is to be one, such as Valkey's.
 */
import { loadClient } from "../../src/state/redis/wire.ts";
import { within } from "./wait.ts";

export interface RedisServer {
  port: number;
  /** `redis://127.0.0.1:<port>`. */
  url: string;
  pid: number;
  kill(signal: Deno.Signal): void;
  /** Runs a command, and returns the output that `redis-cli` would print, as one line. */
  ask(...command: string[]): Promise<string>;
  /** SIGKILL, if it still runs. */
  stop(): Promise<void>;
}

const REDIS = "redis-server";
const PROGRAM = Deno.env.get("LANEWAY_REDIS_SERVER") || REDIS;

async function hasProgram(): Promise<boolean> {
  try {
    return (await new Deno.Command(PROGRAM, { args: ["--version"], stdout: "null" }).output()).success;
  } catch {
    return false;
  }
}

/** Installs it where the machine is a Debian whose packages this process may install. */
async function install(): Promise<boolean> {
  if (PROGRAM !== REDIS || Deno.build.os !== "linux" || Deno.uid() !== 0) return false;
  // Test files run at once, and one of them is enough.
  using turn = await Deno.open("/tmp/laneway-redis-install.lock", { create: true, write: true });
  await turn.lock(true);
  if (await hasProgram()) return true;
  try {
    const wait = ["-o", "DPkg::Lock::Timeout=300", "-q", "-y"];
    const options = { stdout: "null", stderr: "null", env: { DEBIAN_FRONTEND: "noninteractive" } } as const;
    await new Deno.Command("apt-get", { args: [...wait, "update"], ...options }).output();
    const args = [...wait, "--no-install-recommends", "install", PROGRAM];
    // It begins a server of its own, which nobody needs.
    const env = { ...options.env, RUNLEVEL: "1" };
    await new Deno.Command("apt-get", { args, ...options, env }).output();
  } catch {
    return false;
  }
  return await hasProgram();
}

/** Whether tests that need it are left out; the reason is printed. */
export const isRedisMissing = !(await hasProgram() || await install());
// deno-lint-ignore no-console -- a test that is left out says why
if (isRedisMissing) console.warn(`Tests with a real ${PROGRAM} are left out: it is not installed and cannot be`);

/** How often another port is tried, because a port that was free may be taken by the time the server asks for it. */
const TRIES = 5;

/**
 * Starts one. `options` are the server's own, as on its command line, and are asked for anew for each try; `whole` stands in
 * place of all of it.
 */
export async function startRedis(
  options: readonly string[] | (() => readonly string[]) = [],
  port?: number,
  whole?: readonly string[],
): Promise<RedisServer> {
  for (let tries = 1;; tries++) {
    const more = typeof options === "function" ? options() : options;
    try {
      return await start(more, port ?? freePort(), whole);
    } catch (error) {
      if (port !== undefined || whole || tries === TRIES) throw error;
    }
  }
}

async function start(options: readonly string[], port: number, whole?: readonly string[]): Promise<RedisServer> {
  const own = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", ...options];
  const args = [...whole ?? own];
  await loadClient(); // which takes long on a busy machine, and is no fault of the server
  const child = new Deno.Command(PROGRAM, { args, stdout: "piped", stderr: "null" }).spawn();
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  let text = "";
  const drained = (async () => {
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (/Ready to accept connections|Sentinel ID is/.test(text)) resolve();
    }
  })();
  const status = child.status;
  const gone = status.then(() => Promise.reject(new Error(`The server did not start: ${text}`)));
  gone.catch(() => {});
  await within(Promise.race([ready, gone]));
  let isRunning = true;
  status.then(() => isRunning = false);
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid,
    kill: (signal) => child.kill(signal),
    ask: (...command) => ask(port, command),
    async stop() {
      if (isRunning) child.kill("SIGKILL");
      await status;
      await drained;
    },
  };
}

/** Sends one command over a connection of its own. */
async function ask(port: number, command: string[]): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const words = command.map((word) => `$${new TextEncoder().encode(word).length}\r\n${word}\r\n`);
  await connection.write(new TextEncoder().encode(`*${command.length}\r\n${words.join("")}`));
  const buffer = new Uint8Array(65_536);
  const count = await connection.read(buffer);
  return new TextDecoder().decode(buffer.subarray(0, count ?? 0)).trim();
}

/** A port that nobody has now. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
