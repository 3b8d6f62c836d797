/** A request that only prepares the next one of its WebSocket. */
import type { Exchange } from "../contract/context.ts";
import { sourceOf } from "../util/event_source.ts";
import { type ConversationCache, type Incoming, openExchange } from "../inference/incoming.ts";
import { recall } from "../inference/recall.ts";
import { resolve } from "../inference/resolve.ts";
import { respondWithStream } from "../inference/stream_response.ts";

/** Keeps the conversation for the next request to continue. The answer is empty. */
export async function warmUp(asked: Incoming<"generate">, conversationCache: ConversationCache): Promise<Response> {
  const { protocol, input: { model }, lane, context } = asked;
  await resolve("generate", model, lane, context);
  const { input } = await recall(asked.input, context, conversationCache);
  const exchange: Exchange<"generate"> = { ...openExchange(asked, input), stored: false };
  conversationCache.keep(exchange.id);
  const usage = { inputTokens: 0, outputTokens: 0 };
  return await respondWithStream(
    protocol,
    exchange,
    sourceOf([{ type: "start", model, inputTokens: 0 }, { type: "finish", finish: { reason: "stop" }, usage }]),
    context,
  );
}
