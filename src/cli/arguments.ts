/** The launcher's command line. The launcher imports only files that import nothing. */
import { host } from "../platform/host.ts";

export const WATCH = "--watch";
/** The entry file of a gateway with plugins of its own. */
const MAIN = "--main";

/** The value of a command-line option in either form. If it occurs several times, the last one counts. */
export function option(name: string): string | undefined {
  const at = host().args.findLastIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  const found = host().args[at];
  return found?.includes("=") ? found.slice(found.indexOf("=") + 1) : found && host().args[at + 1];
}

/** The arguments that are not options: a command and its own arguments. */
export function commands(): string[] {
  return host().args.filter((arg, at) => !arg.startsWith("--") && !isOptionWithValue(host().args[at - 1]));
}

/** Whether there is an option that the fetcher does not have: `--help`, or a mistake that the gateway's parser reports. */
export function wantsOtherThanFetcher(): boolean {
  return host().args.some((arg) => arg.startsWith("--") && !/^--(config|hostname|port|main)(=|$)/.test(arg));
}

function isOptionWithValue(arg: string | undefined): boolean {
  return ["--config", "--hostname", "--port", "--workers", MAIN].includes(arg ?? "");
}

/** The arguments for the program: all except those that only the launcher reads. */
export function passedOn(): string[] {
  return host().args.filter((arg, at) =>
    arg !== WATCH && arg !== MAIN && !arg.startsWith(`${MAIN}=`) && host().args[at - 1] !== MAIN
  );
}
