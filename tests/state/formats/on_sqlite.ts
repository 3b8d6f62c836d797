/** The program with the store that it has on Node, so that tests need no Node for it. */
import { run } from "../../../src/cli/run.ts";
import { deno } from "../../../src/platform/deno.ts";

if (import.meta.main) run({ platform: { ...deno, database: "sqlite" } });
