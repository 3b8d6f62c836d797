/** Chooses how to ask: with arrow keys on a terminal, and otherwise by lines. */
import { builtin } from "../../util/builtin.ts";
import { shown } from "../../util/printable.ts";
import type { Program } from "../program.ts";
import type { Dialog } from "./dialog.ts";
import { type Lines, numberDialog } from "./numbers.ts";
import { isNode } from "../../platform/here.ts";

/** Narrower terminals cannot show a list of choices. */
const LEAST_COLUMNS = 40;

/** How long earlier output may take to be written, in milliseconds. */
const FLUSH_MS = 1_000;

export async function openDialog(program: Program): Promise<Dialog> {
  const { platform, streams } = program;
  const isTerminal = platform.isTerminal("stdin") && platform.isTerminal("stdout");
  await streams.flush(FLUSH_MS);
  if (!isTerminal || platform.env("TERM") === "dumb" || columns() < LEAST_COLUMNS) {
    return numberDialog(standardLines(program));
  }
  const { arrowDialog } = await import("./arrows.ts");
  // Questions are drawn at once, so that texts between them cannot wait.
  return arrowDialog((text) => builtin("node:fs").writeSync(1, `${shown(text)}\n`));
}

function columns(): number {
  try {
    return isNode() ? process.stdout.columns ?? 0 : Deno.consoleSize().columns;
  } catch {
    return 0;
  }
}

/** The lines of standard input. On a terminal, a hidden line is typed without being shown. */
export function standardLines({ platform }: Pick<Program, "platform">): Lines {
  const { readSync, writeSync } = builtin("node:fs");
  let rest = "";
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(4_096);
  const nextLine = (): string | undefined => {
    for (;;) {
      const end = rest.indexOf("\n");
      if (end >= 0) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 1);
        return line.replace(/\r$/, "");
      }
      const count = readSync(0, buffer);
      if (count === 0) {
        const line = rest;
        rest = "";
        return line === "" ? undefined : line;
      }
      rest += decoder.decode(buffer.subarray(0, count), { stream: true });
    }
  };
  return {
    read: () => Promise.resolve(nextLine()),
    readHidden(text) {
      const write = (text: string) => void writeSync(1, text);
      if (platform.isTerminal("stdin")) return Promise.resolve(hiddenLine(shown(text), write));
      write(shown(text));
      return Promise.resolve(nextLine());
    },
    // At once, as the questions: their order matters.
    print: (text) => void writeSync(1, `${shown(text)}\n`),
    prompt: (text) => void writeSync(1, shown(text)),
  };
}

const [CTRL_C, CTRL_D, DELETE, BACKSPACE] = ["\x03", "\x04", "\x7f", "\b"];

/** Reads a line in raw mode, in which the terminal shows nothing and sends no signal. Absent if the user leaves. */
function hiddenLine(question: string, write: (text: string) => void): string | undefined {
  const { readSync } = builtin("node:fs");
  const buffer = new Uint8Array(4_096);
  const decoder = new TextDecoder();
  let line = "";
  // Before the question, because some answer at once.
  setRaw(true);
  try {
    write(question);
    for (;;) {
      const count = readSync(0, buffer);
      if (count === 0) return undefined;
      for (const char of decoder.decode(buffer.subarray(0, count), { stream: true })) {
        if (char === CTRL_C || char === CTRL_D) return undefined;
        if (char === "\r" || char === "\n") return line;
        if (char === DELETE || char === BACKSPACE) line = line.slice(0, -1);
        else if (char >= " ") line += char;
      }
    }
  } finally {
    setRaw(false);
    write("\n");
  }
}

function setRaw(isRaw: boolean): void {
  if (isNode()) process.stdin.setRawMode(isRaw);
  else Deno.stdin.setRaw(isRaw);
}
