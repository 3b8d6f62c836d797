/**
 * The wires of decisions: questions about a text, answered with probabilities. Three shapes share two paths, and bodies tell them
 * apart. They are spoken to clients as protocols, and to the servers of other drivers as one operation. The code is loaded with the
 * first request.
 */
import type { Decisions } from "../../src/contract/quirks.ts";
import type { Driver, LocalOperation, UpstreamOperation } from "../../src/contract/driver.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import type { GatewayError } from "../../src/errors.ts";
import {
  errorHeaders,
  serializeAllowance,
  serializeError,
  serializeErrorBody,
  upstreamError,
} from "../shared/errors.ts";
import type * as Verbs from "./verbs.ts";

let verbs: typeof Verbs;

function load(): Promise<void> | undefined {
  return verbs ? undefined : import("./verbs.ts").then((loaded) => void (verbs = loaded));
}

const DECISIONS = new PathPattern("/:lane/v1/decisions");

const decisions: Protocol<"decide"> = {
  name: "decisions",
  describe: async () => (await import("./description.ts")).decisions,
  wire: "decisions",
  load,
  operation: "decide",
  method: "POST",
  pattern: DECISIONS,
  body: "json",
  variant({ body }) {
    if (verbs.isSystemOne(body)) return systemOneAtDecisions;
    return verbs.isListed(body) ? listed : undefined;
  },
  parse: ({ body }) => verbs.parseRequest(body),
  serialize: (output, exchange) => Response.json(verbs.serializeResponse(output, exchange)),
  serializeAllowance,
  serializeError,
};

/** A shape of its own at the same path. */
const listed: Protocol<"decide"> = {
  ...decisions,
  name: "listed-decisions",
  describe: undefined,
  wire: "listed decisions",
  // Only the body shows which requests these are.
  accepts: () => false,
  variant: undefined,
  parse: ({ body }) => verbs.parseListed(body),
  serialize: (output, exchange) => Response.json(verbs.serializeListed(output, exchange)),
};

const systemOne: Protocol<"decide"> = {
  ...decisions,
  name: "systemone",
  describe: async () => (await import("./description.ts")).systemOne,
  wire: "systemone",
  pattern: new PathPattern("/:lane/v1/systemone"),
  variant: undefined,
  parse: ({ body }) => verbs.parseSystemOne(body),
  serialize: (output, exchange) => Response.json(verbs.serializeSystemOne(output, exchange)),
  serializeError: serializeDetail,
};

const systemOneAtDecisions: Protocol<"decide"> = {
  ...systemOne,
  name: "systemone-decisions",
  describe: undefined,
  pattern: DECISIONS,
  accepts: () => false,
};

/** A list of what is wrong with the request, or the error as a text, with the error of the chat wire beside it. */
function serializeDetail(error: GatewayError, { requestId }: { requestId: string }): Response {
  const headers = errorHeaders(error);
  headers.set("x-request-id", requestId);
  const { code, message, details: { param, upstreamStatus } } = error;
  const isOwn = code === "invalid_request" && upstreamStatus === undefined;
  const loc = ["body", ...(param ?? "").split(/\.|\[|\]\.?/).filter((step) => step !== "")];
  const detail = isOwn
    ? [{ type: "value_error", loc: loc.map((step) => /^\d+$/.test(step) ? Number(step) : step), msg: message }]
    : message;
  return Response.json({ detail, ...serializeErrorBody(error) }, { status: isOwn ? 422 : error.status, headers });
}

export const decisionsProtocols: readonly AnyProtocol[] = [listed, systemOneAtDecisions, decisions, systemOne];

type Generate = UpstreamOperation<"generate"> | LocalOperation<"generate">;

/**
 * How decisions are requested from the servers of a driver whose conversations are requested by `generate`. `usual`: how they are
 * asked unless the configuration says otherwise.
 */
export function decideBy(generate: Generate | undefined, usual: Decisions): UpstreamOperation<"decide"> {
  const chat = generate as UpstreamOperation<"generate"> | undefined;
  return {
    load,
    request: (input, target, context) => verbs.requestDecisions(input, { target, context, chat, usual }),
    response: (replies, input, target, context) =>
      verbs.readDecisions(replies, input, { target, context, chat, usual }),
    wayAt: (target) => verbs.wordFor({ target, chat, usual }),
  };
}

/** Servers that make decisions and have no conversations. */
export const decisionsDriver: Driver = {
  name: "decisions",
  wire: "decisions",
  operations: { decide: decideBy(undefined, "list") },
  parseError: upstreamError,
};
