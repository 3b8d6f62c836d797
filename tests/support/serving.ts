/** A gateway as a process of its own, by any command line that starts one on a free port. */
import { assert } from "@std/assert";
import { until, within } from "./wait.ts";

/** Calls `use` with the URL of the gateway that the command starts, and ends it by SIGTERM. */
export async function serving(
  program: string,
  options: Deno.CommandOptions,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const piped = { ...options, stdin: "null", stdout: "null", stderr: "piped" } satisfies Deno.CommandOptions;
  const child = new Deno.Command(program, piped).spawn();
  let said = "";
  let hasEnded = false;
  const reading = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) said += text;
    hasEnded = true;
  })();
  const url = () => /serves (http\S+)\s/.exec(said)?.[1];
  try {
    await until(() => url() !== undefined || hasEnded);
    assert(url(), said);
    await use(url()!);
  } finally {
    if (!hasEnded) child.kill("SIGTERM");
    await within(Promise.all([child.status, reading])).catch((error) => {
      child.kill("SIGKILL");
      throw new Error(`${error.message} to stop. It said: ${said}`);
    });
  }
}
