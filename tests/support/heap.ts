import { collectGarbage } from "../../src/util/collect_garbage.ts";

/** By how many bytes more is held after `work`, which returns what holds it. */
export async function heldBy(work: () => unknown): Promise<number> {
  collectGarbage();
  const before = Deno.memoryUsage().heapUsed;
  const held = await work();
  collectGarbage();
  const after = Deno.memoryUsage().heapUsed;
  if (held === undefined) throw new Error("Nothing is held");
  return after - before;
}
