/** The conformance kit: three wires, and what is required of their servers. */
import type { CheckedWire } from "../../src/contract/conformance.ts";
import { chat } from "./chat.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";

export { cases } from "./cases.ts";
export { scriptedCases } from "./scripted.ts";

export const checkedWires: readonly CheckedWire[] = [chat, messages, responses];
