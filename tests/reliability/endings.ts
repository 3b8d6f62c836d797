/** What a client may be told by a stream whose upstream died: the beginning of the answer, and exactly one right ending. */
import { assert, assertEquals, AssertionError } from "@std/assert";
import { within } from "../support/wait.ts";

export const CLIENTS = {
  chat: { path: "/oss/v1/chat/completions", done: /^data: \[DONE\]$/gm, failed: 'data: {"error":' },
  messages: { path: "/oss/v1/messages", done: /^event: message_stop$/gm, failed: "event: error" },
  responses: {
    path: "/oss/v1/responses",
    done: /^event: response\.(?:completed|incomplete)$/gm,
    failed: "event: response.failed",
  },
};

/** Without what the gateway gives anew each time: ids, clocks, seals, and counts that it learns to make better. */
export function comparable(text: string): string {
  return text.replace(/lw1\.[\w-]+/g, "seal").replace(
    /"(id|input_tokens|item_id|created|created_at|completed_at|sequence_number)":("[^"]*"|\d+)/g,
    '"$1":0',
  );
}

interface Place {
  shape: typeof CLIENTS[keyof typeof CLIENTS];
  /** For the one who reads the failure. */
  where: string;
  /** Whether the upstream said nothing but the beginning of the whole answer. */
  isWhole: boolean;
}

/** The answer. Fails where none comes: a test that hangs tells nothing. */
export async function inTime<T>(answer: Promise<T>, where: string): Promise<T> {
  try {
    return await within(answer);
  } catch (cause) {
    throw new AssertionError(`no ending in time: ${where}`, { cause });
  }
}

/** `whole`: what is said, comparable, where the upstream does not die. */
export function assertRight(
  { ok, text }: { ok: boolean; text: string },
  whole: string,
  { shape, where, isWhole }: Place,
): void {
  if (!ok) {
    assert("error" in JSON.parse(text), where);
    return;
  }
  const failed = text.split(shape.failed).length - 1;
  assertEquals([...text.matchAll(shape.done)].length + failed, 1, where);
  if (failed === 0) {
    // What is told as whole is: a cut is no ending.
    assertEquals(contentOf(comparable(text)), contentOf(whole), where);
    return;
  }
  if (!isWhole) return;
  const said = comparable(text.slice(0, text.indexOf(shape.failed)));
  const beginning = said.slice(0, said.lastIndexOf("\n\n") + 2);
  assert(isPrefix(beginning, whole), `not a beginning: ${where}\n${whole}`);
}

/** The frames without comments, and without what an upstream tells of its work at last, which may be cut off. */
function contentOf(text: string): string[] {
  return text.replace(ACCOUNTS, "").split("\n\n").filter((frame) => frame !== "" && !frame.startsWith(":"));
}

const ACCOUNTS = /,"(?:usage|timings)":\{(?:[^{}]|\{[^{}]*\})*\}/g;

/** Whether the frames of one text are the first of the other. */
function isPrefix(beginning: string, whole: string): boolean {
  const [said, all] = [beginning, whole].map((text) => text.split("\n\n").filter((frame) => frame !== ""));
  return said!.every((frame, index) => frame === all![index] || frame.startsWith(":"));
}
