/** The program without a command: it serves until a signal stops it. */
import manifest from "../../deno.json" with { type: "json" };
import { type App, type AppOptions, createApp, pluginFacts } from "../app.ts";
import { linesOfLacking } from "../compose/hosted.ts";
import { unmaskedSecrets } from "../compose/secrets.ts";
import { placeOfStore } from "../compose/store.ts";
import { loadConfig, type LoadedConfig } from "../config/load.ts";
import { metricsAddress, TAKES_OVER } from "../config/permissions.ts";
import type { Config } from "../config/schema.ts";
import { fileWithoutSecret, secretsInFiles } from "../config/secrets.ts";
import { createDescriptors, type Descriptors, readableFile } from "../http/descriptors.ts";
import { CutOff } from "../http/respond.ts";
import { changeOf } from "../observe/audit.ts";
import type { Platform, Serving } from "../platform/platform.ts";
import type { Listen } from "../programs/flags.ts";
import type { Program } from "../programs/program.ts";
import { createIdleWatch, type IdleWatch } from "./idle.ts";
import { reload } from "./reload.ts";
import { startupMessage, unmaskedLines } from "./startup.ts";
import { type Place, placeOf, stopAtSignal, variable, watchSignals } from "./stop.ts";
import { watchTerminal } from "./terminal.ts";
import { createRestingText, modifiedAt, watchConfig } from "./watch_config.ts";
import type { Worker } from "./worker.ts";

const AUTOMATIC =
  "Traces: other instrumentation in this process records whole URLs, and sends the trace to every upstream. " +
  "Deno does so unless OTEL_DENO_TRACING=false";

type Load = (
  env: Platform["env"],
  readText?: Platform["readText"],
  secretText?: Platform["readText"],
) => LoadedConfig;

/** Serves as one of `count` processes, or alone. Returns the exit code. */
export async function serve(path: string | undefined, listen: Listen, program: Program, count = 1): Promise<number> {
  if (variable(TAKES_OVER, program.platform) === undefined) {
    return await serveUntilStopped(path, listen, program, count);
  }
  const { takeOver } = await import("./take_over.ts");
  return await takeOver(
    program,
    (program, onServing) => serveUntilStopped(path, listen, program, count, onServing),
  );
}

async function serveUntilStopped(
  path: string | undefined,
  listen: Listen,
  given: Program,
  count: number,
  onServing?: () => Promise<void>,
): Promise<number> {
  const worker = count > 1 ? await (await import("./worker.ts")).joinWorkers(count, given) : undefined;
  const program = worker?.program ?? given;
  const { platform, plugins, streams: { say } } = program;
  const facts = pluginFacts(plugins);
  let since: number | undefined;
  const readText = (file: string) => {
    since = modifiedAt(file, platform);
    return platform.readText(file);
  };
  const loaded = worker?.loaded ??
    loadConfig({ path, listen, ...facts, env: platform.env, readText, secretText: platform.readText });
  worker?.check(loaded);
  const { file } = loaded;
  const terminal = watchTerminal(platform);
  const descriptors = createDescriptors(readableFile(platform));
  // If the file is removed, the built-in configuration must not take its place.
  const load: Load = (env, readText = platform.readText, secretText = platform.readText) =>
    loadConfig({ path: file ?? path, listen, ...facts, env, readText, secretText });
  const place = placeOf({ path, worker, loaded, platform, replace: () => signals.replace() });
  const running = createRunning(loaded, load, { descriptors, worker, place }, program);
  // Before the first client is served and the start-up message is printed, so that every later change is noticed.
  const again = () => running.reload();
  const stopReloading = watchConfig({ platform, file, since, terminal, again, look: running.readSecrets });
  const signals = watchSignals(platform, terminal);
  const idleWatch = createIdleWatch(() => performance.now(), (ms) => new Promise((go) => platform.after(ms, go)));
  const { app } = running;
  const server = await listenAll(loaded, running, { descriptors, idleWatch, worker, place }, program);
  if (!server) {
    stopReloading();
    signals.forget();
    return 1;
  }
  const stopHearing = platform.onUncaught((thrown) => say(`A fault that nothing caught: ${locationOf(thrown)}`));
  await worker?.begin(loaded, running);
  await onServing?.();
  if (worker?.isFirst !== false) linesOfLacking(loaded.config, platform.env).forEach((line) => say(line));
  if (loaded.config.observe.telemetry && platform.telemetry?.isAutomatic) say(AUTOMATIC);
  app().audit?.write({ event: "started", version: manifest.version });
  void import("./settle_in.ts").then(({ settleIn }) =>
    settleIn(loaded, { descriptors, idleWatch, app, worker }, program)
  );
  const patience = () => running.config().stop;
  const drained = await stopAtSignal({ signals, server, app, patience, onStop: stopReloading, say });
  await app().close();
  await worker?.end();
  stopHearing();
  return drained ? 0 : 1;
}

interface Running {
  app(): App;
  config(): Config;
  /** Reads the configuration again, and uses it if possible. `isQuiet`: report only changes. `by`: the operator who changed it. */
  reload(isQuiet?: boolean, by?: string): void;
  /** Reads the files of secrets again, and uses what they hold once it rests. */
  readSecrets(): void;
}

function createRunning(
  loaded: LoadedConfig,
  load: Load,
  { descriptors, worker, place }: { descriptors: Descriptors; worker?: Worker; place: Place },
  { platform, plugins, streams: { say, log } }: Program,
): Running {
  const { areScarce: areDescriptorsScarce } = descriptors;
  const desks = desksFor(() => self, loaded, load, () => ({ ...place, platform, plugins, descriptors }));
  const common = { plugins, platform, log, areDescriptorsScarce, workers: worker, ...desks };
  let running = loaded.config;
  const held = createRestingText(secretsInFiles(running, platform));
  let app = createApp({ config: running, ...common });
  let isOwnChange = false;
  const keep = (reason: string) => {
    app.audit?.write({ event: "configuration refused" });
    say(`Kept the running configuration. ${reason}`);
  };
  /** Serves by a configuration and the secrets that files hold now. Returns whether that was possible. */
  const use = (config: Config): boolean => {
    const secrets = secretsInFiles(config, platform);
    const next = appOrReason({ config, ...common, after: app });
    if (typeof next === "string") keep(next);
    else [app, running] = [next, config];
    held.use(running === config ? secrets : secretsInFiles(running, platform));
    return app === next;
  };
  const self: Running = {
    app: () => app,
    config: () => running,
    reload(isQuiet = false, by) {
      const next = reload(running, { load, platform });
      if ("kept" in next) return keep(next.kept);
      if (JSON.stringify(next.config) === JSON.stringify(running)) {
        // A change at the console is also seen as a change of the file.
        if (!isQuiet && !isOwnChange) say("The configuration has not changed");
        isOwnChange = false;
        return;
      }
      const change = changeOf(running, next.config);
      if (!use(next.config)) return;
      isOwnChange = by !== undefined;
      app.audit?.write(by === undefined ? change : { ...change, by });
      worker?.keep({ ...loaded, config: running });
      const unmasked = unmaskedLines(unmaskedSecrets(running, platform));
      say(["Serving with the new configuration", ...unmasked].join("\n").trimEnd());
    },
    readSecrets() {
      const secrets = secretsInFiles(running, platform);
      if (!held.isNew(secrets)) return;
      held.use(secrets);
      const lacking = fileWithoutSecret(running, platform);
      if (lacking !== undefined) return keep(`${lacking} holds no secret`);
      if (!use(running)) return;
      app.audit?.write({ event: "secrets changed" });
      say("Serving with the new secrets");
    },
  };
  return self;
}

/** The desks for operators, which are loaded with the console. */
function desksFor(
  running: () => Running,
  loaded: LoadedConfig,
  load: Load,
  place: () => Place & Pick<Program, "platform" | "plugins"> & { descriptors: Descriptors },
): Pick<AppOptions, "configuration" | "setup"> {
  const common = () => ({ ...loaded, ...place(), load, running: running() });
  return {
    configuration: async () => (await import("./config_desk.ts")).createConfigDesk(common()),
    setup: async () => (await import("./setup_desk.ts")).createSetupDesk(common()),
  };
}

/** The app, or the reason why there is none: a plugin may refuse options that its schema accepts. */
function appOrReason(options: Parameters<typeof createApp>[0]): App | string {
  try {
    return createApp(options);
  } catch (error) {
    return (error as Error).message;
  }
}

/** Listens on all configured addresses, or on none if one of them fails. */
async function listenAll(
  loaded: LoadedConfig,
  running: Running,
  guards: { descriptors: Descriptors; idleWatch: IdleWatch; worker?: Worker; place: Place },
  program: Program,
): Promise<Serving | undefined> {
  const { worker, place } = guards;
  const address = metricsAddress(loaded.config.observe.metrics);
  if (!address) return await listenOn(loaded, running, guards, program);
  const { serveMetrics } = await import("./metrics_listener.ts");
  const metrics = await serveMetrics(address, { page: () => running.app().metrics(), shared: place.shared }, program);
  const server = metrics && await listenOn(loaded, running, guards, program);
  if (!server) {
    await metrics?.shutdown();
    return undefined;
  }
  if (!worker || worker.isFirst) program.streams.say(`Metrics: ${metrics.url}`);
  return {
    async shutdown() {
      const ended = server.shutdown();
      // The process that has replaced this one has metrics, too, and a scrape would get either.
      if (!place.isReplaced) await ended;
      await Promise.all([ended, metrics.shutdown()]);
    },
  };
}

/** Listens, and prints the start-up message. If it cannot listen, it prints why and returns no server. */
async function listenOn(
  { config, source }: LoadedConfig,
  { app }: Running,
  { descriptors, idleWatch, worker, place }: Parameters<typeof listenAll>[2],
  { platform, streams: { say } }: Program,
): Promise<Serving | undefined> {
  const { env } = platform;
  const store = placeOfStore(config.store, platform, env);
  const unmasked = unmaskedSecrets(config, platform);
  const { hostname, port } = config.listen;
  try {
    return await platform.serve({
      hostname,
      port,
      shared: place.shared,
      handler(request, info) {
        idleWatch.broken();
        return app().fetch(request, info);
      },
      onListen(address) {
        place.port = address.port;
        if (worker && !worker.isFirst) return;
        say(
          startupMessage({
            ...{ version: manifest.version, config, source, address, secrets: platform, unmasked, store },
            sandbox: platform.sandbox,
          }).trimEnd(),
        );
      },
      onError: (thrown) => answerFailure(thrown, say),
      areWasted: descriptors.areWasted,
      onRenew: () => app().renewed(),
      say,
    });
  } catch (error) {
    const inUse = (error as { code?: string }).code === "EADDRINUSE";
    const reason = inUse ? "the port is in use; choose another with --port" : (error as Error).message;
    say(`Cannot listen on ${hostname} port ${port}: ${reason}`);
    return undefined;
  }
}

/** The server's own handler would block on stderr. An answer that was cut off has its line in the log already. */
function answerFailure(thrown: unknown, say: (text: string) => void): Response {
  if (thrown instanceof Error && !(thrown instanceof CutOff)) {
    say(`A request failed without a log line: ${locationOf(thrown)}`);
  }
  return new Response(null, { status: 500 });
}

/** The name and the location of an error, without its message, which may quote a request. */
function locationOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `no error but a value of type ${typeof thrown}`;
  const { name, code, stack } = thrown as Error & { code?: unknown };
  const place = stack?.split("\n").find((line) => /^\s+at /.test(line))?.trim();
  return [name, typeof code === "string" ? code : undefined, place].filter(Boolean).join(" ");
}
