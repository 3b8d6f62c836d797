import type { GenerateRequest } from "../../src/canonical/generate.ts";
import type { Driver } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { embed } from "./embed.ts";
import { drawsPictures, generate } from "./generate.ts";
import type * as Later from "./later.ts";

/** Loaded with the first request for one of them, because few need them. */
let later: typeof Later;

function load(): Promise<void> | undefined {
  return later ? undefined : import("./later.ts").then((loaded) => void (later = loaded));
}

/**
 * The embedded upstream. It needs no key and no network, and always answers the same request with the same bytes. So a new user's
 * first call, an agent's first run and a test work without configuration.
 */
export const sandbox: Driver = {
  name: "sandbox",
  wire: "sandbox",
  runs: ["web-search", "web-fetch", "code", "mcp", "image"],
  operations: {
    generate: {
      load: (request) => drawsPictures(request as GenerateRequest) ? load() : undefined,
      local: (request, target) => generate(request, target, later?.draw),
    },
    embed: { local: embed },
    rerank: { load, local: (...asked) => later.rerank(...asked) },
    complete: { load, local: (...asked) => later.complete(...asked) },
    decide: { load, local: (...asked) => later.decide(...asked) },
    speak: { load, local: (...asked) => later.speak(...asked) },
    transcribe: { load, local: (...asked) => later.transcribe(...asked) },
    draw: { load, local: (...asked) => later.draw(...asked) },
  },
  parseError: ({ status }) =>
    new GatewayError("internal", `The sandbox makes no call, yet it was handed an answer with status ${status}`),
};
