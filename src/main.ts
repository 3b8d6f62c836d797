/** The command line: reads the configuration, builds the app and serves it until it is told to stop. */
import { parseArgs } from "node:util";
import manifest from "../deno.json" with { type: "json" };
import {
  type App,
  createApp,
  createStore,
  FLUSH_MS,
  flushOutput,
  placeOfStore,
  pluginFacts,
  say,
  unmaskedSecrets,
} from "./app.ts";
import { ConfigError, loadConfig } from "./config/load.ts";
import { catalogCommand, CatalogError } from "./cli/catalog.ts";
import { invocation } from "./cli/invocation.ts";
import { keysCommand, KeysError, keysHelp } from "./cli/keys.ts";
import { codeFolder, flagsOf, isThere, permissionsOf } from "./config/launch.ts";
import { createDescriptors, scarcityLine } from "./http/descriptors.ts";
import { serve as listenOn, type Serving } from "./http/serve.ts";
import { NOT_TOLD, reload } from "./cli/reload.ts";
import { startupMessage, unmaskedLines } from "./cli/startup.ts";
import { createKeyring } from "./state/keyring.ts";
import { watchTerminal } from "./cli/terminal.ts";

const help = (program: string) =>
  `Laneway ${manifest.version}: one gateway to open models

Usage: ${program} [options]
       ${program} keys create|list|revoke ...
       ${program} catalog <lane> [file]
       ${program} permissions

  keys                 makes, lists and revokes keys; keys --help says how
  catalog              writes the models of a lane to a file, for agents that read
                       theirs from one
  permissions          prints the options of Deno that this configuration needs

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
const DRAIN_LIMIT_MS = 25_000;
/** How long aborted requests have to tell their clients. */
const ABORT_LIMIT_MS = 1_000;

/** A key press reaches a program both from the terminal and from the task runner that started it. */
const SAME_SIGNAL_MS = 250;

/** How often the file of the configuration is looked at, in milliseconds. Editors replace it, which ends a watch of it. */
const LOOK_MS = 500;

/** Windows has no such signal. */
const CAN_HANG_UP = Deno.build.os !== "windows";

type Terminal = ReturnType<typeof watchTerminal>;

/** A command line that cannot be understood. */
class UsageError extends Error {}

interface Flags {
  config?: string;
  hostname?: string;
  port?: number;
  help?: boolean;
  version?: boolean;
  /** What is no option: a command, and what is its own. */
  commands: string[];
}

if (import.meta.main) {
  const code = await main(Deno.args);
  await flushOutput(FLUSH_MS);
  Deno.exit(code);
}

/** Runs until the gateway has stopped. Returns the exit code. */
async function main(args: string[]): Promise<number> {
  try {
    const { commands: [command, ...rest], help: wantsHelp, version, config, ...listen } = parseFlags(args);
    if (wantsHelp || version) {
      print(wantsHelp ? help(invocation(env)).trimEnd() : manifest.version);
      return 0;
    }
    switch (command) {
      case undefined:
        return await serve(config, listen);
      case "keys":
        return await manageKeys(rest, config);
      case "catalog":
        return await writeCatalog(rest, config);
      case "permissions":
        return printPermissions(config, listen);
      default:
        throw new UsageError(`Unknown command "${command}"`);
    }
  } catch (error) {
    if (error instanceof KeysError) {
      say(`${error.message}\n\n${keysHelp(invocation(env)).trimEnd()}`);
      return 2;
    }
    if (error instanceof UsageError) {
      say(`${error.message}; --help lists the options`);
      return 2;
    }
    if (error instanceof ConfigError || error instanceof CatalogError) {
      say(error.message);
      return 1;
    }
    throw error;
  }
}

function parseFlags(args: string[]): Flags {
  // What follows a command is its own to read.
  const at = args.indexOf("keys");
  const own = at < 0 ? args : args.slice(0, at);
  try {
    const { values: { port, ...flags }, positionals } = parseArgs({
      args: own,
      options: {
        config: { type: "string" },
        hostname: { type: "string" },
        port: { type: "string" },
        help: { type: "boolean" },
        version: { type: "boolean" },
      },
      allowPositionals: true,
    });
    const commands = [...positionals, ...args.slice(own.length)];
    if (port === undefined) return { ...flags, commands };
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) {
      throw new UsageError(`Cannot use port "${port}": expected a number from 0 to 65535`);
    }
    return { ...flags, port: Number(port), commands };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The first sentence says what is wrong; the rest is advice for other commands.
    throw new UsageError(error.message.split(/\.\s/)[0]);
  }
}

/** The command `keys`, on the store of the configuration. */
async function manageKeys(args: string[], path: string | undefined): Promise<number> {
  if (args.includes("--help")) {
    print(keysHelp(invocation(env)).trimEnd());
    return 0;
  }
  // No secret is needed for it, and whoever manages keys may have none.
  const told = (name: string) => name === "LANEWAY_CONFIG" ? env(name) : env(name) || NOT_TOLD;
  const { config } = loadConfig({ path, ...pluginFacts(), env: told });
  const place = placeOfStore(config.store, env);
  if (place === "memory") {
    throw new KeysError('Keys are kept in a store of kind "kv", and this configuration has none');
  }
  const store = createStore(config, env, Date.now);
  try {
    print(await keysCommand(args, createKeyring(store, Date.now), Object.keys(config.lanes), invocation(env)));
    if (!config.storedKeys) say('They are admitted where the configuration says "storedKeys": true');
    return 0;
  } catch (error) {
    if (error instanceof KeysError) throw error;
    say(`Cannot use the store${typeof place === "object" ? ` ${place.path}` : ""}: ${(error as Error).message}`);
    return 1;
  } finally {
    store.close();
  }
}

/** The command `catalog`. */
async function writeCatalog([lane, file, ...more]: string[], path: string | undefined): Promise<number> {
  if (lane === undefined || more.length > 0) {
    throw new UsageError(`Name the lane, and the file if you like: ${invocation(env)} catalog <lane> [file]`);
  }
  const { config } = loadConfig({ path, ...pluginFacts(), env });
  say(await catalogCommand(lane, file, config, env));
  return 0;
}

/** The command `permissions`: for containers and for the compiled program, which have no launcher. */
function printPermissions(path: string | undefined, listen: Pick<Flags, "hostname" | "port">): number {
  const { config, file } = loadConfig({ path, listen, ...pluginFacts(), env });
  const place = { config, file, listen: {}, env, os: Deno.build.os, code: codeFolder(), isThere };
  print(flagsOf(permissionsOf(place)).map(quoted).join(" "));
  return 0;
}

/** As a shell reads it. */
function quoted(option: string): string {
  return /^[\w@%+=:,./-]+$/.test(option) ? option : `'${option.replaceAll("'", "'\\''")}'`;
}

function env(name: string): string | undefined {
  return Deno.env.get(name);
}

async function serve(path: string | undefined, listen: Pick<Flags, "hostname" | "port">): Promise<number> {
  const { config, source, file } = loadConfig({ path, listen, ...pluginFacts(), env });
  const terminal = watchTerminal();
  const descriptors = createDescriptors(readableFile());
  const { areScarce, areWasted } = descriptors;
  let app = createApp({ config, env, areDescriptorsScarce: areScarce });
  // Before anybody is told that it serves: whoever then changes the file is heard.
  let running = config;
  const stopReloading = onReload(file, terminal, () => {
    const isGranted = (permission: Deno.PermissionDescriptor) =>
      Deno.permissions.querySync(permission).state === "granted";
    // A file that has gone is no wish for the built-in configuration.
    const load = (env: (name: string) => string | undefined) =>
      loadConfig({ path: file ?? path, listen, ...pluginFacts(), env });
    const next = reload(running, { load, env, isGranted });
    if ("kept" in next) return say(`Kept the running configuration. ${next.kept}`);
    if (JSON.stringify(next.config) === JSON.stringify(running)) return say("The configuration has not changed");
    app = createApp({ config: next.config, env, areDescriptorsScarce: areScarce, after: app });
    running = next.config;
    const unmasked = unmaskedLines(unmaskedSecrets(next.config, env));
    say(["Serves by the new configuration", ...unmasked].join("\n").trimEnd());
  });
  const store = placeOfStore(config.store, env);
  const unmasked = unmaskedSecrets(config, env);
  const { hostname, port } = config.listen;
  let server;
  try {
    const scarcity = scarcityLine(descriptors, config.limits.concurrentRequests);
    const onListen = (address: Deno.NetAddr) => {
      if (scarcity !== undefined) say(`${scarcity}\n`);
      say(startupMessage({ version: manifest.version, config, source, address, env, unmasked, store }).trimEnd());
    };
    const handler: Deno.ServeHandler<Deno.NetAddr> = (request, info) => app.fetch(request, info);
    server = listenOn({ hostname, port, handler, onListen, onError, areWasted, onRenew: () => app.renewed(), say });
  } catch (error) {
    const inUse = error instanceof Deno.errors.AddrInUse;
    const reason = inUse ? "something else does already; choose another with --port" : (error as Error).message;
    stopReloading();
    say(`Cannot listen on ${hostname} port ${port}: ${reason}`);
    return 1;
  }
  const drained = await stopAtSignal(server, () => app, terminal, stopReloading);
  await app.close();
  return drained ? 0 : 1;
}

/** The server's own way would wait for whoever reads stderr. A client whose answer breaks off has its line in the log. */
function onError(thrown: unknown): Response {
  const [, place] = thrown instanceof Error ? thrown.stack?.split("\n") ?? [] : [];
  if (place !== undefined) {
    say(`A request failed, and has no line in the log: ${(thrown as Error).name} ${place.trim()}`);
  }
  return new Response(null, { status: 500 });
}

/** A file that this process may read, wherever it runs: its own code, or the program where that is one file. */
function readableFile(): string | undefined {
  if (Deno.build.os === "windows") return undefined;
  const path = Deno.build.standalone ? Deno.execPath() : import.meta.filename;
  return path !== undefined && Deno.permissions.querySync({ name: "read", path }).state === "granted"
    ? path
    : undefined;
}

/** Calls `again` at SIGHUP, unless that tells of a closed terminal, and when the file has changed. Returns what ends that. */
function onReload(file: string | undefined, terminal: Terminal, again: () => void): () => void {
  const modified = () => {
    try {
      return file === undefined ? undefined : Deno.statSync(file).mtime?.getTime();
    } catch {
      return undefined; // Between its removal and its return.
    }
  };
  let known = modified();
  let before = known;
  const timer = setInterval(() => {
    const now = modified();
    // It is read once it rests: half of a file is no configuration.
    const rests = now === before;
    before = now;
    if (!rests || now === undefined || now === known) return;
    known = now;
    again();
  }, LOOK_MS);
  if (!CAN_HANG_UP) return () => clearInterval(timer);
  const onHangUp = () => {
    if (terminal.isGone()) return;
    known = modified();
    again();
  };
  Deno.addSignalListener("SIGHUP", onHangUp);
  return () => {
    clearInterval(timer);
    Deno.removeSignalListener("SIGHUP", onHangUp);
  };
}

/** Waits for a signal, then ends the server. Returns whether every request came to its own end. */
async function stopAtSignal(
  server: Serving,
  app: () => App,
  terminal: Terminal,
  onStop: () => void,
): Promise<boolean> {
  const { first, second } = nextSignals(terminal);
  const signal = await first;
  onStop();
  say(`${signal}: finishing the requests that run; once more to abort them`);
  app().drain();
  if (signal === "SIGTERM") await Promise.race([delay(NOTICE_MS), second]);
  const drained = server.shutdown().then(() => true);
  const overdue = Promise.race([delay(DRAIN_LIMIT_MS), second]).then(() => false);
  if (await Promise.race([drained, overdue])) return true;
  app().abort();
  await Promise.race([drained, delay(ABORT_LIMIT_MS)]);
  return false;
}

function nextSignals(terminal: Terminal): { first: Promise<Deno.Signal>; second: Promise<void> } {
  const first = Promise.withResolvers<Deno.Signal>();
  const second = Promise.withResolvers<void>();
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT", "SIGBREAK"] : ["SIGINT", "SIGTERM"];
  let firstAt: number | undefined;
  const received = (name: Deno.Signal) => {
    first.resolve(name);
    firstAt ??= performance.now();
    if (performance.now() - firstAt > SAME_SIGNAL_MS) second.resolve();
  };
  for (const name of signals) Deno.addSignalListener(name, () => received(name));
  if (CAN_HANG_UP) {
    // The shell, the system and the launcher all tell of it, and nobody means it twice.
    Deno.addSignalListener("SIGHUP", () => {
      if (!terminal.isGone()) return;
      first.resolve("SIGHUP");
      firstAt ??= performance.now();
    });
  }
  // Where the launcher is killed, nobody else could stop this process.
  const launcher = Number(env("LANEWAY_LAUNCHER"));
  if (launcher && Deno.build.os !== "windows") {
    const timer = setInterval(() => {
      if (Deno.ppid === launcher) return;
      clearInterval(timer);
      received("SIGTERM");
    }, LOOK_MS);
  }
  return { first: first.promise, second: second.promise };
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The answer to a command. */
function print(text: string): void {
  // deno-lint-ignore no-console -- for the person who gave it
  console.log(text);
}
