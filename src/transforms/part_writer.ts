import type { Usage } from "../canonical/usage.ts";
import type {
  Annotation,
  Finish,
  GenerateEvent,
  GenerateRequest,
  OutputPart,
  PartDelta,
  ReasoningPart,
  ToolKind,
} from "../canonical/generate.ts";
import type { Extra } from "../canonical/extra.ts";
import type { Context } from "../contract/context.ts";
import { Line } from "../util/line.ts";
import { customNames } from "./custom_tool.ts";
import { PendingCall, type ToolCallDelta } from "./pending_call.ts";
import { matchName, type OfferedNames, offeredNames } from "./call_names.ts";
import { GatewayError } from "../errors.ts";

export type { ToolCallDelta } from "./pending_call.ts";

export interface PartEnd {
  annotations?: Annotation[];
  opaque?: ReasoningPart["opaque"];
  extra?: Extra;
}

/** Gets notes of what was changed. */
type NoteTaker = Pick<Context, "note">;

type TextKind = "text" | "reasoning" | "refusal";

/**
 * Puts what an upstream sends into the order of events that every serializer relies on (`GenerateEvent`). It opens and
 * closes parts, separates interleaved calls by holding back all but the first, waits for late names, generates missing
 * ids, writes `{}` for a function called without arguments, deduplicates arguments that are repeated in full with every
 * piece, converts the substitute of a custom tool back, and corrects a finish reason that contradicts the content.
 */
export class PartWriter {
  #index = -1;
  #open: TextKind | undefined;
  #end: PartEnd = {};
  /** Calls in order of appearance. Only the first one has an open part, once its name is known. */
  readonly #calls = new Line<PendingCall>();
  /** The calls that may still wait for the rest of their arguments. */
  #waiting: Set<PendingCall> | undefined;
  /** The calls by their keys. */
  #callOf: Map<string, PendingCall> | undefined;
  /** Texts that arrived between the pieces of a call. They are sent after it. */
  #held: { kind: TextKind; text: string }[] = [];
  #ended: Set<string> | undefined;
  #callOpen = false;
  #callCount = 0;
  /** Whether the answer ended amid what it said. */
  #isCut = false;
  /** Some servers give several calls the same id, which no client could answer. */
  #callIds: Set<string> | undefined;
  readonly #newCallId: () => string;
  readonly #customNames: ReadonlySet<string>;
  readonly #tools: GenerateRequest["tools"];
  readonly #context: NoteTaker | undefined;
  #offeredNames: OfferedNames | undefined;

  /** `request` shows which names are in use and which tools are custom. `context` gets notes of what was changed. */
  constructor(request: Pick<GenerateRequest, "messages" | "tools">, context?: NoteTaker) {
    this.#newCallId = callNamer(request);
    this.#customNames = customNames(request.tools);
    this.#tools = request.tools;
    this.#context = context;
  }

  text(text: string): GenerateEvent[] {
    return this.append("text", text);
  }

  reasoning(text: string): GenerateEvent[] {
    return this.append("reasoning", text);
  }

  refusal(text: string): GenerateEvent[] {
    return this.append("refusal", text);
  }

  /** Adds more text of one kind. */
  append(kind: TextKind, text: string): GenerateEvent[] {
    if (text === "") return [];
    // While a part of text is open, no call waits and no text is held back.
    if (this.#open === kind) return [{ type: "part-delta", index: this.#index, delta: { type: kind, text } }];
    if (this.#calls.length + this.#held.length === 0) return this.#write(kind, text);
    this.#held.push({ kind, text });
    return this.#isMidCall() ? [] : this.#release();
  }

  /** Adds a part that arrives whole. */
  whole(part: OutputPart, end: PartEnd = {}): GenerateEvent[] {
    return [
      ...this.#endAll(),
      ...this.#release(),
      ...this.#endAll(),
      { type: "part-start", index: ++this.#index, part },
      { type: "part-end", index: this.#index, ...end },
    ];
  }

  /** Adds what the upstream sends for the call `key`. */
  toolCall(key: string, delta: ToolCallDelta): GenerateEvent[] {
    // A call ends early only if its arguments are complete, so whatever still arrives for it is not part of them.
    if (this.#ended?.has(key)) return [];
    const events = this.#open ? this.endPart() : [];
    const call = this.#callFor(key, delta.kind);
    call.add(delta, (name) => this.#clientName(name));
    (this.#waiting ??= new Set()).add(call);
    // The first call is over once its arguments are complete and another call receives data. The others need not wait
    // then.
    while (this.#calls.length > 1 && call !== this.#calls.first && this.#firstIsComplete()) {
      events.push(...this.#endCall());
    }
    if (call === this.#calls.first) events.push(...this.#writeCall());
    return events;
  }

  #clientName(written: string): string {
    return matchName(written, this.#offeredNames ??= offeredNames(this.#tools), this.#context);
  }

  #callFor(key: string, kind: ToolKind = "function"): PendingCall {
    const known = this.#callOf?.get(key);
    if (known) return known;
    const call = new PendingCall(key, kind);
    this.#calls.push(call);
    (this.#callOf ??= new Map()).set(key, call);
    return call;
  }

  /** The upstream ended the call `key`. */
  endToolCall(key: string): GenerateEvent[] {
    const call = this.#callOf?.get(key);
    if (call) call.over = true;
    const events: GenerateEvent[] = [];
    while (this.#calls.first?.over) events.push(...this.#endCall());
    return [...events, ...this.#writeCall()];
  }

  /** Sets what the open text or reasoning part ends with: citations or a signature. */
  attach(end: PartEnd): void {
    if (this.#open) this.#end = { ...this.#end, ...end };
  }

  /** Ends the open part and all waiting calls. */
  endPart(): GenerateEvent[] {
    return this.#isMidCall() ? [] : this.#endAll();
  }

  #endAll(): GenerateEvent[] {
    if (this.#open) {
      const end = this.#end;
      this.#open = undefined;
      this.#end = {};
      return [{ type: "part-end", index: this.#index, ...end }];
    }
    const events: GenerateEvent[] = [];
    while (this.#calls.length > 0) events.push(...this.#endCall());
    return events;
  }

  /** Ends everything. `stop` becomes `tool-calls` if there were calls, and `tool-calls` becomes `stop` if there were none. */
  finish(finish: Finish, usage: Usage, extra?: Extra): GenerateEvent[] {
    this.#isCut = finish.reason === "length";
    const events = [...this.#endAll(), ...this.#release(), ...this.#endAll()];
    const { reason } = finish;
    const mended = this.#callCount > 0
      ? reason === "stop" || reason === "other" || reason === "paused" ? "tool-calls" : reason
      : reason === "tool-calls"
      ? "stop"
      : reason;
    events.push({ type: "finish", finish: { ...finish, reason: mended }, usage, ...(extra && { extra }) });
    return events;
  }

  /** Whether a call still waits for the rest of its arguments, which a text must not interrupt. */
  #isMidCall(): boolean {
    // There may be very many, and a text after each piece of them.
    for (const call of this.#waiting ?? []) {
      if (!call.over && !call.isWhole()) return true;
      this.#waiting!.delete(call);
    }
    return false;
  }

  #release(): GenerateEvent[] {
    return this.#held.splice(0).flatMap(({ kind, text }) => this.#write(kind, text));
  }

  #write(kind: TextKind, text: string): GenerateEvent[] {
    const events: GenerateEvent[] = [];
    if (this.#open !== kind) {
      for (const event of this.#endAll()) events.push(event);
      this.#open = kind;
      events.push({ type: "part-start", index: ++this.#index, part: { type: kind, text: "" } });
    }
    events.push(this.#delta(kind, text));
    return events;
  }

  #firstIsComplete(): boolean {
    const { first } = this.#calls;
    return first?.name !== undefined && (first.over || first.isWhole());
  }

  #writeCall(): GenerateEvent[] {
    const call = this.#calls.first;
    if (!call?.name) return [];
    if (!call.settle(this.#customNames.has(call.name))) return [];
    const events: GenerateEvent[] = [];
    if (!this.#callOpen) events.push(this.#startCall(call, call.name));
    if (call.unsent !== "") {
      events.push(this.#delta("tool-input", call.unsent));
      call.unsent = "";
    }
    return events;
  }

  #startCall({ kind, id: given, extra }: PendingCall, name: string): GenerateEvent {
    this.#callOpen = true;
    this.#callCount++;
    let id = given || this.#newCallId();
    const taken = this.#callIds ??= new Set();
    while (taken.has(id)) id = this.#newCallId();
    taken.add(id);
    const part: OutputPart = { type: "tool-call", kind, id, name, input: "", ...(extra && { extra }) };
    return { type: "part-start", index: ++this.#index, part };
  }

  #endCall(): GenerateEvent[] {
    const call = this.#calls.first!;
    if (!call.name) {
      throw new GatewayError("upstream_error", "The upstream sent a tool call without a name");
    }
    call.over = true;
    const isFunction = call.kind === "function" && !this.#customNames.has(call.name);
    // An object that has only begun is no arguments to any client.
    if (isFunction && call.input.trim() === "") call.input = call.unsent = this.#isCut ? "{" : "{}";
    const events = this.#writeCall();
    this.#calls.shift();
    this.#callOf?.delete(call.key);
    this.#waiting?.delete(call);
    (this.#ended ??= new Set()).add(call.key);
    this.#callOpen = false;
    events.push({ type: "part-end", index: this.#index });
    return events;
  }

  #delta(type: PartDelta["type"], text: string): GenerateEvent {
    return { type: "part-delta", index: this.#index, delta: { type, text } };
  }
}

/** Generates ids for calls without one: deterministic, and not used in the conversation yet. */
function callNamer({ messages }: Pick<GenerateRequest, "messages">): () => string {
  let taken: Set<string> | undefined;
  let next = 0;
  return () => {
    if (!taken) {
      taken = new Set(
        messages.flatMap(({ role, content }) =>
          role === "assistant" ? content.filter((part) => part.type === "tool-call").map(({ id }) => id) : []
        ),
      );
      next = taken.size;
    }
    while (taken.has(`call_${next}`)) next++;
    return `call_${next++}`;
  };
}
