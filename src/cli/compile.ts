/** Makes one executable of the gateway, for this machine: `deno task compile`. */
import { ENGINE } from "../config/permissions.ts";

export const ROOT = new URL("../../", import.meta.url);

/** The options of `deno compile`, without the output and the entry file. */
export const COMPILE: readonly string[] = [
  ENGINE,
  ...["net", "env", "read", "write"].map((name) => `--allow-${name}`),
  // The gateway derives its memory limit from the machine's memory.
  "--allow-sys=systemMemoryInfo",
  "--deny-import",
  "--no-prompt",
  ...["gateway.default.json", "src/tokens/worker.ts"].flatMap((file) => ["--include", file]),
];

/** Builds what is in the folder `root`, whose sources are in the `language`. Returns whether the build succeeded. */
export async function compile(
  output: string,
  more: readonly string[] = [],
  root: string | URL = ROOT,
  language: "ts" | "js" = "ts",
): Promise<boolean> {
  const options = COMPILE.map((option) => option.replace(/\.ts$/, `.${language}`));
  const args = ["compile", ...options, ...more, "--output", output, `src/main.${language}`];
  return (await new Deno.Command(Deno.execPath(), { args, cwd: root }).spawn().status).success;
}

if (import.meta.main) Deno.exit(await compile("laneway", Deno.args) ? 0 : 1);
