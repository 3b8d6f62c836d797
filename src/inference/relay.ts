import { estimateInputTokens } from "../canonical/estimate.ts";
import type { Input } from "../canonical/operations.ts";
import { withoutConversation } from "../canonical/relay.ts";
import type { Protocol } from "../contract/protocol.ts";
import { GatewayError } from "../errors.ts";
import { answerRoom } from "../lanes/clamp.ts";
import { runStep } from "../util/sliced_work.ts";
import { FACT } from "./facts.ts";
import { wireOf } from "./hosted_tool_policy.ts";
import { withoutField } from "./incoming.ts";
import type { Inference, Stage } from "./inference.ts";

/**
 * Relays a conversation that only its own wire can express: from here on it is the client's body, and the operation is
 * `relay`. Only upstreams of that wire are tried.
 */
export const RELAY: Stage<"generate"> = {
  name: "relay",
  operations: ["generate"],
  needs: FACT.relay,
  request(inference) {
    const { input: { relay } } = inference;
    if (!relay) return inference;
    return runStep(() => relayed(inference, relay));
  },
};

function relayed(inference: Inference<"generate">, relayable: Input<"relay">): Inference<"relay"> {
  const { protocol, input: asked, wire, exchange, plan, context } = inference;
  const input = { ...relayable, conversation: protocol.conversation };
  const { targets, conversation, ...limits } = plan;
  const speaking = targets.filter((where) => wireOf(where, context.gateway) === input.wire);
  if (speaking.length === 0 || !protocol.relay) {
    const message =
      `Cannot serve "${input.field}": no upstream of model "${input.model}" speaks the protocol that has it`;
    throw new GatewayError("invalid_request", message, { param: input.field });
  }
  const estimate = estimateInputTokens(asked);
  const room = answerRoom(asked, limits, estimate);
  // The writer lives as long as the answer, and needs the other fields only.
  const answered = withoutConversation(input);
  return {
    ...inference,
    attempt: undefined,
    operation: "relay",
    protocol: asRelay(protocol, protocol.relay, answered),
    input,
    // All others are about a conversation in canonical form.
    facts: inference.facts & (FACT.strict | FACT.secrets),
    beside: [],
    exchange: { ...exchange, wire: withoutField(wire, input.conversation), input: answered },
    estimate,
    plan: { conversation, targets: speaking.map((where) => ({ ...where, answerRoom: room })) },
  };
}

/** The protocol with the verbs for relayed answers. Only those say how it streams. */
function asRelay(
  protocol: Protocol<"generate">,
  verbs: NonNullable<Protocol<"generate">["relay"]>,
  input: Input<"relay">,
): Protocol<"relay"> {
  return {
    ...protocol,
    stream: undefined,
    ...verbs,
    operation: "relay",
    parse: () => input,
  };
}
