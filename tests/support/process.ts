/** The gateway as a process of its own, started as people start it: by the launcher, with the permissions that it gives. */
import { within } from "./wait.ts";

const ROOT = new URL("../../", import.meta.url);

export interface LaunchOptions {
  /** Where the launcher is, if it is another one than this repository's. */
  root?: URL;
  cwd: string;
  env?: Record<string, string>;
}

export interface Launched {
  url: string;
  pid: number;
  kill(signal: Deno.Signal): void;
  /** Resolves to all that was said on stderr, once there is `text` in what was said after `from`. */
  said(text: string, from?: number): Promise<string>;
  /** How much was said by now. */
  position(): number;
  /** Its log, once it has ended. */
  logged: Promise<string>;
  /** The exit code, once it has ended and nobody holds its stderr. */
  ended: Promise<number>;
}

/** The program of Node and the folder of a checkout, where they take the place of Deno and this one (`node_launched_test.ts`). */
export const ON_NODE: { node: string; folder: string } | undefined = JSON.parse(
  Deno.env.get("LANEWAY_TESTS_ON_NODE") ?? "null",
) ?? undefined;

function command(args: string[], { root = ROOT, cwd, env }: LaunchOptions): Deno.Command {
  const options = {
    cwd,
    env: { LANEWAY_CONFIG: "", HF_TOKEN: "", NO_COLOR: "1", ...env },
    stdout: "piped",
    stderr: "piped",
  } as const;
  if (ON_NODE) return new Deno.Command(ON_NODE.node, { args: [`${ON_NODE.folder}/src/node.ts`, ...args], ...options });
  return new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-read",
      "--allow-env",
      "--allow-run",
      "--allow-net=127.0.0.1:0",
      "--no-prompt",
      new URL("src/cli/launch.ts", root).href,
      ...args,
    ],
    ...options,
  });
}

/** Runs the command line to its end. */
export async function runLaunched(
  args: string[],
  options: LaunchOptions,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await command(args, options).output();
  return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
}

/** Starts it on a free port, calls `use` once it serves, and stops it if `use` has not. */
export async function withLaunched(
  args: string[],
  options: LaunchOptions,
  use: (gateway: Launched) => Promise<void>,
): Promise<void> {
  const child = command(["--port", "0", ...args], options).spawn();
  const stdout = child.stdout.text();
  let text = "";
  let isOver = false;
  let moreOutput = Promise.withResolvers<void>();
  const listening = (async () => {
    for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) {
      text += piece;
      moreOutput.resolve();
      moreOutput = Promise.withResolvers();
    }
    isOver = true;
    moreOutput.resolve();
  })();
  const said = async (wanted: string, from = 0) => {
    const deadline = performance.now() + 60_000;
    while (!text.slice(from).includes(wanted)) {
      const left = deadline - performance.now();
      if (isOver || left <= 0) throw new Error(`It never said "${wanted}": ${text}`);
      await within(moreOutput.promise, left).catch(() => {});
    }
    return text;
  };
  const ended = (async () => {
    const { code } = await child.status;
    await Promise.all([listening, stdout]);
    return code;
  })();
  let running = true;
  ended.then(() => running = false);
  try {
    await said("Keys: ");
    const url = text.match(/http:\/\/[\d.:]+/)![0];
    const kill = (signal: Deno.Signal) => child.kill(signal);
    await use({ url, pid: child.pid, kill, said, position: () => text.length, logged: stdout, ended });
  } finally {
    // The gateway notices that its launcher has gone.
    if (running) child.kill("SIGKILL");
    await within(ended);
  }
}

/** Calls `use` with a folder that is removed afterwards. */
export async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
