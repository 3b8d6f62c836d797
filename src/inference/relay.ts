import { estimateInputTokens } from "../canonical/estimate.ts";
import { withoutConversation } from "../canonical/relay.ts";
import type { Input } from "../canonical/operations.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import type { Protocol } from "../contract/protocol.ts";
import { GatewayError } from "../errors.ts";
import { answerRoom } from "../lanes/clamp.ts";
import { firstStream } from "../routing/first_stream.ts";
import { stream } from "../upstream/stream.ts";
import { runStep } from "../util/sliced_work.ts";
import { admit } from "./admit.ts";
import { openAttempt } from "./attempt.ts";
import { weighRelayed } from "./mask_secrets.ts";
import { explainAll, wantsExplanation } from "./explain.ts";
import { type Affinity, planFailover } from "./failover_plan.ts";
import { type Incoming, openExchange, withoutField } from "./incoming.ts";
import { respondWithStream } from "./stream_response.ts";
import { wireOf } from "./hosted_tool_policy.ts";
import { tracedStream } from "./traced.ts";
import { answerUnary } from "./unary.ts";

/** Relays a conversation that only its own wire can express. Only upstreams of that wire are tried. */
export async function relay(
  { protocol, input: asked, wire, context }: Incoming<"generate">,
  relayable: Input<"relay">,
  { targets, conversation, ...limits }: Affinity,
): Promise<Response> {
  const { gateway, requestLog } = context;
  const input = { ...relayable, conversation: protocol.conversation };
  const speaking = targets.filter((where) => wireOf(where, gateway) === input.wire);
  if (speaking.length === 0 || !protocol.relay) {
    const message =
      `Cannot serve "${input.field}": no upstream of model "${input.model}" speaks the protocol that has it`;
    throw new GatewayError("invalid_request", message, { param: input.field });
  }
  const tokens = await runStep(() => estimateInputTokens(asked));
  const room = answerRoom(asked, limits, tokens);
  const bounded = speaking.map((where) => ({ ...where, answerRoom: room }));
  // The writer lives as long as the answer, and needs the other fields only.
  const answered = withoutConversation(input);
  const relayed = asRelay(protocol, protocol.relay, answered);
  const exchange = openExchange({ protocol: relayed, wire: withoutField(wire, input.conversation), context }, answered);
  if (wantsExplanation(wire)) return explainAll("relay", input, bounded, context);
  await admit(context, tokens);
  if (input.stream) {
    const attempt = (target: PlannedTarget, signal: AbortSignal) =>
      stream(openAttempt("relay", input, target, context, { signal }));
    return respondWithStream(
      relayed,
      exchange,
      firstStream(planFailover(bounded, context, { conversation }), tracedStream(attempt, context)),
      context,
    );
  }
  const output = await answerUnary("relay", input, bounded, context, { conversation });
  requestLog.settle(output.usage ?? {}, () => weighRelayed(output.body));
  return relayed.serialize(output, exchange);
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
