/** The launcher's command line. The launcher imports only files that import nothing. */

export const WATCH = "--watch";
/** The entry file of a gateway with plugins of its own. */
const MAIN = "--main";

/** The value of a command-line option in either form. If it occurs several times, the last one counts. */
export function option(name: string): string | undefined {
  const at = Deno.args.findLastIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  const found = Deno.args[at];
  return found?.includes("=") ? found.slice(found.indexOf("=") + 1) : found && Deno.args[at + 1];
}

/** The arguments that are not options: a command and its own arguments. */
export function commands(): string[] {
  return Deno.args.filter((arg, at) => !arg.startsWith("--") && !isOptionWithValue(Deno.args[at - 1]));
}

/** Whether there is an option that the fetcher does not have: `--help`, or a mistake that the gateway's parser reports. */
export function wantsOtherThanFetcher(): boolean {
  return Deno.args.some((arg) => arg.startsWith("--") && !/^--(config|hostname|port|main)(=|$)/.test(arg));
}

function isOptionWithValue(arg: string | undefined): boolean {
  return ["--config", "--hostname", "--port", "--workers", MAIN].includes(arg ?? "");
}

/** The arguments for the program: all except those that only the launcher reads. */
export function passedOn(): string[] {
  return Deno.args.filter((arg, at) =>
    arg !== WATCH && arg !== MAIN && !arg.startsWith(`${MAIN}=`) && Deno.args[at - 1] !== MAIN
  );
}
