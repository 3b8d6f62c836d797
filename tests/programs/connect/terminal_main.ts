/** The command `connect` as in the program. */
import { deno } from "../../../src/platform/deno.ts";
import { standardStreams } from "../../../src/observe/standard.ts";
import { connect } from "../../../src/programs/connect/mod.ts";

const streams = standardStreams(deno);
const code = await connect(Deno.args, { platform: deno, plugins: {}, streams });
await streams.flush(1_000);
Deno.exit(code);
