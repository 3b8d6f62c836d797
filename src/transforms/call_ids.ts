/**
 * Replaces call ids that a server refuses. Nothing has to be mapped back, because an answer contains only new calls.
 */
import { builtin } from "../util/builtin.ts";
import type { Message } from "../canonical/generate.ts";
import type { IdRule } from "../contract/intake.ts";

/** Long enough to tell calls apart. */
const ENOUGH = 24;

/**
 * The id for an upstream: the client's own, or a hash of it in letters and digits that is the same in every request.
 */
function upstreamId(id: string, { taken, length }: IdRule): string {
  if (taken.test(id)) return id;
  return BigInt(`0x${builtin("node:crypto").hash("sha256", id)}`).toString(36).slice(0, Math.min(length, ENOUGH));
}

/**
 * The messages with ids that the upstream accepts, a call and its result under the same one. Returns the same messages
 * if all ids are accepted.
 */
export function withUpstreamIds(messages: readonly Message[], rule: IdRule): readonly Message[] {
  return messages.every((message) => hasTakenIds(message, rule))
    ? messages
    : messages.map((message) => renamed(message, rule));
}

function hasTakenIds(message: Message, { taken }: IdRule): boolean {
  switch (message.role) {
    case "assistant":
      return message.content.every((part) => part.type !== "tool-call" || taken.test(part.id));
    case "tool":
      return message.content.every(({ id }) => taken.test(id));
    default:
      return true;
  }
}

function renamed(message: Message, rule: IdRule): Message {
  switch (message.role) {
    case "assistant": {
      const content = message.content.map((part) =>
        part.type === "tool-call" ? { ...part, id: upstreamId(part.id, rule) } : part
      );
      return { ...message, content };
    }
    case "tool":
      return { ...message, content: message.content.map((part) => ({ ...part, id: upstreamId(part.id, rule) })) };
    default:
      return message;
  }
}
