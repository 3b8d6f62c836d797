import { JSON_LIMITS } from "../../src/canonical/json_limits.ts";
import type { Driver } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { LearntRelaxations } from "../../src/relaxations/learnt.ts";
import type { Upstream } from "../../src/upstream/send.ts";
import { NO_TRANSPORT } from "../support/transport.ts";

/** Serves nothing; says the status of what went wrong. */
export const DRIVER: Driver = {
  name: "test",
  wire: "test",
  operations: {},
  parseError: ({ status, body }) => new GatewayError("upstream_error", `${status} ${JSON.stringify(body)}`),
};

/** A service that is configured, with all the time in the world. */
export function newUpstream(more: Partial<Upstream> = {}): Upstream {
  return {
    name: "test",
    driver: DRIVER,
    baseUrl: "http://upstream.test/v1",
    headers: {},
    transport: NO_TRANSPORT,
    refuses: [],
    refusals: new LearntRelaxations(() => 0),
    relax: "auto",
    continuation: "auto",
    fileIds: false,
    quirks: { systemMessages: "anywhere" },
    resultsFrom: [],
    takesTokens: false,
    timeouts: { headMs: 60_000, firstEventMs: 60_000, idleMs: 60_000, wholeMs: 60_000, totalMs: 60_000 },
    answerBytes: 48 * 1024 * 1024,
    answerText: 8 * 1024 * 1024,
    streamBytes: 256 * 1024 * 1024,
    frameBytes: 32 * 1024 * 1024,
    json: JSON_LIMITS,
    ...more,
  };
}
