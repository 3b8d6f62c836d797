/** Programs that a release is made with. */
import { ROOT } from "../compile.ts";

export interface RunOptions {
  cwd?: string | URL;
  env?: Record<string, string>;
  /** Its output counts even if it fails. */
  mayFail?: boolean;
}

/** Runs a program and returns its output. Throws with what it said if it fails. */
export async function run(
  program: string,
  args: readonly string[],
  { cwd = ROOT, env, mayFail = false }: RunOptions = {},
): Promise<string> {
  const options = { args: [...args], cwd, env, stdin: "null" } satisfies Deno.CommandOptions;
  const { success, stdout, stderr } = await new Deno.Command(program, options).output();
  const text = new TextDecoder().decode(stdout);
  if (!success && !mayFail) throw new Error(`${program} ${args[0]}: ${text}${new TextDecoder().decode(stderr)}`);
  return text;
}
