/**
 * The gateway with a protocol of your own.
 *
 *     deno run --allow-read --allow-env --allow-run src/cli/launch.ts --main examples/own_protocol/main.ts
 */
import { builtIn } from "@laneway/gateway";
import { run } from "@laneway/gateway/run";
import { ask } from "./ask.ts";

run({ plugins: { protocols: [...builtIn.protocols, ask] } });
