/**
 * The program on Node 24 or later: `node src/node.ts`. A program with its own plugins calls `run({ platform: node,
 * plugins })`.
 */
import { run } from "./cli/run.ts";
import { node } from "./platform/node.ts";

export { node, run };

if (import.meta.main) run({ platform: node });
