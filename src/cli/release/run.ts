/** Programs that a release is made with. */
import { ROOT } from "../compile.ts";

/** How long a program may run, in milliseconds. npm alone would ask a registry that does not answer for half an hour. */
const LONGEST_MS = 10 * 60_000;

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
  const signal = AbortSignal.timeout(LONGEST_MS);
  const options = { args: [...args], cwd, env, stdin: "null", signal } satisfies Deno.CommandOptions;
  const { success, stdout, stderr } = await new Deno.Command(program, options).output();
  const text = new TextDecoder().decode(stdout);
  if (signal.aborted) throw new Error(`${program} ${args[0]} did not end in ${LONGEST_MS / 60_000} minutes`);
  if (!success && !mayFail) throw new Error(`${program} ${args[0]}: ${new TextDecoder().decode(stderr)}${text}`);
  return text;
}
