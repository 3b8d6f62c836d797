/**
 * Results of hosted tools go to the client and come back with the next turn. Clients keep little of them, so they
 * travel sealed: with each hit if the wire has a field for that, or else in a separate reasoning part.
 */
import type { GenerateEvent, HostedPart, Message, OutputPart, ReasoningPart } from "../canonical/generate.ts";
import { type HostedResult, type SearchHit, UNNUMBERED } from "../canonical/hosted.ts";
import { isJsonObject, parseJson } from "../canonical/json.ts";
import { holdsPart } from "../canonical/part_types.ts";
import type { StreamTransform } from "../contract/stream.ts";
import { stepsIn } from "./approvals.ts";
import { isSealedText, type Sealing } from "./sealing.ts";

/** Whether the part has anything to seal. */
export function holdsResult(part: OutputPart): part is HostedPart & { result: HostedResult } {
  return part.type === "hosted" && part.extra === undefined && part.result !== undefined &&
    part.call.kind !== "mcp-list" && part.result.kind !== "error";
}

/** Seals the results of hosted tools. */
export function sealStepStream(sealing: Sealing): StreamTransform<GenerateEvent> {
  let added = 0;
  let sealed: OutputPart[] = [];
  return {
    push(event, emit) {
      if (!("index" in event)) return emit(event);
      if (event.type === "part-start" && holdsResult(event.part)) {
        const [first, ...more] = sealStep(event.part, sealing);
        sealed = more;
        return emit({ ...event, index: event.index + added, part: first! });
      }
      emit(added === 0 ? event : { ...event, index: event.index + added });
      if (event.type !== "part-end") return;
      for (const part of sealed) {
        const index = event.index + ++added;
        emit({ type: "part-start", index, part });
        emit({ type: "part-end", index });
      }
      sealed = [];
    },
  };
}

function sealStep(part: HostedPart & { result: HostedResult }, { keepsSteps, wire, seal }: Sealing): OutputPart[] {
  const { id, result } = part;
  if (keepsSteps) {
    const data = seal({ text: JSON.stringify({ id, result }), extra: { wire: STEP, fields: {} } });
    return [part, { type: "reasoning", text: "", opaque: { origin: wire, data } }];
  }
  if (result.kind !== "hits") return [part];
  const hits = result.hits.map((hit) => ({ ...hit, sealed: seal({ text: JSON.stringify([hit.number, hit.text]) }) }));
  return [{ ...part, result: { ...result, hits } }];
}

/** Marks a sealed part as the result of a hosted tool. */
const STEP = "hosted";

/** The sealed texts of hits. */
export function sealedHits(messages: readonly Message[]): string[] {
  if (!holdsPart(messages, "hosted")) return [];
  const found: string[] = [];
  for (const { role, content } of messages) {
    if (role !== "assistant") continue;
    for (const part of content) {
      if (part.type !== "hosted" || part.result?.kind !== "hits") continue;
      for (const { sealed } of part.result.hits) if (sealed !== undefined && isSealedText(sealed)) found.push(sealed);
    }
  }
  return found;
}

/**
 * The messages with the contents of their hits restored. `open` returns what was sealed, or `undefined` if the gateway
 * cannot open it.
 */
export function openHits(messages: Message[], open: (sealed: string) => string | undefined): Message[] {
  return changeSteps(messages, (part) => {
    if (part.result?.kind !== "hits") return part;
    const hits = part.result.hits.map((hit) => openHit(hit, open));
    return { ...part, result: { ...part.result, hits } };
  });
}

function openHit({ sealed, ...hit }: SearchHit, open: (sealed: string) => string | undefined): SearchHit {
  const opened = sealed === undefined ? undefined : parseJson(open(sealed) ?? "");
  if (!Array.isArray(opened)) return hit;
  const [number, text] = opened;
  return typeof number === "number" && typeof text === "string" ? { ...hit, number, text } : hit;
}

/**
 * The messages with a unique number for each hit. A hit without one gets a number that stays the same in all later
 * turns.
 */
export function numberHits(messages: Message[]): Message[] {
  const taken = new Set<number>();
  let isWhole = true;
  for (const { result } of stepsIn(messages)) {
    if (result?.kind !== "hits") continue;
    for (const { number } of result.hits) {
      if (number === UNNUMBERED) isWhole = false;
      else taken.add(number);
    }
  }
  if (isWhole) return messages;
  let last = 0;
  const next = () => {
    do last++; while (taken.has(last));
    return last;
  };
  return changeSteps(messages, (part) => {
    if (part.result?.kind !== "hits") return part;
    const hits = part.result.hits.map((hit) => {
      if (hit.number === UNNUMBERED) return { ...hit, number: next() };
      last = Math.max(last, hit.number);
      return hit;
    });
    return { ...part, result: { ...part.result, hits } };
  });
}

/** The messages with each result moved to its call. */
export function takeSteps(messages: Message[]): Message[] {
  const results = new Map<string, HostedResult>();
  const rest = messages.flatMap((message): Message[] => {
    if (message.role !== "assistant" || !message.content.some(isStep)) return [message];
    for (const part of message.content.filter(isStep)) {
      const step = parseJson(part.text);
      if (isJsonObject(step) && typeof step.id === "string" && isJsonObject(step.result)) {
        results.set(step.id, step.result as unknown as HostedResult);
      }
    }
    const content = message.content.filter((part) => !isStep(part));
    return content.length > 0 ? [{ ...message, content }] : [];
  });
  if (results.size === 0) return messages;
  return changeSteps(rest, (part) => {
    const result = results.get(part.id);
    return result ? { ...part, result } : part;
  });
}

function isStep(part: OutputPart): part is ReasoningPart {
  return part.type === "reasoning" && part.extra?.wire === STEP;
}

function changeSteps(messages: Message[], change: (part: HostedPart) => HostedPart): Message[] {
  return messages.map((message) =>
    message.role === "assistant" && message.content.some(({ type }) => type === "hosted")
      ? { ...message, content: message.content.map((part) => part.type === "hosted" ? change(part) : part) }
      : message
  );
}
