/** How an answer that broke off goes on: from which beginning, and as which request. */
import type { GenerateRequest, Message, OutputPart, ToolCallPart } from "../canonical/generate.ts";
import { cutText, quoteOf } from "./seam.ts";

/** The part of an answer that a client has seen. */
export interface Shown {
  content: readonly OutputPart[];
  /** Whether the last part has not ended. */
  isOpen: boolean;
}

/** How an answer is to go on. */
export interface Continuing {
  /** The beginning of the assistant's turn, for the model. Empty if the model is asked anew. */
  turn: OutputPart[];
  /** The text that was seen. It is blank if the model is asked anew. */
  text: string;
  /** The calls that were seen after that turn. The model has to write them again as they are. */
  calls: readonly ToolCallPart[];
  /** Whether the reasoning with which the rest begins is left out: the answer has its reasoning. */
  hidesReasoning: boolean;
}

/**
 * How the answer goes on, or why it cannot: for the log. `isHidden`: the client sees no text of the reasoning, so
 * reasoning that broke off may begin again.
 */
export function continuingOf(
  { content, isOpen }: Shown,
  request: GenerateRequest,
  isHidden: boolean,
): Continuing | string {
  const odd = content.find(({ type }) => type !== "text" && type !== "reasoning" && type !== "tool-call");
  if (odd) return `its ${odd.type} cannot be continued`;
  const firstCall = content.findIndex(({ type }) => type === "tool-call");
  const before = firstCall < 0 ? content : content.slice(0, firstCall);
  const calls = firstCall < 0 ? [] : content.slice(firstCall);
  if (!areCalls(calls)) return "it goes on after a call";
  const text = before.map((part) => part.type === "text" ? part.text : "").join("");
  const last = content.at(-1);
  const broken = isOpen && last?.type === "reasoning" ? last : undefined;
  if (broken && broken.text !== "" && !isHidden) return "its reasoning broke off";
  if (content.some((part) => part.type === "text" && part.annotations?.length)) return "it has citations";
  const hidesReasoning = content.some((part) => part !== broken && part.type === "reasoning" && part.text !== "");
  // Servers refuse a turn without words.
  if (cutText(text).sent === "") return { turn: [], text, calls, hidesReasoning };
  if (request.outputSchema) return "its JSON broke off";
  if (forcesCall(request)) return "it had to call a tool";
  const turn = before.filter((part) => part !== broken && "text" in part && (part.text !== "" || hasOpaque(part)));
  return { turn, text, calls, hidesReasoning };
}

function areCalls(parts: readonly OutputPart[]): parts is ToolCallPart[] {
  return parts.every(({ type }) => type === "tool-call");
}

function hasOpaque(part: OutputPart): boolean {
  return part.type === "reasoning" && part.opaque !== undefined;
}

function forcesCall({ toolChoice }: GenerateRequest): boolean {
  return toolChoice?.type === "required" || toolChoice?.type === "tool" ||
    (toolChoice?.type === "allowed" && toolChoice.mode === "required");
}

/** Leaves out the parts of reasoning that only the target which wrote them can read. */
export function forOtherTarget(continuing: Continuing): Continuing {
  const turn = continuing.turn.flatMap((part): OutputPart[] => {
    if (part.type !== "reasoning") return [part];
    return part.text === "" ? [] : [{ type: "reasoning", text: part.text }];
  });
  return { ...continuing, turn };
}

/** The messages with an unfinished turn, whose text is `sent`, with which the model goes on. */
export function withUnfinishedTurn(messages: readonly Message[], { turn }: Continuing, sent: string): Message[] {
  const last = messages.at(-1);
  const own = last?.role === "assistant" ? last.content : [];
  const joined = joinTexts([...own, ...withText(turn, sent)]);
  const before = last?.role === "assistant" ? messages.slice(0, -1) : messages;
  return [...before, { role: "assistant", content: joined, isUnfinished: true }];
}

/** The messages, and a request in words to go on. It is the user's, because models take orders of no other kind amid a conversation. */
export function withRequestToGoOn(messages: readonly Message[], { turn, text }: Continuing): Message[] {
  return [
    ...messages,
    { role: "assistant", content: joinTexts(withText(turn, text.trimEnd())) },
    { role: "user", content: [{ type: "text", text: wordsFor(quoteOf(text)) }] },
  ];
}

function wordsFor(quote: string): string {
  return "Sorry, my connection dropped while you were writing, and your last message reached me only up to here:\n\n" +
    `${quote}\n\n` +
    "Please write the rest of that message. Start by repeating exactly those last words, and go on from there as if " +
    "there had been no break: no greeting, no comment, nothing that I have already.";
}

/** The turn with another text: what is missing at its end is taken from its last texts. */
function withText(turn: readonly OutputPart[], sent: string): OutputPart[] {
  let left = sent.length;
  return turn.flatMap((part): OutputPart[] => {
    if (part.type !== "text") return [part];
    const text = part.text.slice(0, left);
    left -= text.length;
    return text === "" ? [] : [{ type: "text", text }];
  });
}

/** Servers that continue a turn want its content as one text. */
function joinTexts(parts: readonly OutputPart[]): OutputPart[] {
  const joined: OutputPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.type === "text" && last?.type === "text") {
      joined[joined.length - 1] = { ...last, text: last.text + part.text };
    } else joined.push(part);
  }
  return joined;
}
