/** The wire as its clients speak it to the gateway. */
import type { WireClient } from "../../src/contract/driver.ts";
import { parseStream } from "./parse_stream.ts";
import { serializeRequest } from "./serialize_request.ts";
import { WIRE } from "./wire.ts";

export const client: WireClient = {
  request: (input, { model }, context) => ({
    path: `v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
    body: serializeRequest(input, context),
  }),
  stream: { framing: "sse", reader: (input, _target, context) => parseStream(input, context) },
  intake: () => ({
    wire: WIRE,
    takesCacheHints: false,
    results: "after-calls",
    callIds: { taken: /^.+$/s, length: 1_000 },
    namesAllowedTools: true,
    knowsDeferredTools: false,
    lacks: { verbosity: "verbosity", cacheKey: "prompt_cache_key", metadata: "metadata" },
  }),
};
