/** The state of a conversation from turn to turn: stored by the gateway, or sealed and kept by the client. */
import type { Message, OpaqueReasoning, OutputPart } from "../canonical/generate.ts";
import type { Input } from "../canonical/operations.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { Exchange } from "../contract/context.ts";
import type { Protocol } from "../contract/protocol.ts";
import { GatewayError } from "../errors.ts";
import type { Recalled } from "../state/continuity.ts";
import type { Sealer } from "../state/seal.ts";
import { goOnFromSealed, holdsSummary } from "../transforms/compaction.ts";
import {
  holdsResult,
  numberHits,
  openHits,
  sealedHits,
  sealStepStream,
  takeSteps,
} from "../transforms/hosted_sealing.ts";
import {
  openReasoning,
  SEALED_PREFIX,
  sealedIn,
  type Sealing,
  sealStream,
  type Thought,
} from "../transforms/sealing.ts";
import { runSliced, sliced } from "../util/sliced_work.ts";
import { FACT, withTurnsOf } from "./facts.ts";
import type { ConversationCache } from "./incoming.ts";
import type { Inference, Stage } from "./inference.ts";

/** Adds what the request builds on: stored turns, and the content that the client keeps sealed. */
export const RECALL: Stage<"generate"> = {
  name: "recall",
  operations: ["generate", "countTokens"],
  // Parts of these types may be sealed, or hold hits without numbers.
  needs: FACT.continues | FACT.opaque | FACT.reasoning | FACT.hostedSteps,
  async request(inference) {
    const { input, added } = await recall(inference.input, inference.context, inference.conversationCache);
    return { ...inference, input, added, facts: withTurnsOf(inference.facts, input) };
  },
};

/** Puts the contents of uploaded files in the place of their ids. What the gateway stores of the turn keeps the ids. */
export const GIVEN_FILES: Stage<"generate"> = {
  name: "uploaded files",
  operations: ["generate", "countTokens"],
  needs: FACT.files,
  request: (inference) =>
    inference.context.gateway.documents || namesFile(inference.input.messages) ? fillFiles(inference) : inference,
};

function namesFile(messages: readonly Message[]): boolean {
  const isNamed = (part: Message["content"][number]): boolean =>
    part.type === "file" ? part.source.type === "id" : part.type === "tool-result" && part.content.some(isNamed);
  return messages.some(({ content }) => content.some(isNamed));
}

async function fillFiles(inference: Inference<"generate">): Promise<Inference<"generate">> {
  const { withGivenFiles } = await import("./given_files.ts");
  const given = await withGivenFiles(inference);
  const reads = inference.context.gateway.documents && given.relay === undefined;
  const input = reads ? await (await import("./documents.ts")).withReadDocuments(given, inference) : given;
  return { ...inference, input, facts: withTurnsOf(inference.facts, input) };
}

/** The request with everything that it builds on. */
export async function recall(
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

/** Seals the reasoning of the answer, and the results of hosted tools, if the protocol has a field for them. */
export const SEALING: Stage<"generate"> = {
  name: "sealing",
  operations: ["generate"],
  needs: FACT.sealed,
  answer({ protocol, exchange, context, hosted }) {
    const sealing = sealingFor(protocol, exchange, context);
    return sealing && {
      transforms: hosted ? [sealStream(sealing), sealStepStream(sealing)] : [sealStream(sealing)],
      sees: ({ type }) => type === "reasoning" || type === "hosted",
      opens: sealing.toOpen,
    };
  },
};

/** How the answer's reasoning is sealed, if the protocol has a field for it. */
function sealingFor(
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
