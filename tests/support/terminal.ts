/** A program in a terminal of its own, as `script` makes one. */
import { within } from "./wait.ts";

export interface Terminal {
  /** Resolves once a text is on the screen that was not there at the last call. */
  shows(text: string): Promise<void>;
  /** Types keys. */
  type(keys: string): Promise<void>;
  /** The whole output so far, with control sequences. */
  output(): string;
  /** The exit code. */
  ended: Promise<number>;
}

export const KEYS = { down: "\x1b[B", up: "\x1b[A", enter: "\r", space: " ", leave: "\x03" };

/** `after`: a shell command that runs in the same terminal when the program has ended. */
export async function withTerminal(
  args: readonly string[],
  { cwd, env = {}, after = "true" }: { cwd: string; env?: Record<string, string>; after?: string },
  use: (terminal: Terminal) => Promise<void>,
): Promise<void> {
  const quoted = args.map((arg) => `'${arg.replaceAll("'", "'\\''")}'`).join(" ");
  const line = `stty cols 120 rows 50; ${quoted}; code=$?; ${after}; exit $code`;
  const child = new Deno.Command("script", {
    args: ["-qfec", line, "/dev/null"],
    cwd,
    env: { TERM: "xterm-256color", SHELL: "/bin/sh", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let output = "";
  let seen = 0;
  let isOver = false;
  let changed = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      output += piece;
      changed.resolve();
    }
    isOver = true;
    changed.resolve();
  })();
  const writer = child.stdin.getWriter();
  const terminal: Terminal = {
    output: () => output,
    async shows(text) {
      for (;;) {
        const at = plain(output).indexOf(text, seen);
        if (at >= 0) {
          seen = at + text.length;
          return;
        }
        if (isOver) throw new Error(`"${text}" was not shown in\n${plain(output).slice(seen)}`);
        changed = Promise.withResolvers();
        await within(changed.promise).catch(() => {
          throw new Error(`"${text}" was not shown in\n${plain(output).slice(seen)}`);
        });
      }
    },
    type: (keys) => writer.write(new TextEncoder().encode(keys)),
    ended: child.status.then(async ({ code }) => {
      await reading;
      return code;
    }),
  };
  try {
    await use(terminal);
  } finally {
    await writer.close().catch(() => {});
    try {
      child.kill();
    } catch {
      // it has ended
    }
    await child.status;
    await reading;
  }
}

/** The text without control sequences. */
export function plain(output: string): string {
  // deno-lint-ignore no-control-regex -- the sequences of terminals begin with it
  return output.replace(/\x1b\[[?\d;]*[A-Za-z]/g, "");
}
