/** The conformance kit: three wires, and what is required of their servers. */
import type { CheckedWire, CheckReply } from "../../../src/contract/conformance.ts";
import { chat } from "./chat.ts";
import { messages } from "./messages.ts";
import { emptyAnswer, refusalIn } from "./reading.ts";
import { responses } from "./responses.ts";

export { cases } from "./cases.ts";
export { scriptedCases } from "./scripted.ts";

/** Of what is no answer only the error is told: all else would be missing for the same reason. */
function answersOnly(wire: CheckedWire): CheckedWire {
  const unless = (read: CheckedWire["readWhole"]) => (reply: CheckReply) =>
    reply.status === 200 ? read(reply) : { ...emptyAnswer(), isRefused: true, complaints: [refusalIn(reply)] };
  return { ...wire, readWhole: unless(wire.readWhole), readStream: unless(wire.readStream) };
}

export const checkedWires: readonly CheckedWire[] = [chat, messages, responses].map(answersOnly);
