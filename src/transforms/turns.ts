/**
 * Arranges the turns of a conversation for an upstream that speaks another wire, or repairs them for one that speaks
 * the client's wire.
 */
import type {
  AssistantMessage,
  InputPart,
  Message,
  SystemMessage,
  TextPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "../canonical/generate.ts";
import { type Extra, mergeExtras } from "../canonical/extra.ts";
import { holdsPart } from "../canonical/part_types.ts";

export type Note = (text: string) => void;

/**
 * Tool results follow the turn that called for them, one per call, in the order of the calls. If the upstream accepts system
 * messages only at the beginning, later ones go into the user's turn, as agents put them there themselves: at the front they would
 * invalidate the prefix cache. `note` reports every change.
 */
export function arrangeTurns(
  messages: readonly Message[],
  { wire, systemMessages }: { wire: string; systemMessages: "first" | "anywhere" },
  note: Note,
): readonly Message[] {
  const worded = !holdsPart(messages, "opaque")
    ? messages
    : messages.map((message) => withoutWordless(message, wire, note))
      .filter((message) => message !== undefined);
  const telling = worded.every(({ role, content }) => role !== "system" || content.length > 0)
    ? worded
    : worded.filter((message) => message.role !== "system" || hasContent(message, note));
  const joined = telling.some(isContinued) ? joinAssistant(telling) : telling;
  const answered = isArranged(joined) ? joined : answerCalls(resultsFirst(withDistinctIds(joined, note)), note);
  return systemMessages === "anywhere" ? answered : foldSystemMessages(answered, note);
}

function isContinued({ role }: Message, at: number, messages: readonly Message[]): boolean {
  return role === "assistant" && messages[at - 1]?.role === role;
}

/** Whether every result is already in its place, as in most conversations. */
export function isArranged(messages: readonly Message[]): boolean {
  let called: string[] = [];
  let answered = 0;
  for (const { role, content } of messages) {
    if (role === "tool") {
      if (content.length === 0 || content.some(({ id }) => called[answered++] !== id)) return false;
    } else {
      if (answered < called.length) return false;
      called = role === "assistant" ? callIds(content) : [];
      answered = 0;
      if (called.length > 1 && new Set(called).size < called.length) return false;
    }
  }
  return answered === called.length || messages.at(-1)?.role === "assistant";
}

function callIds(content: AssistantMessage["content"]): string[] {
  const ids: string[] = [];
  for (const part of content) if (part.type === "tool-call") ids.push(part.id);
  return ids;
}

/**
 * For an upstream of the client's own wire: the turns stay as they are, unless a call is not directly followed by its result, which
 * every server of the wire refuses.
 */
export function mendTurns(messages: readonly Message[], note: Note): readonly Message[] {
  if (isArranged(messages) || isPaired(messages)) return messages;
  const turns = withDistinctIds(joinAssistant(messages, { onlyAfterCalls: true }), note);
  const ordered = resultsFirst(turns);
  const isMoved = turns.length < messages.length || ordered.some((message, at) => message !== turns[at]);
  if (isMoved) note("moved results of tools right after their calls");
  return answerCalls(ordered, note);
}

function isPaired(messages: readonly Message[]): boolean {
  const open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") {
      if (!message.content.every(({ id }) => open.delete(id))) return false;
      continue;
    }
    if (open.size > 0) return false;
    if (message.role !== "assistant") continue;
    for (const part of message.content) {
      if (part.type !== "tool-call") continue;
      if (open.has(part.id)) return false;
      open.add(part.id);
    }
  }
  return open.size === 0 || messages.at(-1)?.role === "assistant";
}

/** Drops parts of another wire that cannot be put into words. Servers refuse a turn that is left empty. */
function withoutWordless(message: Message, wire: string, note: Note): Message | undefined {
  const parts: readonly Message["content"][number][] = message.content;
  const wordless = parts.filter((part) => isWordless(part, wire));
  if (wordless.length === 0) return message;
  for (const part of wordless) note(`dropped a part of type ${String(part.extra?.fields.type)}`);
  const content = parts.filter((part) => !isWordless(part, wire));
  if (content.length > 0) return { ...message, content } as Message;
  noteLost(message.extra, note);
  return undefined;
}

function isWordless(part: Message["content"][number], wire: string): boolean {
  return part.type === "opaque" && part.standIn === undefined && part.extra.wire !== wire;
}

/** Whether the message has any content that this wire can express. */
function hasContent({ content, extra }: SystemMessage, note: Note): boolean {
  if (content.length === 0) noteLost(extra, note);
  return content.length > 0;
}

/** On some wires each output of the assistant is a turn. Elsewhere they form one; `onlyAfterCalls`: those after a call. */
export function joinAssistant(messages: readonly Message[], { onlyAfterCalls = false } = {}): Message[] {
  const joined: Message[] = [];
  /** The last turn, if others may join it, and what each of those that did carries. */
  let open: AssistantMessage | undefined;
  let extras: (Extra | undefined)[] = [];
  const close = () => {
    if (open && extras.length > 1) open.extra = mergeExtras(extras);
  };
  for (const message of messages) {
    if (message.role === "assistant" && open) {
      for (const part of message.content) open.content.push(part);
      if (message.extra) extras.push(message.extra);
      continue;
    }
    close();
    const turn = message.role === "assistant" ? { ...message, content: [...message.content] } : message;
    joined.push(turn);
    open = turn.role === "assistant" && (!onlyAfterCalls || callIds(turn.content).length > 0) ? turn : undefined;
    extras = [turn.extra];
  }
  close();
  return joined;
}

/** Servers refuse several calls of one turn with the same id. Each call gets its own, and so do the results, in order. */
function withDistinctIds(messages: readonly Message[], note: Note): Message[] {
  /** For each id of the client: the new ids of its calls in the latest turn, and how many of them have results. */
  const called = new Map<string, { ids: string[]; answered: number; number: number }>();
  return messages.map((message) => {
    if (message.role === "tool") {
      const content = message.content.map((result) => {
        const calls = called.get(result.id);
        const id = calls?.ids[calls.answered++] ?? result.id;
        return id === result.id ? result : { ...result, id };
      });
      return content.some((result, at) => result !== message.content[at]) ? { ...message, content } : message;
    }
    if (message.role !== "assistant") return message;
    called.clear();
    const taken = new Set(message.content.map((part) => part.type === "tool-call" ? part.id : undefined));
    const content = message.content.map((part) => {
      if (part.type !== "tool-call") return part;
      const calls = called.get(part.id);
      if (!calls) {
        called.set(part.id, { ids: [part.id], answered: 0, number: 1 });
        return part;
      }
      do calls.number++; while (taken.has(`${part.id}_${calls.number}`));
      const id = `${part.id}_${calls.number}`;
      taken.add(id);
      calls.ids.push(id);
      note(`renamed a call with the duplicate id ${part.id}`);
      return { ...part, id };
    });
    return { ...message, content };
  });
}

/** Some wires allow other turns between calls and their results. */
function resultsFirst(messages: readonly Message[]): Message[] {
  const ordered: Message[] = [];
  // The messages since the latest call or result. A further result goes before them.
  let since: Message[] = [];
  let called = false;
  for (const message of messages) {
    if (message.role === "tool" && called) ordered.push(message);
    else if (message.role === "tool" || message.role === "assistant") {
      for (const one of since) ordered.push(one);
      ordered.push(message);
      since = [];
      called = true;
    } else since.push(message);
  }
  return ordered.concat(since);
}

/**
 * A call without a result, or a result without a call, would fail every later request of the conversation. The call gets an error
 * as its result, and the result becomes text of the user.
 */
function answerCalls(messages: readonly Message[], note: Note): Message[] {
  const answered: Message[] = [];
  const open = new Set<string>();
  let ids: string[] = [];
  let results: ToolMessage[] = [];
  let strays: InputPart[] = [];
  const settle = () => {
    for (const id of open) note(`added a result for call ${id}, which had none`);
    if (open.size > 0) results.push({ role: "tool", content: [...open].map(unanswered) });
    for (const message of inOrder(results, ids)) answered.push(message);
    if (strays.length > 0) answered.push({ role: "user", content: strays });
    open.clear();
    ids = [];
    results = [];
    strays = [];
  };
  for (const message of messages) {
    if (message.role === "tool") {
      const own: ToolResultPart[] = [];
      const others: ToolResultPart[] = [];
      for (const result of message.content) (open.delete(result.id) ? own : others).push(result);
      if (own.length > 0) results.push({ ...message, content: own });
      else noteLost(message.extra, note);
      for (const result of others) for (const part of inWords(result, note)) strays.push(part);
      continue;
    }
    settle();
    answered.push(message);
    if (message.role !== "assistant") continue;
    for (const part of message.content) if (part.type === "tool-call") ids.push(part.id);
    for (const id of ids) open.add(id);
  }
  // Calls at the very end still await their results.
  if (messages.at(-1)?.role === "assistant") open.clear();
  settle();
  return answered;
}

/** A result without a call, as text from the user. */
export function inWords({ id, content, extra }: ToolResultPart, note: Note): InputPart[] {
  note(`moved the result of ${id}, which has no call, into the user turn`);
  noteLost(extra, note);
  return [{ type: "text", text: `Result of ${id}:` }, ...content];
}

/** Agents send results as tools finish. Many chat templates show no ids, so only the order matches results to calls. */
function inOrder(results: readonly ToolMessage[], ids: readonly string[]): readonly ToolMessage[] {
  const placeOf = new Map(ids.map((id, place) => [id, place]));
  const places = results.flatMap(({ content }) => content.map(({ id }) => placeOf.get(id) ?? 0));
  if (places.every((place, index) => index === 0 || places[index - 1]! <= place)) return results;
  return results
    .flatMap(({ content, ...message }) =>
      content.map((result, index): ToolMessage =>
        index === 0 ? { ...message, content: [result] } : { role: "tool", content: [result] }
      )
    )
    .sort((a, b) => placeOf.get(a.content[0]!.id)! - placeOf.get(b.content[0]!.id)!);
}

export function unanswered(id: string): ToolResultPart {
  return { type: "tool-result", id, content: [{ type: "text", text: "The call was not answered" }], isError: true };
}

/** Merges consecutive user turns, because many chat templates require alternating roles. */
function foldSystemMessages(messages: readonly Message[], note: Note): Message[] {
  const folded: Message[] = [];
  /** The last turn, if it was assembled here. */
  let own: Message | undefined;
  for (const message of messages) {
    const last = folded.at(-1);
    const turn = message.role === "system" && last && last.role !== "system" ? asReminder(message, note) : message;
    if (!last || last.role !== turn.role || (turn.role !== "system" && turn.role !== "user")) {
      folded.push(turn);
      continue;
    }
    noteLost(turn.extra, note);
    if (last !== own) folded[folded.length - 1] = own = { ...last, content: [...last.content] } as Message;
    for (const part of turn.content) (own as UserMessage).content.push(part);
  }
  return folded;
}

function asReminder({ content, extra }: SystemMessage, note: Note): UserMessage {
  const texts = content.filter((part) => part.type === "text");
  const others = content.filter((part) => part.type !== "text");
  for (const lost of [extra, ...texts.map((part) => part.extra)]) noteLost(lost, note);
  const text = texts.map((part) => part.text).filter((one) => one !== "").join("\n\n");
  if (text.trim() === "") return { role: "user", content: others };
  note("moved a system message into the user turn");
  const reminder: TextPart = { type: "text", text: `<system-reminder>\n${text}\n</system-reminder>` };
  return { role: "user", content: [reminder, ...others] };
}

export function noteLost(extra: Extra | undefined, note: Note): void {
  for (const field of Object.keys(extra?.fields ?? {})) note(`dropped ${field}`);
}
