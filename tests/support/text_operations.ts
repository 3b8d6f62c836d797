import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import type { Call, Reply } from "../../src/contract/call.ts";
import type { Driver, Target, UpstreamOperation } from "../../src/contract/driver.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import { newContext, newWireRequest } from "./context.ts";

/** One request for vectors or a ranking from a client to an upstream and back, without the core. */
export interface Exchange {
  calls: Call[];
  answer: JsonObject;
  notes: string[];
}

type TextOperation = "embed" | "rerank";

/** How `driver` serves `operation`, by calls. */
export function wayOf<K extends TextOperation>(driver: Driver, operation: K): UpstreamOperation<K> {
  const way = driver.operations[operation];
  if (!way || "local" in way) throw new TypeError(`The driver "${driver.name}" makes no calls for "${operation}"`);
  return way as UpstreamOperation<K>;
}

/** The protocol of this name and operation. */
export function protocolOf<K extends TextOperation>(
  protocols: readonly AnyProtocol[],
  operation: K,
  name: string,
): Protocol<K> {
  const found = protocols.find((protocol) => protocol.operation === operation && protocol.name === name);
  if (!found) throw new TypeError(`There is no protocol "${name}"`);
  return found as Protocol<K>;
}

/** The answer of an upstream to a call: only a body, or a whole reply. */
export type Upstream = (call: Call, index: number) => JsonValue | Reply;

export function newReply(body: Reply["body"], headers: HeadersInit = {}, status = 200): Reply {
  return { status, headers: new Headers(headers), body };
}

const TARGET: Target = { upstream: "test", model: "org/model", systemMessages: "first" };

/** The client's `body` through the protocol, the calls through `upstream`, and its replies back to the client. */
export async function travel<K extends TextOperation>(
  protocol: Protocol<K>,
  way: UpstreamOperation<K>,
  body: JsonObject,
  upstream: Upstream,
  quirks: Partial<Target> = {},
): Promise<Exchange> {
  const context = newContext(protocol.name);
  const target = { ...TARGET, ...quirks };
  const wire = newWireRequest({ model: "mine", ...body });
  const input = protocol.parse(wire, context);
  const calls = [way.request(input, target, context)].flat();
  const replies = calls.map((call, index) => {
    const answer = upstream(call, index);
    return isReply(answer) ? answer : newReply(answer);
  });
  const output = way.response(replies, input, target, context);
  const exchange = {
    ...context,
    id: `${protocol.idPrefix ?? ""}1`,
    created: 1_800_000_000,
    input,
    wire,
    now: () => 1_800_000_000,
    elapsedMs: () => 0,
    stored: false,
    frames: { sent: 0 },
  };
  const response = protocol.serialize(output, exchange);
  return { calls, answer: await response.json(), notes: context.notes };
}

function isReply(answer: JsonValue | Reply): answer is Reply {
  return typeof answer === "object" && answer !== null && "headers" in answer && answer.headers instanceof Headers;
}
