/** A recorded request that can be sent again, unchanged or written in another wire. */
import { isJsonObject } from "../../canonical/json.ts";
import type { Input } from "../../canonical/operations.ts";
import type { Gateway } from "../../context/gateway.ts";
import type { RequestContext } from "../../context/request_context.ts";
import type { Driver, Target } from "../../contract/driver.ts";
import type { AnyProtocol } from "../../contract/protocol.ts";
import { GatewayError } from "../../errors.ts";
import { factsOf } from "../../inference/facts.ts";
import { prepareForTarget } from "../../inference/target_stages.ts";
import { runSliced } from "../../util/sliced_work.ts";
import { hiderOf } from "./masked_text.ts";
import { recordOf } from "./records.ts";
import { ownHeaders, type Parsed, parseRecorded } from "./understood.ts";

/** The headers that have the same meaning in every wire. */
const OF_ANY_WIRE = /^x-laneway-/;

/**
 * `?id=`, `?wire=`: the body to send, its path, and notes about fields that the wire cannot express. Secrets are
 * masked, and the operator has to fill them in.
 */
export async function requestAgain(context: RequestContext): Promise<Response> {
  const one = recordOf(context);
  const { gateway, url, signal } = context;
  const parsed = parseRecorded(one, gateway);
  const own = parsed.protocol.wire;
  const wire = url!.searchParams.get("wire") ?? own;
  const hide = await runSliced(hiderOf(one), signal);
  const { search, pathname } = new URL(one.url);
  const lane = parsed.params.lane;
  const headers = ownHeaders(one).filter(([name]) => wire === own || OF_ANY_WIRE.test(name));
  const again = wire === own
    ? {
      path: pathname.slice(lane === undefined ? 1 : lane.length + 2) + (search.includes("***") ? "" : search),
      text: new TextDecoder().decode(one.body.bytes()),
      notes: [],
    }
    : writtenIn(wire, parsed, gateway);
  // The body is a text, because a browser rounds large numbers.
  const view = { wire, wires: wiresFor(parsed, gateway), lane, headers, ...again };
  return new Response(await runSliced(hide(JSON.stringify(view)), signal), {
    headers: { "content-type": "application/json" },
  });
}

/** The wires that the request can be written in, its own first. */
function wiresFor({ protocol, input }: Parsed, { registry, drivers }: Gateway): string[] {
  const { relay, recall } = input as Partial<Input<"generate">>;
  // Other wires have no threads, and the turns that one keeps are not in the request.
  const isConversation = protocol.operation === "generate" && !relay && !recall?.thread;
  const spoken = registry.protocols.filter(isForConversations).map(({ wire }) => wire);
  const others = isConversation ? spoken.filter((wire) => driverOf(wire, drivers)) : [];
  return [...new Set([protocol.wire, ...others])];
}

function writtenIn(wire: string, { protocol, input, notes: own }: Parsed, { registry, drivers }: Gateway) {
  const driver = driverOf(wire, drivers);
  const spoken = registry.protocols.find((one) => one.wire === wire && isForConversations(one));
  const way = driver?.operations.generate;
  if (!driver || !spoken || !way || "local" in way || protocol.operation !== "generate") {
    throw new GatewayError("invalid_request", `The request cannot be expressed in the wire "${wire}"`);
  }
  const asked = input as Input<"generate">;
  const notes = new Set(own);
  const note = (text: string) => void notes.add(text);
  if (asked.recall?.previous !== undefined) note("dropped the turns that the gateway has stored");
  const target: Target = { upstream: "", model: asked.model, systemMessages: "anywhere" };
  const prepared = prepareForTarget(asked, {
    facts: factsOf(asked),
    target: asked.model,
    clientWire: protocol.wire,
    systemMessages: target.systemMessages,
    refusedTools: [],
    refusesCacheHints: false,
    refusesReasoning: false,
    intake: driver.intake?.(target),
  }, note);
  const [call] = [way.request(prepared, target, { clientWire: protocol.wire, note })].flat();
  if (!isJsonObject(call?.body)) throw new GatewayError("invalid_request", `The wire "${wire}" has no JSON for it`);
  return {
    path: spoken.pattern.pathname.replace(/^\/:lane\//, ""),
    text: JSON.stringify(call.body),
    notes: [...notes],
  };
}

/** The endpoint of whole conversations: one whose path names no model, which the body does. */
export function isForConversations({ operation, method, body, pattern: { pathname } }: AnyProtocol): boolean {
  return operation === "generate" && method === "POST" && body === "json" && /^\/:lane\/[^:*(]+$/.test(pathname);
}

export function driverOf(wire: string, drivers: Gateway["drivers"]): Driver | undefined {
  return [...drivers.values()].find((driver) =>
    driver.wire === wire && !("local" in (driver.operations.generate ?? { local: 1 }))
  );
}
