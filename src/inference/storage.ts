/** Keeps answers, for requests that continue them. */
import { Collector } from "../canonical/collect.ts";
import type { GenerateEvent, GenerateResponse, Message } from "../canonical/generate.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { Exchange } from "../contract/context.ts";
import type { StreamTransform } from "../contract/stream.ts";
import { GatewayError } from "../errors.ts";
import type { AddedTurn } from "../state/continuity.ts";
import { markReasoning } from "../transforms/reasoning.ts";
import { FACT } from "./facts.ts";
import type { ConversationCache } from "./incoming.ts";
import type { Stage } from "./inference.ts";

/**
 * Stores the turn before the end of the answer goes out, so that the client can continue it at once. If the store
 * fails, the answer is served all the same.
 */
export const STORAGE: Stage<"generate"> = {
  name: "storage",
  operations: ["generate"],
  needs: FACT.kept,
  answer({ exchange, added, context, conversationCache }) {
    return { completed: (response) => remember(response, exchange, added, context, conversationCache) };
  },
};

async function remember(
  response: GenerateResponse,
  exchange: Exchange<"generate">,
  { messages, follows, begins }: AddedTurn,
  { gateway, requestLog, caller, note }: RequestContext,
  conversationCache?: ConversationCache,
): Promise<void> {
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
  try {
    await requestLog.waitForStore(
      gateway.state.continuity.remember(
        { ...facts, messages, response, keep },
        target,
        caller.owner,
        follows,
        requestLog.storeMs,
      ),
    );
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
