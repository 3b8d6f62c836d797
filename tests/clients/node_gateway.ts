/** The gateway as a process of Node: a copy of the program with its packages from npm, as a checkout has them. */
import { copy } from "../support/copy.ts";
import type { ConfigInput } from "../support/app.ts";
import { ENV } from "../support/app.ts";
import type { LogEntry } from "../../src/observe/log.ts";
import { withFolder } from "../support/process.ts";
import type { Start } from "./claude_code.ts";
import { until, within } from "../support/wait.ts";

const ROOT = new URL("../../", import.meta.url);

export interface NodeGateway {
  url: string;
  pid: number;
  /** The lines of its log so far. */
  logs: Record<string, unknown>[];
  /** All that it said to whoever runs it. */
  said(): string;
  kill(signal: Deno.Signal): void;
  /** The exit code. */
  ended: Promise<number>;
  /** Its configuration's file. */
  config: string;
}

export interface NodeOptions {
  /** Options of Node itself. */
  options?: string[];
  args?: string[];
  env?: Record<string, string>;
  /** Whether it is started without the launcher, and so without a sandbox of its own. */
  direct?: boolean;
}

/** Calls `use` with what starts gateways as processes of Node; they end with it. Their upstreams are called by this process. */
export async function withStart(node: string, use: (start: Start) => Promise<void>): Promise<void> {
  await withProgram(async (folder) => {
    const running: Promise<void>[] = [];
    const over = Promise.withResolvers<void>();
    const start: Start = async (config, fetch) => {
      const bridge = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
        const { pathname, search } = new URL(request.url);
        return fetch(new Request(decodeURIComponent(pathname.slice(1)) + search, request));
      });
      const through = (baseUrl: string) => `http://127.0.0.1:${bridge.addr.port}/${encodeURIComponent(`${baseUrl}`)}`;
      const upstreams = Object.fromEntries(
        Object.entries(config.upstreams ?? {}).map(([name, upstream]) => {
          const { baseUrl } = upstream;
          return [name, baseUrl === undefined ? upstream : { ...upstream, baseUrl: through(baseUrl) }];
        }),
      );
      const started = Promise.withResolvers<NodeGateway>();
      const gateway = withNodeGateway(node, folder, { ...config, upstreams }, async (gateway) => {
        started.resolve(gateway);
        await over.promise;
      });
      gateway.catch(started.reject);
      running.push(gateway.finally(() => bridge.shutdown()));
      const { url, logs } = await started.promise;
      return {
        logs: logs as unknown as LogEntry[],
        fetch(request) {
          const { pathname, search } = new URL(request.url);
          return globalThis.fetch(new Request(url + pathname + search, request));
        },
        abort() {},
      };
    };
    try {
      await use(start);
    } finally {
      over.resolve();
      await Promise.all(running);
    }
  });
}

/** Calls `use` with the program in a folder of its own. */
export async function withProgram(use: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    for (const part of ["src", "plugins"]) await copy(new URL(part, ROOT).pathname, `${folder}/${part}`);
    for (const file of ["deno.json", "gateway.default.json", "package.json"]) {
      await Deno.copyFile(new URL(file, ROOT), `${folder}/${file}`);
    }
    const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
    const { success, stderr } = await new Deno.Command("npm", { args, cwd: folder, stdin: "null" }).output();
    if (!success) throw new Error(`Cannot install the packages: ${new TextDecoder().decode(stderr)}`);
    await use(folder);
  });
}

/** Starts the gateway on a free port and calls `use` once it serves; ends it where `use` has not. */
export async function withNodeGateway(
  node: string,
  folder: string,
  config: ConfigInput,
  use: (gateway: NodeGateway) => Promise<void>,
  { options = [], args = [], env = {}, direct = false }: NodeOptions = {},
): Promise<void> {
  const file = await Deno.makeTempFile({ dir: folder, suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify(config));
  const child = new Deno.Command(node, {
    args: [...options, "src/node.ts", "--config", file, "--port", "0", ...args],
    cwd: folder,
    clearEnv: true,
    env: { ...ENV, HOME: folder, PATH: "/usr/bin:/bin", ...direct && { LANEWAY_LAUNCHER: "" }, ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const logs: Record<string, unknown>[] = [];
  const logging = (async () => {
    let rest = "";
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + piece).split("\n");
      rest = lines.pop()!;
      for (const line of lines) logs.push(JSON.parse(line));
    }
  })();
  let text = "";
  let isOver = false;
  const listening = (async () => {
    for await (const piece of child.stderr.pipeThrough(new TextDecoderStream())) text += piece;
  })();
  const ended = (async () => {
    const { code } = await child.status;
    isOver = true;
    await Promise.all([logging, listening]);
    return code;
  })();
  try {
    await until(() => isOver || /^Keys: /m.test(text));
    const [url] = /http:\/\/[\d.:]+/.exec(text) ?? [];
    if (url === undefined) throw new Error(`It did not start: ${text}`);
    const kill = (signal: Deno.Signal) => child.kill(signal);
    await use({ url, pid: child.pid, logs, said: () => text, kill, ended, config: file });
  } finally {
    if (!isOver) child.kill("SIGKILL");
    await within(ended);
  }
}
