/** Keeps answers, for requests that continue them. */
import { Collector } from "../canonical/collect.ts";
import type { GenerateEvent, GenerateResponse, Message } from "../canonical/generate.ts";
import type { StoredAnswer } from "../canonical/stored.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { Exchange } from "../contract/context.ts";
import type { StreamTransform } from "../contract/stream.ts";
import { GatewayError } from "../errors.ts";
import type { AddedTurn, Continuity } from "../state/continuity.ts";
import type { Conversation } from "../state/turns.ts";
import { markReasoning } from "../transforms/reasoning.ts";
import { FACT } from "./facts.ts";
import type { ConversationCache, ThreadTurn } from "./incoming.ts";
import type { Stage } from "./inference.ts";

/**
 * Stores the turn before the end of the answer goes out, so that the client can continue it at once. If the store
 * fails, the answer is served all the same.
 */
export const STORAGE: Stage<"generate"> = {
  name: "storage",
  operations: ["generate"],
  needs: FACT.kept,
  answer({ exchange, added, context, conversationCache, thread }) {
    if (thread) return { completed: (response) => rememberInThread(response, exchange, added, context, thread) };
    return { completed: (response) => remember(response, exchange, added, context, conversationCache) };
  },
};

async function remember(
  response: GenerateResponse,
  exchange: Exchange<"generate">,
  { messages, follows, begins }: AddedTurn,
  context: RequestContext,
  conversationCache?: ConversationCache,
): Promise<void> {
  const { gateway, requestLog, caller, note } = context;
  const { id, created, input } = exchange;
  const { keep } = input.recall ?? {};
  const target = requestLog.attempt?.target ?? "";
  const addTo = async (conversation: string, asked: Message[], { content }: GenerateResponse) => {
    // Each part of the answer becomes an item of the conversation.
    const answer = content.map((part): Message => ({ role: "assistant", content: [markReasoning(part, target)] }));
    try {
      await gateway.state.conversations.change(conversation, caller.owner, { messages: [...asked, ...answer] });
    } catch (cause) {
      requestLog.entry.cause = cause;
      note("could not add the response to its conversation");
    }
  };
  if (input.recall?.conversation !== undefined) await addTo(input.recall.conversation, messages, response);
  if (!keep) return conversationCache?.keep(id, response, target);
  const previous = begins ? undefined : input.recall?.previous;
  const facts = { id, previous, created, completed: exchange.now(), model: input.model };
  await store({ ...facts, messages, response, keep }, follows, exchange, context, gateway.state.continuity);
}

/** Stores the next turn of a thread. An answer that its client cannot continue leaves the thread unchanged. */
async function rememberInThread(
  response: GenerateResponse,
  exchange: Exchange<"generate">,
  { messages }: AddedTurn,
  context: RequestContext,
  { previous, follows, setup, isKept, answers }: ThreadTurn,
): Promise<void> {
  if (!isKept(response)) return;
  const { id, created, input: { model } } = exchange;
  const facts = { id, previous, created, completed: exchange.now(), model, setup };
  await store({ ...facts, messages, response, keep: {} }, follows, exchange, context, answers);
}

async function store(
  answer: StoredAnswer,
  follows: Conversation | undefined,
  exchange: Exchange<"generate">,
  { requestLog, caller, note }: RequestContext,
  answers: Pick<Continuity, "remember">,
): Promise<void> {
  const target = requestLog.attempt?.target ?? "";
  try {
    const { storeMs } = requestLog;
    await requestLog.waitForStore(answers.remember(answer, target, caller.owner, follows, storeMs));
  } catch (cause) {
    exchange.stored = false;
    requestLog.entry.cause = cause;
    const isFull = cause instanceof GatewayError && cause.code === "rate_limit";
    note(isFull ? "could not store the response beyond store.bytesPerKey" : "could not store the response");
  }
}

/** Calls `store` with the complete answer of a stream before its end goes on. */
export function storing(store: (response: GenerateResponse) => Promise<void> | undefined) {
  const collector = new Collector();
  const transform: StreamTransform<GenerateEvent> = {
    push(event, emit) {
      if (event.type !== "finish" && event.type !== "error") collector.add(event);
      emit(event);
    },
  };
  const before = (event: GenerateEvent) => {
    if (event.type !== "finish") return undefined;
    return async () => {
      const response = collector.add(event);
      if (response) await store(response);
    };
  };
  return { transform, before };
}
