/** Runs modules of the program on Node as processes that may do no more than they need, for the launcher. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command, ModuleRun } from "./host.ts";
import { createCommand } from "./node_command.ts";
import { CAN_CONFINE_NET, codeOf, confinementOf, LOCK, preloadedBy, VARIABLES } from "./node_permissions.ts";
import { lendThreads } from "./node_threads.ts";

/** The variables that Node itself reads. Those of a proxy count only if Node is told to use one. */
const RUNTIME_VARIABLES =
  /^(NODE_OPTIONS|NODE_EXTRA_CA_CERTS|NODE_USE_ENV_PROXY|SSL_CERT_(FILE|DIR)|SystemRoot|TMPDIR|TZ|OTEL_\w+)$/;
const PROXY_VARIABLES = /^(https?|no)_proxy$/i;

/** The only module that runs as a lent thread. */
const TOKENS = new URL("../tokens/worker.ts", import.meta.url).href;

/** `entry`: the program's entry file. */
export function moduleOnNode(
  { flags, main, args, env, clearEnv, hasThreads = false, ...options }: ModuleRun,
  entry: string,
): Command {
  const file = main.startsWith("file:") ? fileURLToPath(main) : resolve(main);
  // The launcher itself, or a command that runs programs of the user: Node would hand its own limits on to them.
  if (flags.some((flag) => flag.startsWith("--allow-run"))) {
    return createCommand(process.execPath, { ...options, args: [...process.execArgv, file, ...args], env, clearEnv });
  }
  const place = {
    code: [entry, file, ...preloadedBy(process.execArgv, resolve)].flatMap(codeOf),
    canConfineNet: CAN_CONFINE_NET,
    hasThreads,
    resolve,
  };
  const { options: confined, variables } = confinementOf(flags, place);
  const own = clearEnv ? {} : variablesOf(variables);
  const command = {
    ...options,
    args: [...process.execArgv, ...confined, `--import=${LOCK}`, file, ...args],
    env: { ...own, ...env, ...variables && { [VARIABLES]: [...variables, ...Object.keys(env ?? {})].join() } },
    clearEnv: true,
  };
  const borrows = !hasThreads;
  return createCommand(
    process.execPath,
    command,
    borrows ? (child) => lendThreads(child, TOKENS, place.code) : undefined,
  );
}

function variablesOf(names: readonly string[] | undefined): Record<string, string> {
  const hasProxy = process.env.NODE_USE_ENV_PROXY === "1";
  const isWanted = (name: string) =>
    !names || names.includes(name) || RUNTIME_VARIABLES.test(name) || hasProxy && PROXY_VARIABLES.test(name);
  return Object.fromEntries(
    Object.entries(process.env).filter(([name, value]) => value !== undefined && isWanted(name)),
  ) as Record<string, string>;
}
