import { builtin } from "./builtin.ts";

/**
 * Collects garbage, which the engine otherwise does only when memory is allocated. Does nothing on hosts that do not allow it.
 */
export function collectGarbage(): void {
  try {
    builtin("node:v8").setFlagsFromString("--expose-gc");
    (builtin("node:vm").runInNewContext("gc") as () => void)();
  } catch {
    // The engine collects in its own time.
  }
}
