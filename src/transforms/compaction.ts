/** Conversations that continue from a summary: how it is requested, and what happens to the turns that it replaces. */
import type { CompactionRequest, Covered, SealedSummary } from "../canonical/compaction.ts";
import type { GenerateRequest, GenerateResponse, Message, OutputPart } from "../canonical/generate.ts";
import { holdsPart } from "../canonical/part_types.ts";
import type { SlicedWork } from "../util/sliced_work.ts";

/** The request for a summary of a conversation. Its tools stay, so that the upstream's prefix cache still applies. */
export function askForSummary(request: GenerateRequest, { instructions }: CompactionRequest): GenerateRequest {
  const {
    maxOutputTokens: _length,
    outputSchema: _schema,
    stopSequences: _stops,
    verbosity: _verbosity,
    toolChoice: _choice,
    ...rest
  } = request;
  const question: Message = { role: "user", content: [{ type: "text", text: instructions ?? SUMMARY_PROMPT }] };
  return { ...rest, messages: [...rest.messages, question], ...(rest.tools && { toolChoice: { type: "none" } }) };
}

/** A latest message longer than this, in characters, is only summarized. */
const LONGEST_MESSAGE = 20_000;

/** The model's summary, with the user's latest message if that is replaced too. */
export function summaryIn({ content }: GenerateResponse, { messages }: GenerateRequest, keepsUsers: boolean): string {
  const text = joinedText(content).trim();
  if (text === "" || keepsUsers) return text;
  const latest = messages.findLast(({ role, content }) =>
    role === "user" && content.some((part) => part.type === "text")
  );
  const words = latest?.role === "user" ? joinedText(latest.content).trim() : "";
  return words === "" || words.length > LONGEST_MESSAGE ? text : text + latestWords(words);
}

function joinedText(parts: readonly OutputPart[]): string {
  return parts.map((part) => part.type === "text" ? part.text : "").join("");
}

/** The request with a conversation that continues from its summary. */
export function goOnFrom(request: GenerateRequest, summary: string, covers: Covered): GenerateRequest {
  return { ...request, messages: replaced(request.messages, [], summary, covers) };
}

/** Whether any part may be one of the gateway's summaries. */
export function holdsSummary(messages: readonly Message[]): boolean {
  if (!holdsPart(messages, "opaque")) return false;
  for (const { role, content } of messages) {
    if (role !== "assistant") continue;
    for (const part of content) if (part.type === "opaque" && part.sealed) return true;
  }
  return false;
}

/** The messages from the gateway's last summary on. All messages if there is none. Summaries by others stay as they are. */
export function* goOnFromSealed(
  messages: Message[],
  open: (sealed: SealedSummary) => SlicedWork<string>,
): SlicedWork<Message[]> {
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at]!;
    if (message.role !== "assistant") continue;
    for (let index = message.content.length - 1; index >= 0; index--) {
      const part = message.content[index]!;
      const sealed = part.type === "opaque" ? part.sealed : undefined;
      if (!sealed) continue;
      const [before, after] = [message.content.slice(0, index), message.content.slice(index + 1)];
      return replaced(
        [...messages.slice(0, at), ...inTurn(message, before)],
        [...inTurn(message, after), ...messages.slice(at + 1)],
        yield* open(sealed),
        sealed.covers,
      );
    }
  }
  return messages;
}

function inTurn(message: Message & { role: "assistant" }, content: OutputPart[]): Message[] {
  return content.length > 0 ? [{ ...message, content }] : [];
}

/**
 * The parts of the earlier turns that stay, the summary, and the later turns together with the calls that their results
 * belong to.
 */
function replaced(before: readonly Message[], after: readonly Message[], summary: string, covers: Covered): Message[] {
  const kept = before.filter(({ role }) => role === "system" || covers === "answers" && role === "user");
  const results = new Set(after.flatMap(({ role, content }) => role === "tool" ? content.map(({ id }) => id) : []));
  const calls = before.flatMap((message) => {
    if (message.role !== "assistant" || results.size === 0) return [];
    return inTurn(message, message.content.filter((part) => part.type === "tool-call" && results.has(part.id)));
  });
  const words: Message = {
    role: "user",
    content: [{ type: "text", text: summaryInWords(summary) }],
    isSummary: true,
  };
  return [...kept, words, ...calls, ...after];
}

const SUMMARY_PROMPT =
  `The conversation above is about to be replaced by a summary, because it has become too long. Write that summary now. Whoever goes on with the work sees nothing else of what the assistant said, did and found out, so leave out nothing that is needed to go on.

Write these sections, and leave out those that have nothing in them:
1. Task: what the user wants, in their own words where the words matter, with all conditions, preferences and corrections.
2. State: what is done, what was decided and why, and what was tried and failed.
3. Facts: the names, paths, commands, values, quotations and results that matter, exactly as they were. Include short passages of code or text that the next steps depend on.
4. Open: what was being done just now, questions and errors that are not settled, and the very next step.

Write only the summary, as plain text, in the language of the conversation. Do not answer the user, do not go on with the task, and call no tool.`;

/** The summary as the model reads it in place of the earlier turns. */
function summaryInWords(summary: string): string {
  return `The conversation before this point became too long and was replaced by the summary below. Go on from where it ends. Do not mention the summary.

<summary>
${summary}
</summary>`;
}

/** The user's latest message, added to a summary that also replaces it. */
function latestWords(text: string): string {
  return `\n\nThe user's latest message, word for word:\n${text}`;
}
