/** Starts the interpreter beside the gateway. The launcher loads this file, so it imports only files that import nothing. */
import { command, host, moduleCommand, onNode, RUNTIME_VARIABLES } from "../platform/host.ts";
import { isObject } from "../util/config_text.ts";
import { arePackagesThere, isCached } from "./cached.ts";
import type { FetcherWorld } from "./fetcher_start.ts";
import { keepRunning, type KeptProcess, runtimeEnvironment } from "./kept_process.ts";

export interface InterpreterBeside {
  process?: KeptProcess;
  /** Empty if no interpreter runs. The operator has been given the reason then, and the gateway need not give another. */
  url: string;
  token: string;
}

const OFF: InterpreterBeside = { url: "", token: "" };

const FOLDER = new URL("../interpreter/", import.meta.url);
const pathOf = (url: URL) => decodeURIComponent(url.pathname).replace(/^\/(?=[A-Za-z]:)/, "");
const CONFIG = pathOf(new URL("deno.json", FOLDER));
const ENTRIES = ["main.ts", "session.ts", "python_worker.ts"].map((name) => new URL(name, FOLDER).href);

/** The settings of the interpreter, whose defaults are those of the schema. */
const DEFAULTS = {
  processes: 4,
  memoryMiB: 512,
  timeoutMs: 60_000,
  idleMs: 1_200_000,
  outputCharacters: 100_000,
  fileBytes: 16 * 2 ** 20,
};
const OPTIONS = {
  processes: "processes",
  memoryMiB: "memory",
  timeoutMs: "timeout",
  idleMs: "idle",
  outputCharacters: "output",
  fileBytes: "files",
};

/** Starts the interpreter if the configuration wants code to run here. `config`: merged but not checked. */
export async function startInterpreter(
  config: unknown,
  { env, readJson, say }: FetcherWorld,
): Promise<InterpreterBeside | undefined> {
  const { codeExecution } = isObject(config) && isObject(config.hostedTools) ? config.hostedTools : {};
  if (!isObject(codeExecution)) return undefined;
  if (readJson(new URL("deno.json", FOLDER)) === undefined) {
    say("Code execution is off: this program does not include the interpreter. Start the gateway from its sources");
    return OFF;
  }
  if (onNode()?.canConfineNet === false) {
    say("Code execution is off: this version of Node cannot keep a process off the network. Use Node 25 or Deno");
    return OFF;
  }
  if (!onNode() && !arePackagesThere(readJson(new URL("deno.lock", FOLDER))) && !await download(say)) {
    say("Code execution is off: Python cannot be downloaded");
    return OFF;
  }
  const token = Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  const limits = Object.entries(DEFAULTS).map(([name, usual]) => {
    const set = codeExecution[name];
    return `--${OPTIONS[name as keyof typeof OPTIONS]}=${Number.isSafeInteger(set) ? set : usual}`;
  });
  const process = await keepRunning((port) =>
    moduleCommand({
      flags: [
        "--config",
        CONFIG,
        "--allow-net=127.0.0.1",
        `--allow-run=${host().execPath().replaceAll(",", ",,")}`,
        `--allow-env=${[TOKEN, ...RUNTIME_VARIABLES].join(",")}`,
        `--allow-read=${pathOf(FOLDER).replaceAll(",", ",,")}`,
        "--deny-import",
        "--cached-only",
        "--no-prompt",
      ],
      main: ENTRIES[0]!,
      args: [`--port=${port}`, ...limits],
      clearEnv: true,
      env: { ...runtimeEnvironment(env), [TOKEN]: token },
      // It ends with its standard input, which ends with this process, however this one ends.
      stdin: "piped",
      stdout: "piped",
    }).spawn(), 0);
  if (!process) {
    say("The interpreter did not start: code execution is off");
    return OFF;
  }
  return { process, url: `http://127.0.0.1:${process.port}`, token };
}

const TOKEN = "LANEWAY_INTERPRETER_TOKEN";

/** Downloads Python, which is not in the gateway's own lock file. */
async function download(say: (text: string) => void): Promise<boolean> {
  if (await isCached("--config", CONFIG, ...ENTRIES)) return true;
  say("Downloading Python for code execution (6 MB); later starts need no network");
  const args = ["cache", "--quiet", "--config", CONFIG, ...ENTRIES];
  return (await command(host().execPath(), { args }).spawn().status).success;
}
