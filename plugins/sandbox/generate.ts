import {
  type Effort,
  EFFORTS,
  type Finish,
  type GenerateRequest,
  type GenerateResponse,
  type InputPart,
  type OutputPart,
  type ReasoningPart,
  type TextPart,
  type Thinking,
  type ToolCallPart,
} from "../../src/canonical/generate.ts";
import { estimateInputTokens, estimateTextTokens } from "../../src/canonical/estimate.ts";
import type { Target } from "../../src/contract/driver.ts";
import { isHidden } from "../../src/transforms/offered_tools.ts";
import { chooseCalls } from "./calls.ts";
import { type Conversation, describeRequest, readConversation } from "./conversation.ts";
import { exampleOf } from "./example.ts";
import { type Draw, useHosted } from "./hosted.ts";
import { count, cut, enumerate, prefix } from "./words.ts";

const INTRODUCTION = "This is the Laneway sandbox, which answers with no key and no network.";
const ADVICE = "Configure an upstream in gateway.json to talk to a real model.";

/** Whether the answer may need a picture. */
export function drawsPictures({ tools }: GenerateRequest): boolean {
  return tools?.some((tool) => tool.type === "hosted" && tool.work?.kind === "image") ?? false;
}

/** The sandbox's answer: tool calls, JSON or text, after some reasoning if requested. */
export function generate(received: GenerateRequest, target: Pick<Target, "model">, draw?: Draw): GenerateResponse {
  const request = { ...received, tools: received.tools?.filter((tool) => !isHidden(tool)) };
  const conversation = readConversation(request.messages);
  const steps = useHosted(request, conversation, draw);
  if (steps.length > 0) return answerWith(steps, request, target);
  const calls = chooseCalls(request, conversation);
  const stopped = calls.length > 0 ? undefined : stopAt(answer(request, conversation), request.stopSequences);
  const { content, outputTokens, reasoningTokens, whole } = limit(
    [
      { type: "reasoning", text: reason(request, conversation, calls) },
      ...(stopped ? [{ type: "text" as const, text: stopped.text }] : calls),
    ],
    request.maxOutputTokens,
  );
  const finish: Finish = !whole
    ? { reason: "length" }
    : calls.length > 0
    ? { reason: "tool-calls" }
    : { reason: "stop", ...(stopped?.sequence !== undefined && { stopSequence: stopped.sequence }) };
  return {
    model: target.model,
    content,
    finish,
    // Not marked as estimated, because this is the sandbox's own count.
    usage: {
      inputTokens: estimateInputTokens(request),
      outputTokens,
      ...(reasoningTokens > 0 && { reasoningTokens }),
    },
  };
}

/** An answer in which hosted tools were used. */
function answerWith(
  content: OutputPart[],
  request: GenerateRequest,
  { model }: Pick<Target, "model">,
): GenerateResponse {
  const words = content.map((part) => part.type === "text" ? part.text : "").join("");
  const calls = content.flatMap((part) => part.type === "hosted" && part.result ? [part.call.kind] : []);
  const uses = (...kinds: string[]) => calls.filter((kind) => kinds.includes(kind)).length;
  const counted = {
    webSearch: uses("web-search"),
    webFetch: uses("web-fetch"),
    code: uses("code"),
    mcp: uses("mcp"),
    image: uses("image"),
  };
  const hostedUses = Object.fromEntries(Object.entries(counted).filter(([, count]) => count > 0));
  return {
    model,
    content,
    finish: { reason: "stop" },
    usage: {
      inputTokens: estimateInputTokens(request),
      outputTokens: estimateTextTokens(words),
      ...(Object.keys(hostedUses).length > 0 && { hostedUses }),
    },
  };
}

// The answer

const MAX_QUOTE = 300;
const MAX_QUOTED_RESULTS = 5;

function answer(request: GenerateRequest, conversation: Conversation): string {
  const text = conversation.results.length > 0 ? aboutResults(conversation) : aboutRequest(request, conversation);
  if (!request.outputSchema) return text;
  const { schema } = request.outputSchema;
  return JSON.stringify(schema ? exampleOf(schema, { text: (property) => property }) ?? {} : { message: text });
}

function aboutRequest(request: GenerateRequest, { text }: Conversation): string {
  const quoted = text === "" ? "there was no text from you" : `your last text was "${cut(text, MAX_QUOTE)}"`;
  const sentences = [INTRODUCTION, `It received ${describeRequest(request)}; ${quoted}.`];
  const { tools = [], toolChoice } = request;
  if (toolChoice?.type !== "none" && tools.some((tool) => tool.type !== "hosted")) {
    sentences.push("Name one of the tools in your message and the sandbox calls it.");
  }
  return [...sentences, ADVICE].join(" ");
}

function aboutResults({ results, calls }: Conversation): string {
  const quoted = results.slice(0, MAX_QUOTED_RESULTS).map(({ id, content, isError }) => {
    const name = calls.findLast((call) => call.id === id)?.name;
    const tool = name === undefined ? "a tool" : `the tool "${cut(name, 100)}"`;
    return `${tool} ${isError ? "failed" : "answered"} with "${cut(content.map(quotable).join(" "), MAX_QUOTE)}"`;
  });
  const more = results.length - quoted.length;
  if (more > 0) quoted.push(`${count(more, "more result")} came too`);
  return `${INTRODUCTION} It read what came back: ${enumerate(quoted)}. ${ADVICE}`;
}

function quotable(part: InputPart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "file":
      return `[${part.mediaType}]`;
    case "opaque":
      return part.standIn ?? "[something that only its own API can read]";
    default:
      return part satisfies never;
  }
}

/** The text up to the first of the sequences that occurs in it. */
function stopAt(text: string, sequences: readonly string[] = []): { text: string; sequence?: string } {
  let stopped: { text: string; sequence?: string } = { text };
  for (const sequence of sequences) {
    const at = sequence === "" ? -1 : text.indexOf(sequence);
    if (at >= 0 && at < stopped.text.length) stopped = { text: text.slice(0, at), sequence };
  }
  return stopped;
}

// Reasoning

/** Each level of effort adds one step of reasoning. */
function reason(request: GenerateRequest, { text }: Conversation, calls: readonly ToolCallPart[]): string {
  const effort = effortOf(request.thinking);
  const plan = calls.length > 0
    ? `The next step is to call ${enumerate(calls.map((call) => call.name))}.`
    : request.outputSchema
    ? "It asks for JSON, so the answer is JSON and nothing else."
    : "No tool is to be called, so the answer is text.";
  const steps = [
    `The request holds ${describeRequest(request)}.`,
    plan,
    text === "" ? "The user wrote no text." : `The user's last text begins with "${prefix(text, 80).toWellFormed()}".`,
    "The sandbox runs no model, so these steps show the form of reasoning and not its substance.",
    "The same request always gets the same answer, so nothing here is left to chance.",
    `The effort is "${effort}", which gives as many steps as there are.`,
  ];
  return firstTokens(steps.slice(0, EFFORTS.indexOf(effort)).join("\n"), request.thinking?.budgetTokens ?? Infinity);
}

function effortOf({ enabled, effort }: Thinking = {}): Effort {
  if (enabled === false) return "none";
  return effort ?? (enabled ? "medium" : "none");
}

// Limits

type Part = ReasoningPart | TextPart | ToolCallPart;

interface Limited {
  content: Part[];
  outputTokens: number;
  reasoningTokens: number;
  /** Whether nothing was cut. */
  whole: boolean;
}

/** As much of the parts as fits into `maxTokens`, reasoning included. A tool call is never cut. */
function limit(parts: readonly Part[], maxTokens = Infinity): Limited {
  const limited: Limited = { content: [], outputTokens: 0, reasoningTokens: 0, whole: true };
  for (const part of parts) {
    const text = part.type === "tool-call" ? part.name + part.input : part.text;
    const fitting = firstTokens(text, maxTokens - limited.outputTokens);
    limited.whole = fitting.length === text.length;
    const isKept = part.type === "tool-call" ? limited.whole : fitting !== "";
    if (isKept) {
      limited.content.push(part.type === "tool-call" ? part : { ...part, text: fitting });
      const tokens = estimateTextTokens(fitting);
      limited.outputTokens += tokens;
      if (part.type === "reasoning") limited.reasoningTokens += tokens;
    }
    if (!limited.whole) break;
  }
  return limited;
}

/** The longest beginning of the text with at most `maxTokens` tokens. */
function firstTokens(text: string, maxTokens: number): string {
  if (estimateTextTokens(text) <= maxTokens) return text;
  let [fits, tooLong] = [0, text.length];
  while (tooLong - fits > 1) {
    const length = Math.floor((fits + tooLong) / 2);
    if (estimateTextTokens(prefix(text, length)) <= maxTokens) fits = length;
    else tooLong = length;
  }
  return prefix(text, fits);
}
