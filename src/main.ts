/**
 * The program. `run()` is its command line. A program with its own plugins has ten lines:
 *
 * ```ts
 * import { builtIn } from "@laneway/gateway";
 * import { run } from "@laneway/gateway/run";
 * import { myDriver } from "./my_driver.ts";
 *
 * if (import.meta.main) run({ plugins: { drivers: [...builtIn.drivers, myDriver] } });
 * ```
 */
import { run } from "./cli/run.ts";

export { run, type RunOptions } from "./cli/run.ts";

if (import.meta.main) run();
