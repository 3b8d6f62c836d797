import type { Platform } from "../platform/platform.ts";

/**
 * How the user started this program, as the beginning of a command line that works for them: `laneway`, `deno task -q laneway` or
 * `npx -y deno@2.9.6 task -q laneway`.
 */
export function invocation({ executable, command }: Pick<Platform, "executable" | "command">): string {
  return executable === undefined ? command : executable.replace(/^.*[/\\]/, "").replace(/\.exe$/i, "");
}
