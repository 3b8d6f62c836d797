/** Calls of hosted tools that waited for the client's approval, and its decisions. */
import type { HostedPart, InputPart, Message } from "../canonical/generate.ts";
import type { HostedApproval } from "../canonical/hosted.ts";
import { holdsPart } from "../canonical/part_types.ts";

export interface SettledApprovals {
  messages: Message[];
  /** Approved calls, to be run now. */
  approved: HostedPart[];
  /** Calls that the client has just declined, with the refusal as their result. */
  declined: HostedPart[];
}

/** Settles the calls that waited for approval: approved ones are to run, and the model is informed about the others. */
export function settleApprovals(messages: Message[]): SettledApprovals {
  const waiting = new Map(
    stepsIn(messages).filter(({ awaitsApproval }) => awaitsApproval).map(({ id, call }): [string, HostedPart] => [
      id,
      { type: "hosted", id, call },
    ]),
  );
  if (waiting.size === 0) return { messages, approved: [], declined: [] };
  const done = new Set(stepsIn(messages).filter(({ result }) => result).map(({ id }) => id));
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const approved: HostedPart[] = [];
  const declined: HostedPart[] = [];
  const settled = messages.flatMap((message, at): Message[] => {
    if (message.role !== "user" || !message.content.some(approvalIn)) return [message];
    const steps: HostedPart[] = [];
    const content = message.content.filter((part) => {
      const approval = approvalIn(part);
      if (approval && done.has(approval.id)) return false;
      const step = approval && waiting.get(approval.id);
      if (!step) return true;
      // An older approval has already been acted on: its client kept only the decision.
      if (!approval.isApproved) {
        const [call, outcome] = declinedStep(step, approval);
        steps.push(call, outcome);
        if (at > last) declined.push(outcome);
      } else if (at > last) approved.push({ ...step, wasApproved: true });
      waiting.delete(approval.id);
      return false;
    });
    return [
      ...steps.length > 0 ? [{ role: "assistant" as const, content: steps }] : [],
      ...content.length > 0 ? [{ ...message, content }] : [],
    ];
  });
  return { messages: settled, approved, declined };
}

function declinedStep({ id, call }: HostedPart, { reason }: HostedApproval): [call: HostedPart, outcome: HostedPart] {
  const message = reason === undefined ? "The user declined this call." : `The user declined this call: ${reason}`;
  const step: HostedPart = { type: "hosted", id, call };
  return [step, { ...step, result: { kind: "error", code: "not_allowed", message } }];
}

function approvalIn(part: InputPart): HostedApproval | undefined {
  return part.type === "opaque" ? part.approval : undefined;
}

/** All steps of hosted tools in a conversation, in order. */
export function stepsIn(messages: readonly Message[]): HostedPart[] {
  if (!holdsPart(messages, "hosted")) return [];
  return messages.flatMap(({ role, content }) =>
    role === "assistant" ? content.filter((part) => part.type === "hosted") : []
  );
}

/** The calls without a result at the very end of the conversation: the answer was cut off before they ran. */
export function unfinished(messages: readonly Message[]): HostedPart[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant") return [];
  const steps = stepsIn([last]);
  const done = new Set(steps.filter(({ result }) => result).map(({ id }) => id));
  return steps.filter(({ id, awaitsApproval }) => !done.has(id) && !awaitsApproval).map(({ id, call }) => ({
    type: "hosted",
    id,
    call,
  }));
}
