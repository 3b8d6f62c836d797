/** Whole answers of the ordinary shape, which need not be read as a stream. */
import { weighText } from "../../src/canonical/estimate.ts";
import { type Extra, hasOther } from "../../src/canonical/extra.ts";
import type {
  Finish,
  GenerateRequest,
  GenerateResponse,
  OutputPart,
  ToolCallPart,
} from "../../src/canonical/generate.ts";
import { completeUsage, type Usage } from "../../src/canonical/usage.ts";
import type { AnswerContext } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { type OfferedNames, offeredNames } from "../../src/transforms/call_names.ts";
import { reasonOf } from "../shared/finish_reasons.ts";
import { AnswerFields } from "./answer_fields.ts";
import { FRAGMENT_KEYS, FUNCTION_KEYS } from "./open_calls.ts";
import { COUNT_KEYS, parseUsage } from "./usage.ts";
import {
  ANSWER_KEYS,
  type ChatAnswer,
  type ChatChoice,
  type ChatDelta,
  CHOICE_KEYS,
  DELTA_KEYS,
  type ToolCallFragment,
} from "./wire.ts";

/**
 * Reads an answer with one finished message of plain fields, to the result of `AnswerReader`. `undefined` for any other, which
 * only that reader reads: with texts in lists, calls in the text, details of reasoning, fields that nobody knows.
 */
export function readPlainAnswer(
  answer: ChatAnswer,
  input: GenerateRequest,
  target: Target,
  context: AnswerContext,
): GenerateResponse | undefined {
  const choices = answer.choices ?? [];
  const [choice] = choices;
  if (!choice?.message || choice.delta || choices.length > 1 || target.textForms === "parse") return undefined;
  // Fields of these names are kept apart from those of the choice and of its message.
  if (answer.choice !== undefined || answer.message !== undefined) return undefined;
  const content = plainContent(choice.message, input);
  const finish = content && plainFinish(choice, content.at(-1)?.type === "tool-call", input);
  if (!finish) return undefined;
  const usage = answer.usage ?? choice.usage;
  const extra = unknownFields(answer, choice, usage);
  const response: GenerateResponse = {
    model: answer.model ?? input.model,
    content,
    finish,
    usage: countsOf(usage, content, context),
  };
  if (extra) response.extra = extra;
  return response;
}

function unknownFields(answer: ChatAnswer, choice: ChatChoice, usage: ChatAnswer["usage"]): Extra | undefined {
  const isKnown = !hasOther(answer, ANSWER_KEYS) && !hasOther(choice, CHOICE_KEYS);
  if (isKnown && !(usage && hasOther(usage, COUNT_KEYS))) return undefined;
  const fields = new AnswerFields();
  fields.addAnswer(answer);
  fields.addChoice(choice);
  return fields.atEnd(usage);
}

/** The ending, which says of calls what the content says. `undefined` if there is none, or its word is to be noted. */
function plainFinish(choice: ChatChoice, isCalling: boolean, { stopSequences }: GenerateRequest): Finish | undefined {
  const reason = choice.finish_reason ? reasonOf(choice.finish_reason) : undefined;
  if (!reason || reason === "paused") return undefined;
  const mended = reason === "stop" || reason === "tool-calls" ? isCalling ? "tool-calls" : "stop" : reason;
  if (!stopSequences) return { reason: mended };
  const matched = choice.stop_reason ?? choice.provider_specific_fields?.stop_reason;
  const stopSequence = stopSequences.find((sequence) => sequence === matched);
  return stopSequence === undefined ? { reason: mended } : { reason: mended, stopSequence };
}

/** The parts of a message that has no other fields than those that are read here. */
function plainContent(message: ChatDelta, input: GenerateRequest): OutputPart[] | undefined {
  const { content, refusal, annotations, tool_calls, function_call } = message;
  if (Array.isArray(content) || annotations?.length || function_call || hasOther(message, DELTA_KEYS)) return undefined;
  const parts: OutputPart[] = [];
  const reasoning = message.reasoning_content || message.reasoning || message.reasoning_text;
  if (reasoning) parts.push({ type: "reasoning", text: reasoning });
  if (content) parts.push({ type: "text", text: content });
  if (refusal) parts.push({ type: "refusal", text: refusal });
  return !tool_calls?.length || addCalls(tool_calls, input, parts) ? parts : undefined;
}

/** Adds the calls. Returns false if one of them is to be mended. */
function addCalls(calls: readonly ToolCallFragment[], { tools }: GenerateRequest, parts: OutputPart[]): boolean {
  if (tools?.some(({ type }) => type === "custom")) return false;
  const names = offeredNames(tools);
  const ids = new Set<string>();
  for (const call of calls) {
    const part = plainCall(call, names);
    if (!part || ids.has(part.id)) return false;
    ids.add(part.id);
    parts.push(part);
  }
  return true;
}

function plainCall(call: ToolCallFragment, names: OfferedNames): ToolCallPart | undefined {
  const { id, type, function: called, custom } = call;
  if (!id || !called?.name || custom || (type && type !== "function")) return undefined;
  const { name, arguments: args } = called;
  // Arguments that begin otherwise may be an object that was written as a string.
  if (typeof args !== "string" || !args.trimStart().startsWith("{")) return undefined;
  if (hasOther(call, FRAGMENT_KEYS) || hasOther(called, FUNCTION_KEYS)) return undefined;
  const offered = names.get(name);
  if (offered === undefined && names.size > 0) return undefined;
  return { type: "tool-call", kind: "function", id, name: offered ?? name, input: args };
}

/** The counts, which are estimated where the upstream did not count. */
function countsOf(usage: ChatAnswer["usage"], content: readonly OutputPart[], context: AnswerContext): Usage {
  const counts = usage ? parseUsage(usage) : {};
  // Read in any case, as for a stream: who has counted is told by whether it was.
  const { inputTokens } = context;
  if (counts.inputTokens !== undefined && counts.outputTokens !== undefined) return counts as Usage;
  let texts = "";
  let calls = 0;
  for (const part of content) {
    if (part.type === "tool-call") calls += weighText(part.input);
    else if ("text" in part) texts += part.text;
  }
  return completeUsage(counts, { inputTokens, note: (text) => context.note(text) }, weighText(texts) + calls);
}
