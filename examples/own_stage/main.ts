/**
 * The gateway with a stage of your own. It exists if `gateway.json` has its section:
 *
 *     "houseRules": { "text": "Answer in British English.", "keys": ["support-*"] }
 *
 *     deno run --allow-read --allow-env --allow-run src/cli/launch.ts --main examples/own_stage/main.ts
 */
import { builtIn } from "@laneway/gateway";
import { run } from "@laneway/gateway/run";
import { houseRules } from "./house_rules.ts";

// A stage sees what those before it have made: this one comes first, so that its text is redacted, too.
run({ plugins: { stages: [houseRules, ...builtIn.stages] } });
