/** The command line: reads the configuration, builds the app and serves it until it is told to stop. */
import { parseArgs } from "node:util";
import manifest from "../deno.json" with { type: "json" };
import { type App, createApp, placeOfStore, pluginFacts } from "./app.ts";
import { ConfigError, loadConfig } from "./config/load.ts";
import { startupMessage } from "./startup.ts";

const HELP = `Laneway ${manifest.version}: one gateway to open models

Usage: deno task start [options]

  --config <file>      the configuration; else what LANEWAY_CONFIG names, else
                       ./gateway.json, else the built-in default
  --hostname <name>    the address to listen on, in place of the configured one
  --port <number>      the port, in place of the configured one; 0 for a free one
  --help               show this text
  --version            show the version
`;

/** How long load balancers have to see that `/readyz` fails, before connections are refused. */
const NOTICE_MS = 1_000;
/** How long requests may take to end once the gateway stops. */
const DRAIN_LIMIT_MS = 30_000;
/** How long aborted requests have to tell their clients. */
const ABORT_LIMIT_MS = 1_000;

/** A key press reaches a program both from the terminal and from the task runner that started it. */
const SAME_SIGNAL_MS = 250;

/** A command line that cannot be understood. */
class UsageError extends Error {}

interface Flags {
  config?: string;
  hostname?: string;
  port?: number;
  help?: boolean;
  version?: boolean;
}

if (import.meta.main) Deno.exit(await main(Deno.args));

/** Runs until the gateway has stopped. Returns the exit code. */
async function main(args: string[]): Promise<number> {
  try {
    const { help, version, config, ...listen } = parseFlags(args);
    if (help || version) {
      // deno-lint-ignore no-console -- the answer to the command
      console.log(help ? HELP.trimEnd() : manifest.version);
      return 0;
    }
    return await serve(config, listen);
  } catch (error) {
    if (error instanceof UsageError) {
      say(`${error.message}; --help lists the options`);
      return 2;
    }
    if (error instanceof ConfigError) {
      say(error.message);
      return 1;
    }
    throw error;
  }
}

function parseFlags(args: string[]): Flags {
  try {
    const { port, ...flags } = parseArgs({
      args,
      options: {
        config: { type: "string" },
        hostname: { type: "string" },
        port: { type: "string" },
        help: { type: "boolean" },
        version: { type: "boolean" },
      },
    }).values;
    if (port === undefined) return flags;
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) {
      throw new UsageError(`Cannot use port "${port}": expected a number from 0 to 65535`);
    }
    return { ...flags, port: Number(port) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The first sentence says what is wrong; the rest is advice for other commands.
    throw new UsageError(error.message.split(/\.\s/)[0]);
  }
}

async function serve(path: string | undefined, listen: Pick<Flags, "hostname" | "port">): Promise<number> {
  const env = (name: string) => Deno.env.get(name);
  const { config, source } = loadConfig({ path, listen, ...pluginFacts(), env });
  const app = createApp({ config, env });
  const store = placeOfStore(config.store, env);
  const { hostname, port } = config.listen;
  let server;
  try {
    const onListen = (address: Deno.NetAddr) =>
      say(startupMessage({ version: manifest.version, config, source, address, env, store }).trimEnd());
    server = Deno.serve({ hostname, port, onListen }, (request, info) => app.fetch(request, info));
  } catch (error) {
    const inUse = error instanceof Deno.errors.AddrInUse;
    const reason = inUse ? "something else does already; choose another with --port" : (error as Error).message;
    say(`Cannot listen on ${hostname} port ${port}: ${reason}`);
    return 1;
  }
  const drained = await stopAtSignal(server, app);
  app.close();
  return drained ? 0 : 1;
}

/** Waits for a signal, then ends the server. Returns whether every request came to its own end. */
async function stopAtSignal(server: Deno.HttpServer, app: App): Promise<boolean> {
  const { first, second } = nextSignals();
  const signal = await first;
  say(`${signal}: finishing the requests that run; once more to abort them`);
  app.drain();
  if (signal === "SIGTERM") await Promise.race([delay(NOTICE_MS), second]);
  const drained = server.shutdown().then(() => true);
  const overdue = Promise.race([delay(DRAIN_LIMIT_MS), second]).then(() => false);
  if (await Promise.race([drained, overdue])) return true;
  app.abort();
  await Promise.race([drained, delay(ABORT_LIMIT_MS)]);
  return false;
}

function nextSignals(): { first: Promise<Deno.Signal>; second: Promise<void> } {
  const first = Promise.withResolvers<Deno.Signal>();
  const second = Promise.withResolvers<void>();
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT", "SIGBREAK"] : ["SIGINT", "SIGTERM"];
  let firstAt: number | undefined;
  for (const name of signals) {
    Deno.addSignalListener(name, () => {
      first.resolve(name);
      firstAt ??= performance.now();
      if (performance.now() - firstAt > SAME_SIGNAL_MS) second.resolve();
    });
  }
  return { first: first.promise, second: second.promise };
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function say(text: string): void {
  // deno-lint-ignore no-console -- for people; the log of requests goes to stdout
  console.error(text);
}
