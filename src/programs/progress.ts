/** Shows what a command is doing: one line on the terminal, which is removed at the end. A pipe gets nothing. */
import type { StandardStreams } from "../observe/standard.ts";
import type { Platform } from "../platform/platform.ts";

/** Changes what is shown. */
export type Show = (text: string) => void;

const CLEAR = "\r\x1b[K";

/** How long a line that was printed before may take, in milliseconds. */
const FLUSH_MS = 1_000;

interface Shown {
  platform: Pick<Platform, "isTerminal" | "write">;
  streams: Pick<StandardStreams, "flush">;
}

/** Shows `text` and the seconds since `run` began, until `run` has ended. `text` has to fit on one line. */
export async function withProgress<T>(
  { platform: { isTerminal, write }, streams }: Shown,
  text: string,
  run: (show: Show) => Promise<T>,
): Promise<T> {
  if (!isTerminal("stderr")) return await run(() => {});
  await streams.flush(FLUSH_MS);
  const encoder = new TextEncoder();
  const began = performance.now();
  let shown = text;
  const draw = (line: string) => write("stderr", encoder.encode(CLEAR + line)).catch(() => {}); // a closed terminal
  const show = (text: string) => {
    shown = text;
    void draw(`${shown} (${Math.floor((performance.now() - began) / 1_000)} s)`);
  };
  const timer = setInterval(() => show(shown), 1_000);
  show(text);
  try {
    return await run(show);
  } finally {
    clearInterval(timer);
    await draw("");
  }
}
