/** A gateway that takes over the port of another one. It tells the launcher when it serves, or why it cannot. */
import type { Program } from "../programs/program.ts";
import { askLauncher, launcherOf } from "./desk_client.ts";

/** `run`: serves, and calls `onServing` once it does. Returns its exit code. */
export async function takeOver(
  program: Program,
  run: (program: Program, onServing: () => Promise<void>) => Promise<number>,
): Promise<number> {
  const { platform, streams } = program;
  const launcher = launcherOf(platform);
  const said: string[] = [];
  let isServing = false;
  const report = async (failure?: string) => {
    // If the launcher is gone, the gateway ends with it.
    if (launcher) await askLauncher(launcher, { ask: "started", failure }).catch(() => {});
  };
  const say = (text: string) => {
    if (!isServing) said.push(text);
    streams.say(text);
  };
  const onServing = async () => {
    isServing = true;
    await report();
  };
  try {
    const code = await run({ ...program, streams: { ...streams, say } }, onServing);
    if (!isServing) await report(said.join("\n") || `It ended with code ${code}`);
    return code;
  } catch (error) {
    if (!isServing) await report((error as Error).message);
    throw error;
  }
}
