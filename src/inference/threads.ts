/** Requests of threads: each is read with the turns before it, and from then on it is like a request that sends them all. */
import type { KeptThread, ThreadSpeech } from "../contract/thread.ts";
import { type HeldClaim, RENEW_MS, type Threads } from "../state/threads.ts";
import { runStep } from "../util/sliced_work.ts";
import { wantsExplanation } from "./explain.ts";
import type { Incoming } from "./incoming.ts";

/** Serves a request of a thread. While it continues an answer, no other request does. */
export async function serveThread(
  incoming: Incoming<"generate">,
  serve: (incoming: Incoming<"generate">) => Promise<Response>,
): Promise<Response> {
  const { context: { caller: { owner }, requestLog }, wire } = incoming;
  requestLog.entry.thread = true;
  const { opened, speech, threads } = await open(incoming);
  const { previous, follows } = opened.thread!;
  if (previous === undefined || wantsExplanation(wire)) return await serve(opened);
  const claim = await threads.claim(previous, owner, follows!);
  if (claim.state !== "held") throw speech.refusal(claim.state, previous);
  const release = holding(claim);
  try {
    const response = await serve(opened);
    requestLog.atEnd(() => void release());
    return response;
  } catch (error) {
    await release();
    throw error;
  }
}

/** Renews the claim until it is given back. */
function holding(claim: HeldClaim): () => Promise<void> {
  const renewing = setInterval(() => {
    claim.renew().then((isHeld) => isHeld || clearInterval(renewing));
  }, RENEW_MS);
  return () => {
    clearInterval(renewing);
    return claim.release();
  };
}

/** The request with all turns of its thread, to count its tokens. */
export async function wholeThread(incoming: Incoming<"countTokens">): Promise<Incoming<"countTokens">> {
  return (await open(incoming)).opened;
}

async function open<K extends "generate" | "countTokens">(
  incoming: Incoming<K>,
): Promise<{ opened: Incoming<K>; speech: ThreadSpeech; threads: Threads }> {
  const { protocol, wire, context } = incoming;
  const { caller: { owner }, gateway } = context;
  const [speech, threads] = await Promise.all([protocol.threads!(), gateway.state.threads()]);
  const turn = { isKept: speech.isKept, answers: threads };
  const previous = speech.previous(wire);
  if (previous === undefined) {
    const { input, setup } = await runStep(() => speech.begin(wire, context));
    return { opened: { ...incoming, input, thread: { ...turn, setup } }, speech, threads };
  }
  const stored = await threads.open(previous, owner);
  if (!stored) throw speech.refusal("not found", previous);
  const { isContinued, conversation: follows, ...thread } = stored;
  if (isContinued && protocol.operation === "generate") throw speech.refusal("continued", previous);
  if (speech.isEmpty(wire)) await checkUnfinished(previous, owner, speech, threads);
  const read = await runStep(() => speech.goOn(wire, context, thread satisfies KeptThread));
  return { opened: { ...incoming, ...read, thread: { ...turn, previous, follows } }, speech, threads };
}

/** Throws if there is nothing to go on with. */
async function checkUnfinished(previous: string, owner: string, speech: ThreadSpeech, threads: Threads): Promise<void> {
  const answer = await threads.find(previous, owner);
  if (!answer || !speech.isUnfinished(answer.response)) throw speech.refusal("nothing to add", previous);
}
