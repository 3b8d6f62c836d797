/** Makes one executable of the gateway, for this machine: `deno task compile`. */
import { ENGINE } from "../config/permissions.ts";

export const ROOT = new URL("../../", import.meta.url);

/** What `deno compile` is given, besides where the result goes and what it is made of. */
export const COMPILE: readonly string[] = [
  ENGINE,
  ...["net", "env", "read", "write"].map((name) => `--allow-${name}`),
  // How much memory there is decides above what the gateway sheds.
  "--allow-sys=systemMemoryInfo",
  "--deny-import",
  "--no-prompt",
  ...["gateway.default.json", "src/tokens/worker.ts"].flatMap((file) => ["--include", file]),
];

/** Whether it could be made. */
export async function compile(output: string, more: readonly string[] = []): Promise<boolean> {
  const args = ["compile", ...COMPILE, ...more, "--output", output, "src/main.ts"];
  return (await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).spawn().status).success;
}

if (import.meta.main) Deno.exit(await compile("laneway", Deno.args) ? 0 : 1);
