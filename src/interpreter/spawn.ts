/** Starts the process of a container, which may read its own code and nothing else. */
import { fileURLToPath } from "node:url";
import process from "node:process";
import { type ChildProcess, moduleCommand, RUNTIME_VARIABLES, standIn } from "../platform/host.ts";
import type { ContainerLimits } from "./protocol.ts";

const SESSION = new URL("./session.ts", import.meta.url).href;
const CODE = fileURLToPath(new URL("../", import.meta.url));
const CONFIG = fileURLToPath(new URL("./deno.json", import.meta.url));
/** The memory of the engine for its own objects, in MiB. */
const HEAP = 192;
const PAGES_PER_MIB = 16;

/** Returns the function that starts a process. */
export async function spawnContainer({ memory, output, fileBytes }: ContainerLimits): Promise<() => ChildProcess> {
  const onNode = navigator.userAgent.startsWith("Node.js");
  if (onNode) standIn((await import("../platform/node_host.ts")).nodeHost(fileURLToPath(SESSION)));
  const runtime = fileURLToPath(new URL("./", import.meta.resolve("pyodide")));
  const paths = [CODE, runtime].map((path) => path.replaceAll(",", ",,"));
  const engine = [
    `--wasm-max-mem-pages=${memory * PAGES_PER_MIB}`,
    `--max-old-space-size=${HEAP}`,
    "--disallow-code-generation-from-strings",
  ];
  const flags = [
    "--config",
    CONFIG,
    // Node lets a process read its own program and packages anyway, and takes a folder in another one for less than that.
    ...(onNode ? [] : [`--allow-read=${paths.join(",")}`]),
    "--deny-import",
    "--cached-only",
    "--no-prompt",
    `--v8-flags=${engine.join(",")}`,
  ];
  const env = Object.fromEntries(RUNTIME_VARIABLES.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }));
  return () =>
    moduleCommand({
      flags,
      main: SESSION,
      hasThreads: true,
      args: [memory, output, fileBytes].map(String),
      // The folder in which the gateway was started is none of its business, and Node would refuse to look at it.
      cwd: CODE,
      clearEnv: true,
      env,
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
}
