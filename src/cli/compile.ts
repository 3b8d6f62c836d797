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

if (import.meta.main) {
  const args = ["compile", ...COMPILE, ...Deno.args, "--output", "laneway", "src/main.ts"];
  Deno.exit((await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).spawn().status).code);
}
