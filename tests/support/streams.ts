/** The standard streams of a program that runs in the test's own process. */
import type { StandardStreams } from "../../src/observe/standard.ts";

/** `print` gets the output of commands, and `say` the messages for the operator. The log is dropped. */
export function streamsTo(print: (text: string) => void, say: (text: string) => void = () => {}): StandardStreams {
  return { print, say, log() {}, warn() {}, flush: () => Promise.resolve() };
}
