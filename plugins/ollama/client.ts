/** The wire as its clients speak it to the gateway. */
import type { WireClient } from "../../src/contract/driver.ts";
import { parseStream } from "./parse_stream.ts";
import { serializeRequest } from "./serialize_request.ts";
import { WIRE } from "./wire.ts";

export const client: WireClient = {
  request: (input, { model }, context) => ({ path: "api/chat", body: serializeRequest(input, model, context) }),
  stream: { framing: "ndjson", reader: (input, _target, context) => parseStream(input, context) },
  intake: () => ({
    wire: WIRE,
    takesCacheHints: false,
    results: "after-calls",
    callIds: { taken: /^.+$/s, length: 1_000 },
    namesAllowedTools: false,
    knowsDeferredTools: false,
    lacks: { verbosity: "verbosity", cacheKey: "prompt_cache_key", metadata: "metadata" },
  }),
};
