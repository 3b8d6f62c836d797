/** A gateway in a process of its own that may do what its configuration needs, and no more. */
import { codeFolder, flagsOf, permissionsOf } from "../../src/config/permissions.ts";
import { isThere } from "../../src/config/is_there.ts";
import type { ConfigInput } from "./app.ts";
import { GATEWAY_ENV } from "./gateway_process.ts";
import { within } from "./wait.ts";

const ROOT = new URL("../../", import.meta.url);

export interface PermittedGateway {
  url: string;
  /** Resolves once it has printed that since it started. Throws where it ends before. */
  says(words: string | RegExp): Promise<void>;
  /** All that it has printed. */
  printed(): string;
}

/** The permissions of a gateway with the configuration in this file. */
export function permissionsFor(config: ConfigInput, file: string) {
  return permissionsOf({
    config,
    file,
    listen: {},
    env: () => undefined,
    os: Deno.build.os,
    code: codeFolder(),
    isThere,
  });
}

/** Writes the configuration to the file, and ends the gateway after its use. */
export async function withPermittedGateway(
  config: ConfigInput,
  file: string,
  use: (gateway: PermittedGateway) => Promise<void>,
): Promise<void> {
  await Deno.writeTextFile(file, JSON.stringify(config));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--frozen", ...flagsOf(permissionsFor(config, file)), "src/main.ts", "--config", file],
    cwd: ROOT,
    env: GATEWAY_ENV,
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  let printed = "";
  const says = async (words: string | RegExp) => {
    while (printed.search(words) < 0) {
      const { done, value } = await within(reader.read());
      if (done) throw new Error(`The gateway ended: ${printed}`);
      printed += value;
    }
  };
  try {
    await says("Keys: ");
    const [url] = /http:\/\/[\d.:]+/.exec(printed)!;
    await use({ url, says, printed: () => printed });
    child.kill("SIGTERM");
    while (!(await reader.read()).done);
  } finally {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await child.status;
  }
}
