/** Colours for terminals. The words say everything that the colours do. */
import type { Platform } from "../platform/platform.ts";
import { builtin } from "../util/builtin.ts";

type Style = Parameters<typeof import("node:util").styleText>[0];

/** The parts of a line that have a style. A mark stands at the beginning of a line, in a column of its own. */
const STYLES: readonly (readonly [part: RegExp, style: Style])[] = [
  [/^(ok|passed)(?= {2})/gm, "green"],
  [/^(warning|skipped)(?= {2})/gm, "yellow"],
  [/^(error|failed)(?= {2})/gm, ["red", "bold"]],
  [/^note(?= {2})/gm, "cyan"],
  [/^ *→/gm, "cyan"],
  [/^Warning:/gm, "yellow"],
  [/^No problems found$/gm, "green"],
  [/\b[1-9]\d* (errors?|failed)\b(?=[,\n]|$)/g, "red"],
  [/^(Usage|[A-Z][a-z ]+):$|^Usage:/gm, "bold"],
];

type Environment = Pick<Platform, "env" | "isGranted" | "isTerminal">;

/** Whether a stream shows colours: on a terminal, unless the variables that all programs know say otherwise. */
export function hasColours({ env, isGranted, isTerminal }: Environment, stream: "stdout" | "stderr"): boolean {
  const read = (variable: string) => isGranted({ name: "env", variable }) ? env(variable) : undefined;
  const forced = read("FORCE_COLOR");
  if (forced !== undefined) return !/^(0|false)$/.test(forced);
  // A process that may not read the user's wish has no colours.
  return isGranted({ name: "env", variable: "NO_COLOR" }) && !read("NO_COLOR") && read("TERM") !== "dumb" &&
    isTerminal(stream);
}

/** Paints text that has no control characters. `isError`: whether it says why a command has failed. */
export function painter(
  platform: Environment,
): (text: string, stream: "stdout" | "stderr", isError?: boolean) => string {
  const shows = { stdout: hasColours(platform, "stdout"), stderr: hasColours(platform, "stderr") };
  return (text, stream, isError = false) => {
    if (!shows[stream]) return text;
    const styled = (part: string, style: Style) =>
      builtin("node:util").styleText(style, part, { validateStream: false });
    if (isError) return text.replace(/^.*$/m, (line) => styled(line, "red"));
    return STYLES.reduce((painted, [part, style]) => painted.replace(part, (found) => styled(found, style)), text);
  };
}
