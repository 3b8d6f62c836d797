/** What a conversation builds on from turn to turn: in the gateway's memory, or sealed, in the client's. */
import { Collector } from "../canonical/collect.ts";
import type { GenerateEvent, GenerateResponse, Message } from "../canonical/generate.ts";
import type { Input } from "../canonical/operations.ts";
import { holdsSealed, openReasoning, type Sealing } from "../transforms/sealing.ts";
import type { Exchange } from "../contract/context.ts";
import type { Protocol } from "../contract/protocol.ts";
import type { Recalled } from "../state/continuity.ts";
import type { Sealer } from "../state/seal.ts";
import type { Journey } from "./journey.ts";

/** The request with all that it builds on, from the gateway's memory and out of what the client keeps sealed. */
export async function recall(asked: Input<"generate">, journey: Journey): Promise<Recalled> {
  const { input, messages } = await journey.gateway.continuity.recall(asked, journey.caller.owner);
  if (!holdsSealed(input.messages)) return { input, messages };
  const sealer = await sealerFor(journey);
  const open = (sealed: Message[]) =>
    openReasoning(sealed, ({ data, origin }) => sealer.open(data, origin, journey.caller.owner), journey.note);
  return { input: { ...input, messages: open(input.messages) }, messages: open(messages) };
}

/** How the answer's reasoning is sealed, where the protocol has a place for that. */
export function sealingFor(
  { reasoning }: Protocol<"generate">,
  { wire }: Exchange<"generate">,
  journey: Journey,
): Sealing | undefined {
  const place = reasoning?.(wire);
  const { caller: { owner }, clientWire } = journey;
  return place && {
    ...place,
    wire: clientWire,
    async seal({ opaque, ...thought }) {
      const sealer = await sealerFor(journey);
      const bound = opaque && { opaque: { ...opaque, target: journey.attempt?.target } };
      return sealer.seal({ ...thought, ...bound }, clientWire, owner);
    },
  };
}

/** Without the store's key, what is sealed opens until this process ends: the log says why. */
async function sealerFor({ gateway, entry }: Journey): Promise<Sealer> {
  const { sealer, failure } = await gateway.sealer();
  if (failure !== undefined) entry.cause ??= failure;
  return sealer;
}

/** Before the client hears of the answer's end, so that it can go on from there at once. A store that fails costs no answer. */
export async function remember(
  response: GenerateResponse,
  exchange: Exchange<"generate">,
  messages: Message[],
  { gateway, entry, caller, attempt, note }: Journey,
): Promise<void> {
  const { id, created, input } = exchange;
  const { keep, previous } = input.memory ?? {};
  if (!keep) return;
  const facts = { id, previous, created, completed: exchange.now(), model: input.model };
  try {
    await gateway.continuity.remember({ ...facts, messages, response, keep }, attempt?.target ?? "", caller.owner);
  } catch (cause) {
    exchange.stored = false;
    entry.cause = cause;
    note("could not store the response");
  }
}

/** The same in a stream: the last event waits until the answer is stored. */
export async function* remembering(
  events: AsyncIterable<GenerateEvent>,
  store: (response: GenerateResponse) => Promise<void>,
): AsyncGenerator<GenerateEvent> {
  const collector = new Collector();
  for await (const event of events) {
    const response = event.type === "error" ? undefined : collector.add(event);
    if (response) await store(response);
    yield event;
  }
}
