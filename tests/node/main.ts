/** The program on Node without its launcher, as `deno run src/main.ts` starts it on Deno. */
import { run } from "../../src/node.ts";

run();
