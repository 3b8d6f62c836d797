import { type Incoming, openExchange } from "../inference/incoming.ts";
import { maskValue } from "../inference/mask_secrets.ts";
import { findModel, mayAsk } from "../inference/resolve.ts";
import { flushEventLoop, runExclusively, yieldToEventLoop } from "../util/sliced_work.ts";

/** The length from which a list takes milliseconds to write. */
const LONG_LIST = 1_000;

/** The lane's models that the caller may use. */
export async function listModels(incoming: Incoming<"listModels">): Promise<Response> {
  const { protocol, input, lane, context: { caller, hide, note, signal } } = incoming;
  await yieldToEventLoop();
  const all = await lane.list(note);
  const write = () => {
    signal.throwIfAborted();
    const models = all.filter(({ id, task }) => (!input.task || task === input.task) && mayAsk(id, caller));
    return protocol.serialize(maskValue(models, hide), openExchange(incoming, input));
  };
  return all.length < LONG_LIST ? write() : await runExclusively(caller.owner, () => flushEventLoop().then(write));
}

/** One of the lane's models, by its name. */
export async function getModel(incoming: Incoming<"getModel">): Promise<Response> {
  const { protocol, input, lane, context } = incoming;
  const found = await findModel(input.model, lane, context);
  const asksForGaps = input.gaps && found.task === "chat";
  const model = asksForGaps
    ? { ...found, fillsGaps: await (await import("../inference/gaps.ts")).canFill(input.model, lane, context) }
    : found;
  return protocol.serialize(maskValue(model, context.hide), openExchange(incoming, input));
}
