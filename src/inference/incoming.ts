/** A request that has been read, on its way to its operation. */
import type { GenerateRequest, GenerateResponse, Message } from "../canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../canonical/json.ts";
import type { Input, OperationName } from "../canonical/operations.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { Exchange, WireRequest } from "../contract/context.ts";
import type { AnyProtocol, Protocol } from "../contract/protocol.ts";
import type { Lane } from "../lanes/lane.ts";
import type { Continuity, Recalled } from "../state/continuity.ts";
import type { Conversation } from "../state/turns.ts";

/** The operations that clients can ask for. */
export type ServedOperation = AnyProtocol["operation"];

/** The conversations that a WebSocket keeps, for one of its requests. */
export interface ConversationCache {
  /** Returns the request with the conversation that it continues. `fromStore` reads stored answers. */
  recall(input: GenerateRequest, fromStore: () => Promise<Recalled>): Promise<Recalled>;
  /** Keeps an answer that is not stored. `target`: the one that gave it; a warm-up has none. */
  keep(id: string, response?: GenerateResponse, target?: string): void;
}

/** A request as the next turn of its thread. */
export interface ThreadTurn {
  /** The id of the answer that it continues, with the conversation up to that. Absent on the first turn. */
  previous?: string;
  follows?: Conversation;
  /** The parts of the first turn that later turns have in common with it. */
  setup?: JsonObject;
  /** Whether its answer is stored. */
  isKept(answer: GenerateResponse): boolean;
  /** Stores its answer. */
  answers: Pick<Continuity, "remember">;
}

export interface Incoming<K extends OperationName> {
  readonly protocol: Protocol<K>;
  readonly wire: WireRequest;
  readonly input: Input<K>;
  readonly lane: Lane;
  readonly context: RequestContext;
  /** Present if the request came over a WebSocket. */
  readonly conversationCache?: ConversationCache;
  /** Present if the request belongs to a thread. */
  readonly thread?: ThreadTurn;
  /**
   * Present if the answer is made in the background. Called once the request is admitted, before any upstream is
   * called. `messages`: those that the client added.
   */
  begin?(exchange: Exchange<"generate">, messages: Message[]): Promise<void>;
}

/** Answers one operation. Throws a `GatewayError` if it cannot. */
export type Handler<K extends OperationName> = (incoming: Incoming<K>) => Promise<Response>;

/** The facts that a serializer may know about the request. `input`: the request that upstreams are asked. */
export function openExchange<K extends OperationName>(
  { protocol: { idPrefix = "" }, wire, context }: Pick<Incoming<K>, "protocol" | "wire" | "context">,
  input: Input<K>,
): Exchange<K> {
  const { gateway, started, clientWire, note } = context;
  return {
    id: idPrefix + gateway.newId(),
    created: toSeconds(started),
    input,
    wire,
    clientWire,
    note,
    now: () => toSeconds(gateway.clocks.now()),
    elapsedMs: () => context.requestLog.elapsedMs(),
    stored: "recall" in input && input.recall?.keep !== undefined,
    frames: { sent: 0 },
  };
}

/**
 * Lets go of the conversation once an upstream answers it: it may be megabytes, and the answer may take an hour.
 */
export function forgetConversation(
  exchange: Exchange<"generate">,
  { conversation }: Pick<Protocol<"generate">, "conversation">,
): void {
  exchange.input = { ...exchange.input, messages: [] };
  exchange.wire = withoutField(exchange.wire, conversation);
}

/** Lets go of the texts to complete. */
export function forgetPrompts(
  exchange: Exchange<"complete">,
  { conversation }: Pick<Protocol<"complete">, "conversation">,
): void {
  exchange.input = { ...exchange.input, prompts: [] };
  exchange.wire = withoutField(exchange.wire, conversation);
}

/** The request as it came, but for one field of its body. */
export function withoutField(wire: WireRequest, field: string | undefined): WireRequest {
  if (field === undefined || !isJsonObject(wire.body)) return wire;
  return { ...wire, body: { ...wire.body, [field]: undefined } };
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
