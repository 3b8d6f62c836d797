/**
 * The wire that continues texts: completions as servers of the chat wire have them, fill-in-the-middle, and infill. Three endpoints make
 * it up, and fields that only one of them has are kept for that one. It is spoken to clients as protocols, and to the servers of other
 * drivers as one operation. The code is loaded with the first request.
 */
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { Driver, LocalOperation, UpstreamOperation } from "../../src/contract/driver.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import { serializeAllowance, serializeError, upstreamError } from "../shared/errors.ts";
import { serializeInfillError } from "./errors.ts";
import type * as Verbs from "./verbs.ts";

let verbs: typeof Verbs;

function load(): Promise<void> | undefined {
  return verbs ? undefined : import("./verbs.ts").then((loaded) => void (verbs = loaded));
}

const completions: Protocol<"complete"> = {
  name: "completions",
  describe: async () => (await import("./description.ts")).completions,
  wire: "completions",
  load,
  operation: "complete",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/completions"),
  body: "json",
  conversation: "prompt",
  idPrefix: "cmpl-",
  parse: ({ body }) => verbs.parseRequest(body),
  serialize: (output, exchange) => Response.json(verbs.serializeResponse(output, exchange)),
  stream: { framing: "sse", writer: (exchange) => verbs.serializeStream(exchange) },
  serializeAllowance,
  serializeError,
};

const fim: Protocol<"complete"> = {
  ...completions,
  name: "fim",
  describe: async () => (await import("./description.ts")).fim,
  pattern: new PathPattern("/:lane/v1/fim/completions"),
  parse: ({ body }) => verbs.parseFim(body),
  serialize: (output, exchange) => Response.json(verbs.serializeFim(output, exchange)),
  stream: { framing: "sse", writer: (exchange) => verbs.serializeFimStream(exchange) },
};

const infill: Protocol<"complete"> = {
  ...completions,
  name: "infill",
  describe: async () => (await import("./description.ts")).infill,
  pattern: new PathPattern("/:lane/infill"),
  conversation: "input_prefix",
  parse: ({ body }) => verbs.parseInfill(body),
  serialize: (output, exchange) => Response.json(verbs.serializeInfill(output, exchange)),
  stream: { framing: "sse", writer: (exchange) => verbs.serializeInfillStream(exchange) },
  serializeError: serializeInfillError,
};

export const completionsProtocols: readonly AnyProtocol[] = [completions, fim, infill];

type Generate = UpstreamOperation<"generate"> | LocalOperation<"generate">;

/**
 * How completions are requested from the servers of a driver whose conversations are requested by `generate`. `isWire`: whether they
 * are servers of the chat wire, most of which have these wires, too.
 */
export function completeBy(generate: Generate | undefined, isWire: boolean): UpstreamOperation<"complete"> {
  const chat = generate as UpstreamOperation<"generate"> | undefined;
  return {
    load,
    request: (input, target, context) => verbs.serializeRequest(input, { target, context, chat, isWire }),
    response: (replies, input, target, context) =>
      verbs.parseResponse(replies, input, { target, context, chat, isWire }),
    stream: {
      framing: "sse",
      framingAt: (target) => verbs.framingOf(target),
      reader: (input, target, context) => verbs.parseStream(input, { target, context, chat, isWire }),
    },
  };
}

/** Servers that have completions and no conversations. Those of the chat wire have both. */
export const completionsDriver: Driver = {
  name: "completions",
  wire: "completions",
  operations: { complete: completeBy(undefined, true) },
  parseError: upstreamError,
};
