import type { Frame } from "../contract/frame.ts";
import type { Emit, StreamReader } from "../contract/stream.ts";
import { finish, othersTurn, Slice } from "../util/work.ts";

/** Reads frames that have come, in slices, up to the wire's own end. */
export async function readEvents<E>(
  frames: readonly Frame[],
  reader: StreamReader<E>,
  emit: Emit<E>,
  signal?: AbortSignal,
): Promise<void> {
  const slice = frames.length > 1 ? new Slice() : undefined;
  for (const frame of frames) {
    const work = reader.read(frame, emit);
    if (work) await finish(work, signal);
    if (reader.done) return;
    if (!slice?.isOver()) continue;
    await othersTurn();
    signal?.throwIfAborted();
  }
}
