/** The command `init` as in the program, but it looks for servers where the test has some. */
import { deno } from "../../../src/platform/deno.ts";
import { standardStreams } from "../../../src/observe/standard.ts";
import { init } from "../../../src/programs/init/mod.ts";

const [address, ...args] = Deno.args;
const streams = standardStreams(deno);
const world = { ask: () => undefined, readAll: () => "", addresses: [address!] };
const code = await init(args, undefined, { platform: deno, plugins: {}, streams }, world);
await streams.flush(1_000);
Deno.exit(code);
