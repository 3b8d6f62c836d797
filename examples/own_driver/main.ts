/**
 * The gateway with a driver of your own. `gateway.json` names it: `"driver": "pieces"`.
 *
 *     deno run --allow-read --allow-env --allow-run src/cli/launch.ts --main examples/own_driver/main.ts
 */
import { builtIn } from "@laneway/gateway";
import { run } from "@laneway/gateway/run";
import { pieces } from "./pieces.ts";

run({ plugins: { drivers: [...builtIn.drivers, pieces] } });
