/** The state of a conversation from turn to turn: stored by the gateway, or sealed and kept by the client. */
import { Collector } from "../canonical/collect.ts";
import type { GenerateEvent, GenerateResponse, Message, OpaqueReasoning, OutputPart } from "../canonical/generate.ts";
import type { Input } from "../canonical/operations.ts";
import { holdsPart } from "../canonical/part_types.ts";
import { goOnFromSealed, holdsSummary } from "../transforms/compaction.ts";
import { holdsResult, numberHits, openHits, sealedHits, takeSteps } from "../transforms/hosted_sealing.ts";
import { markReasoning } from "../transforms/reasoning.ts";
import { openReasoning, SEALED_PREFIX, sealedIn, type Sealing, type Thought } from "../transforms/sealing.ts";
import { GatewayError } from "../errors.ts";
import { runSliced, sliced } from "../util/sliced_work.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { Exchange } from "../contract/context.ts";
import type { Protocol } from "../contract/protocol.ts";
import type { ConversationCache } from "./incoming.ts";
import type { AddedTurn, Recalled } from "../state/continuity.ts";
import type { Sealer } from "../state/seal.ts";
import type { Passage } from "./answer_loop.ts";

/** The request with everything that it builds on: stored turns, and the content that the client keeps sealed. */
export function recall(
  asked: Input<"generate">,
  context: RequestContext,
  conversationCache?: ConversationCache,
): Recalled | Promise<Recalled> {
  const { messages, recall: wanted } = asked;
  const { previous, references = [], conversation } = wanted ?? {};
  const buildsOn = conversationCache || previous !== undefined || references.length > 0 || conversation !== undefined;
  if (buildsOn || MAY_BE_SEALED.some((type) => holdsPart(messages, type))) {
    return recallAll(asked, context, conversationCache);
  }
  return { input: asked, added: { messages: wanted ? messages.slice(wanted.at) : messages } };
}

/** The types of parts that may hold sealed content, or hits without numbers. */
const MAY_BE_SEALED = ["opaque", "reasoning", "hosted"] as const;

async function recallAll(
  asked: Input<"generate">,
  context: RequestContext,
  conversationCache?: ConversationCache,
): Promise<Recalled> {
  const fromStore = () => recallStored(asked, context);
  const recalled = await (conversationCache ? conversationCache.recall(asked, fromStore) : fromStore());
  const isSummed = holdsSummary(recalled.input.messages);
  const { input, added } = await openThoughts(isSummed ? await openSummary(recalled, context) : recalled, context);
  const messages = numberHits(input.messages);
  return { input: messages === input.messages ? input : { ...input, messages }, added };
}

async function recallStored(
  asked: Input<"generate">,
  { gateway, caller: { owner } }: RequestContext,
): Promise<Recalled> {
  const recalled = await gateway.state.continuity.recall(asked, owner);
  const { at, conversation } = asked.recall ?? {};
  if (conversation === undefined) return recalled;
  const { items } = await gateway.state.conversations.get(conversation, owner);
  const { input, added } = recalled;
  const before = items.map(({ message }) => message);
  const messages = [...input.messages.slice(0, at), ...before, ...input.messages.slice(at)];
  return { input: { ...input, messages }, added };
}

/** Opens the sealed summary that the gateway wrote, so that the conversation continues from it. */
async function openSummary(recalled: Recalled, context: RequestContext): Promise<Recalled> {
  const { input } = recalled;
  const sealer = await summarySealer(context);
  const { clientWire, caller: { owner } } = context;
  const messages = await runSliced(goOnFromSealed(input.messages, function* ({ data }) {
    const summary = yield* sealer.open(data, summaryWire(clientWire), owner);
    if (!summary) throw new GatewayError("invalid_request", UNREADABLE, { retryable: false });
    return summary.text;
  }));
  return { ...recalled, input: { ...input, messages } };
}

/** The error for an unreadable summary: without it, the conversation would go on as if it were new. */
const UNREADABLE =
  "The encrypted content of the compaction could not be verified: another key or gateway made it, it was " +
  "changed, or the sealing key has changed since. Start from the whole conversation, or without the compaction";

async function openThoughts({ input, added }: Recalled, context: RequestContext): Promise<Recalled> {
  const sealed = sealedIn(input.messages);
  const hits = sealedHits(input.messages);
  if (sealed.length + hits.length === 0) return { input, added };
  const sealer = await sealerFor(context);
  const { clientWire, caller: { owner } } = context;
  const found = new Map<string, string | undefined>();
  for await (const one of sliced(hits)) {
    const opened = sealer && await runSliced(sealer.open(one, clientWire, owner));
    found.set(one, opened?.text);
  }
  const thoughts = new Map<OpaqueReasoning, Thought | undefined>();
  // They are opened one after the other: a long conversation has thousands.
  for await (const opaque of sliced(sealed)) {
    thoughts.set(opaque, sealer && await runSliced(sealer.open(opaque.data, opaque.origin, owner)));
  }
  const open = (closed: Message[]) => {
    // Without a sealer, the failure is noted already.
    const thinking = openReasoning(closed, (opaque) => thoughts.get(opaque), sealer ? context.note : () => {});
    return openHits(takeSteps(thinking), (one) => found.get(one));
  };
  return {
    input: { ...input, messages: open(input.messages) },
    added: { ...added, messages: open(added.messages) },
  };
}

/** How the answer's reasoning is sealed, if the protocol has a field for it. */
export function sealingFor(
  { reasoning }: Protocol<"generate">,
  { wire }: Exchange<"generate">,
  context: RequestContext,
): OpenedSealing | undefined {
  const place = reasoning?.(wire);
  const { caller: { owner }, clientWire, requestLog } = context;
  let sealer: Sealer | undefined;
  let isLoaded = false;
  return place && {
    ...place,
    wire: clientWire,
    toOpen(part) {
      if (isLoaded || part.type !== "reasoning" && !holdsResult(part)) return undefined;
      return async () => {
        sealer = await sealerFor(context);
        isLoaded = true;
      };
    },
    seal({ opaque, ...thought }) {
      if (!isLoaded) throw new Error("The sealer has not been loaded");
      if (!sealer) return SEALED_PREFIX; // a seal that cannot be opened
      const bound = opaque && { opaque: { target: requestLog.attempt?.target, ...opaque } };
      return sealer.seal({ ...thought, ...bound }, clientWire, owner);
    },
  };
}

interface OpenedSealing extends Sealing {
  /** Returns what must be awaited before this part can be sealed. An answer without reasoning needs no key. */
  toOpen(part: OutputPart): (() => Promise<void>) | undefined;
}

/** The sealer. `undefined` if the store cannot provide the key: sealed content is then left out, which is noted. */
async function sealerFor({ gateway, requestLog, note }: RequestContext): Promise<Sealer | undefined> {
  const { sealer, failure } = await requestLog.waitForStore(gateway.state.sealer(requestLog.storeMs));
  if (sealer) return sealer;
  requestLog.explain(failure);
  note("could not read the key that seals reasoning");
  return undefined;
}

/**
 * The sealer for summaries. Throws `unavailable` without a key, because a conversation must not go on without its
 * summary as if it were new.
 */
export async function summarySealer({ gateway }: RequestContext): Promise<Sealer> {
  const { sealer, failure: cause } = await gateway.state.sealer();
  if (sealer) return sealer;
  const message = "The gateway cannot read the key that seals summaries: try again later";
  throw new GatewayError("unavailable", message, { cause });
}

/** The purpose that summaries are sealed for. Content sealed for one purpose cannot be opened for another. */
export function summaryWire(wire: string): string {
  return `${wire} summary`;
}

/**
 * Stores the turn before the end of the answer goes out, so that the client can continue it at once. If the store
 * fails, the answer is served all the same.
 */
export function remember(
  response: GenerateResponse,
  exchange: Exchange<"generate">,
  added: AddedTurn,
  context: RequestContext,
  conversationCache?: ConversationCache,
): Promise<void> | undefined {
  const { conversation, keep } = exchange.input.recall ?? {};
  if (conversation === undefined && !keep && !conversationCache) return undefined;
  return rememberTurn(response, exchange, added, context, conversationCache);
}

async function rememberTurn(
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

/** Like `remember`, for a stream: its end waits until the answer is stored. */
export function remembering(
  store: (response: GenerateResponse) => Promise<void> | undefined,
): Required<Passage<GenerateEvent>> {
  const collector = new Collector();
  return {
    transforms: [{
      push(event, emit) {
        if (event.type !== "finish" && event.type !== "error") collector.add(event);
        emit(event);
      },
    }],
    before(event) {
      if (event.type !== "finish") return undefined;
      return async () => {
        const response = collector.add(event);
        if (response) await store(response);
      };
    },
  };
}
