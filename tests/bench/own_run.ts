/**
 * The gateway's own cost, measured in a process of its own, where nothing else runs. As a program (`deno task bench:own`) it
 * measures with the engine's options that the gateway starts with.
 */
import { ENGINE } from "../../src/config/permissions.ts";

/** Runs `own_cpu.ts` on these options of the engine (`--v8-flags=…`), with these arguments. Returns what it prints. */
export async function runOwn(engine: string, ...own: string[]): Promise<string> {
  const program = new URL("./own_cpu.ts", import.meta.url).href;
  const config = new URL("../deno.json", import.meta.url).pathname;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--config", config, "--allow-all", engine, program, ...own],
    stdin: "null",
  }).output();
  if (!success) throw new Error(`Cannot measure: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trimEnd();
}

// deno-lint-ignore no-console -- this is a command line
if (import.meta.main) console.log(await runOwn(ENGINE, ...Deno.args));
