/** Shows what a command is doing: one line on the terminal, which is removed at the end. A pipe gets nothing. */
import type { StandardStreams } from "../observe/standard.ts";
import type { Platform } from "../platform/platform.ts";
import { cut } from "./table.ts";

/** Changes the shown text. */
export type Show = (text: string) => void;

const CLEAR = "\r\x1b[K";

/** How long earlier output may take to be written, in milliseconds. */
const FLUSH_MS = 1_000;

interface Shown {
  platform: Pick<Platform, "isTerminal" | "write"> & Partial<Pick<Platform, "columns">>;
  streams: Pick<StandardStreams, "flush">;
}

/** Prints lines above the shown text. */
export type Aside = (print: () => void) => Promise<void>;

/** Shows `text` and the seconds since `run` began, until `run` has ended. What does not fit on one line is left out. */
export async function withProgress<T>(
  { platform: { isTerminal, write, columns = () => 80 }, streams }: Shown,
  text: string,
  run: (show: Show, aside: Aside) => Promise<T>,
): Promise<T> {
  if (!isTerminal("stderr")) return await run(() => {}, (print) => Promise.resolve(print()));
  await streams.flush(FLUSH_MS);
  const encoder = new TextEncoder();
  const began = performance.now();
  let shown = text;
  const draw = (line: string) => write("stderr", encoder.encode(CLEAR + line)).catch(() => {}); // a closed terminal
  const redraw = () =>
    draw(cut(`${shown} (${Math.floor((performance.now() - began) / 1_000)} s)`, columns("stderr") - 1));
  const show = (text: string) => {
    shown = text;
    void redraw();
  };
  const aside: Aside = async (print) => {
    await draw("");
    print();
    await streams.flush(FLUSH_MS);
    await redraw();
  };
  const timer = setInterval(() => show(shown), 1_000);
  show(text);
  try {
    return await run(show, aside);
  } finally {
    clearInterval(timer);
    await draw("");
  }
}
