/** What the repairs of answers cost that find nothing to repair: the same stream read with them on, beside off. */
import { chatDriver } from "../../plugins/chat/mod.ts";
import type { GenerateEvent, GenerateRequest, Message } from "../../src/canonical/generate.ts";
import { withUpstreamIds } from "../../src/transforms/call_ids.ts";
import { repairCalls } from "../../src/transforms/repair_calls.ts";
import { mendTurns } from "../../src/transforms/turns.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Target, UpstreamOperation } from "../../src/contract/driver.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { readEvents, transform } from "../../src/testing/stages.ts";
import type { Figures } from "./figures.ts";

export const REPAIRS = ["repairs off", "repairs on"] as const;
export type Repairs = typeof REPAIRS[number];

const REQUEST: GenerateRequest = {
  model: "m",
  stream: true,
  messages: [{ role: "user", content: [{ type: "text", text: "Go" }] }],
  tools: [{
    type: "function",
    name: "write",
    parameters: { type: "object", properties: { text: { type: "string" } } },
  }],
};
const CONTEXT: AnswerContext = { clientWire: "messages", note: () => {}, inputTokens: 10 };
const operation = chatDriver.operations.generate as UpstreamOperation<"generate">;
const RULE = { taken: /^.{1,64}$/s, length: 64 };

const TURNS: Message[] = Array.from({ length: 200 }, (_, index): Message[] => [
  {
    role: "assistant",
    content: [{ type: "tool-call", kind: "function", id: `call_${index}`, name: "write", input: "{}" }],
  },
  { role: "tool", content: [{ type: "tool-result", id: `call_${index}`, content: [{ type: "text", text: "Done" }] }] },
]).flat();

/** Of several passes the least counts: what is more is not the repairs'. */
const PASSES = 12;
const CHUNKS = 4_000;

/** One stream of each kind, chunk by chunk, and one history of calls. */
export async function measureRepairs(repairs: Repairs): Promise<Figures> {
  const isOn = repairs === "repairs on";
  const target: Target = { upstream: "u", model: "org/model", systemMessages: "first" };
  const text = (at: number) => ({ content: ` word${at}` });
  const piece = (at: number) => {
    const args = at === 0 ? '{"text":"' : at === CHUNKS - 1 ? '"}' : ` word${at}`;
    const begin = at === 0 ? { id: "call_1", type: "function" } : {};
    return { tool_calls: [{ index: 0, ...begin, function: { ...(at === 0 && { name: "write" }), arguments: args } }] };
  };
  return {
    textChunk: await leastOf(() => read(framesOf(text), { ...target, textForms: isOn ? "parse" : "leave" }), CHUNKS),
    callChunk: await leastOf(() => read(framesOf(piece), { ...target, repairArguments: isOn }), CHUNKS),
    historyCall: await leastOf(() => mend(isOn), TURNS.length / 2),
  };
}

/** Microseconds for one of the `count` things in which `run` is paid: it gives what it took in milliseconds. */
async function leastOf(run: () => Promise<number> | number, count: number): Promise<number> {
  let least = Infinity;
  for (let pass = 0; pass < PASSES; pass++) least = Math.min(least, await run());
  return 1_000 * least / count;
}

function framesOf(deltaAt: (at: number) => object): Frame[] {
  const frame = (choice: object) => ({ data: JSON.stringify({ model: "m", choices: [{ index: 0, ...choice }] }) });
  const frames = Array.from({ length: CHUNKS }, (_, at) => frame({ delta: deltaAt(at) }));
  return [...frames, frame({ delta: {}, finish_reason: "stop" })];
}

function read(frames: readonly Frame[], target: Target): number {
  const began = performance.now();
  let events: GenerateEvent[] = readEvents(operation.stream!.reader(REQUEST, target, CONTEXT), frames);
  if (target.repairArguments) events = transform(repairCalls(REQUEST, CONTEXT.note), events);
  if (events.length < 3) throw new Error("The stream holds no answer");
  return performance.now() - began;
}

function mend(isOn: boolean): number {
  const began = performance.now();
  const mended = isOn ? withUpstreamIds(mendTurns(TURNS, CONTEXT.note), RULE) : TURNS;
  if (mended !== TURNS) throw new Error("The history was changed");
  return performance.now() - began;
}
