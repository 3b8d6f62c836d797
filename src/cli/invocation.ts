/**
 * How the user started this program, as the beginning of a command line that works for them: `laneway`, `deno task start` or
 * `npx -y deno@2.9.6 task start`.
 */
export function invocation(env: (name: string) => string | undefined): string {
  if (Deno.build.standalone) return Deno.execPath().replace(/^.*[/\\]/, "").replace(/\.exe$/i, "");
  return env("LANEWAY_COMMAND") || "deno task start";
}
