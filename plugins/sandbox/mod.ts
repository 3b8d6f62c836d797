import type { Driver } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { embed } from "./embed.ts";
import { generate } from "./generate.ts";
import { rerank } from "./rerank.ts";
import { speak } from "./speak.ts";
import { transcribe } from "./transcribe.ts";

/**
 * The embedded upstream. It needs no key and no network, and always answers the same request with the same bytes. So a new user's
 * first call, an agent's first run and a test work without configuration.
 */
export const sandbox: Driver = {
  name: "sandbox",
  wire: "sandbox",
  runs: ["web-search", "web-fetch", "mcp"],
  operations: {
    generate: { local: generate },
    embed: { local: embed },
    rerank: { local: rerank },
    speak: { local: speak },
    transcribe: { local: transcribe },
  },
  parseError: ({ status }) =>
    new GatewayError("internal", `The sandbox makes no call, yet it was handed an answer with status ${status}`),
};
