/** The gateway's side of the launcher's desk, for the console's guide. */
import type { LoadedConfig } from "../config/load.ts";
import { editedFiles } from "../config/permissions.ts";
import type { Config } from "../config/schema.ts";
import type { Examining, SetupDesk, TakenEffect } from "../context/setup.ts";
import { isJsonObject } from "../canonical/json.ts";
import type { Platform } from "../platform/platform.ts";
import { invocation } from "../programs/invocation.ts";
import { type Asked, askLauncher, launcherOf } from "./desk_client.ts";
import { reload } from "./reload.ts";
import type { Plugins } from "../compose/plugins.ts";
import type { Descriptors } from "../http/descriptors.ts";

export interface SetupDeskOptions extends Pick<LoadedConfig, "file"> {
  /** The path on the command line. */
  path: string | undefined;
  platform: Platform;
  plugins: Partial<Plugins>;
  descriptors: Descriptors;
  load(env: Platform["env"], readText?: Platform["readText"]): LoadedConfig;
  running: { config(): Config; reload(isQuiet: boolean, by: string): void };
  /** The port on which the gateway listens. */
  readonly port?: number;
  /** Whether this is one of several processes. */
  isWorker: boolean;
  /** Called once another process serves in place of this one. */
  onReplaced(): void;
}

const NO_LAUNCHER =
  "Pages can run commands only if the gateway was started with deno task -q laneway. Type the commands yourself";
const SEVERAL = "This gateway has several processes, so it can run no command. Type the commands yourself";

export function createSetupDesk(options: SetupDeskOptions): SetupDesk {
  const { file, path, platform, isWorker } = options;
  const launcher = launcherOf(platform);
  const ask = async (asked: Asked, signal?: AbortSignal) => await askLauncher(launcher!, asked, signal);
  const ran = (task: Parameters<SetupDesk["run"]>[0], session: string | undefined, signal: AbortSignal) =>
    ask({ ask: "run", session, task, port: options.port }, signal);
  const answer = async (asked: Asked) => {
    const found = await (await ask(asked)).json();
    return isJsonObject(found) ? found : {};
  };
  return {
    file: file ?? (path || platform.env("LANEWAY_CONFIG") || "gateway.json"),
    isFresh: file === undefined,
    command: invocation(platform),
    platform: platform.os,
    why: isWorker ? SEVERAL : launcher ? undefined : NO_LAUNCHER,
    async state(session) {
      const { needsCode, isOpen, folder } = await answer({ ask: "state", session });
      return {
        needsCode: needsCode !== false,
        isOpen: isOpen === true,
        ...typeof folder === "string" && { folder },
      };
    },
    open: async (code) => String((await answer({ ask: "open", code })).session),
    run: async (task, session, signal) => await (await ran(task, session, signal)).json(),
    stream: async (task, session, signal) => (await ran(task, session, signal)).body(),
    examine: (how) => examineHere(options, how),
    titles: async () => (await import("../programs/connect/titles.ts")).titlesByAgent(),
    restartFor: (text) => restartFor(options, text),
    async use(session, by) {
      const reason = restartFor(options);
      // A gateway without a file keeps neither its name nor its former text.
      if (file !== undefined && reason === undefined) return reloaded(options, by);
      const { outcome, reason: failure } = await answer({ ask: "restart", session, port: options.port });
      if (outcome === "restarted") {
        options.onReplaced();
        return { outcome };
      }
      if (reason === undefined) return reloaded(options, by);
      const why = typeof failure === "string" ? failure : reason;
      return { outcome: "by-hand", command: invocation(platform), reason: why };
    },
  };
}

/** How long a server may take for one answer, in milliseconds. A person waits for it. */
const PATIENCE_MS = 30_000;

/** Checks the file as it is now, with the permissions, the secrets and the store of this process. */
async function examineHere(options: SetupDeskOptions, { parts, only, store, signal, tell }: Examining): Promise<void> {
  const { file, path, platform, plugins, descriptors, running } = options;
  const { examine } = await import("../programs/doctor/mod.ts");
  const { listen: { hostname, port } } = running.config();
  const fetch = (input: string | URL | Request, init: RequestInit = {}) =>
    platform.fetch(input, { ...init, signal: AbortSignal.any(init.signal ? [init.signal, signal] : [signal]) });
  const examination = {
    platform: {
      ...platform,
      fetch,
      env: (name: string) => platform.isGranted({ name: "env", variable: name }) ? platform.env(name) : undefined,
    },
    plugins,
    path: file ?? path,
    listen: { hostname, port },
    descriptors,
    now: Date.now,
    patienceMs: PATIENCE_MS,
    only,
    serving: { hostname, port: options.port ?? port },
    store,
    signal,
  };
  await examine(examination, parts, tell);
}

function reloaded({ running }: SetupDeskOptions, by: string): TakenEffect {
  running.reload(true, by);
  return { outcome: "applied" };
}

/** Why the gateway needs a restart for the file as it is, or with this text. */
function restartFor({ file, load, platform, running }: SetupDeskOptions, text?: string): string | undefined {
  const readText = text === undefined ? platform.readText : () => text;
  const next = reload(running.config(), { load: (env) => load(env, readText), platform });
  if ("kept" in next) return next.kept;
  // The gateway goes on without it, but the operator has just asked for it.
  const isEdited = next.config.console !== false && next.config.console?.edit === true && file !== undefined;
  const mayWrite = (path: string) => platform.isGranted({ name: "write", path });
  return isEdited && !editedFiles(file).every(mayWrite) ? "Changing the file here needs a restart" : undefined;
}
