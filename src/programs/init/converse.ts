/** Asks for sources, models and a default, step by step. */
import { type Program, UsageError } from "../program.ts";
import type { Place, World } from "./work.ts";

/** Returns the exit code. */
export function converse(_place: Place, _program: Program, _world: World): Promise<number> {
  throw new UsageError("Name a source: --hub, --provider, --server or --sandbox");
}
