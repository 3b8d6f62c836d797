/** The pieces of an answer in which hosted tools run: one round, its calls, and how the events of all rounds are joined. */
import { Collector } from "../canonical/collect.ts";
import type { GenerateEvent, HostedPart, OutputPart, ToolCallPart } from "../canonical/generate.ts";
import type { HostedCall, HostedResult, HostedWork } from "../canonical/hosted.ts";
import { addUsage, type HostedUses, type Usage } from "../canonical/usage.ts";
import { type HostedFunction, needsApproval, readCall } from "../transforms/hosted_functions.ts";

type Finish = GenerateEvent & { type: "finish" };

/** A call that runs, or has run. */
export interface Running {
  part: HostedPart;
  result: Promise<HostedResult>;
  /** Whether the client gets no sign of the call, because it exceeds the limit of the answer. */
  isHidden: boolean;
}

/** A call that the model wrote. `call` is undefined if it cannot be read. */
export interface ReadCall {
  id: string;
  call: HostedCall | undefined;
}

/** One round of the model: reads its events, and starts the hosted calls in them. */
export class Turn {
  readonly running: Running[] = [];
  /** The parts of the round. Hosted calls have no results yet. */
  readonly content: OutputPart[] = [];
  end: Finish | undefined;
  /** Whether the client has to act: one of its own tools is called, or a call waits for its approval. */
  isForClient = false;
  readonly #byName: ReadonlyMap<string, HostedFunction>;
  readonly #newId: () => string;
  readonly #start: (read: ReadCall, of: HostedFunction) => Running;
  #collector = new Collector();
  #open: { call: ToolCallPart; of: HostedFunction } | undefined;

  /** `newId` makes the id of a call. Models' own ids are not unique in a conversation. */
  constructor(
    functions: readonly HostedFunction[],
    newId: () => string,
    start: (read: ReadCall, of: HostedFunction) => Running,
  ) {
    this.#newId = newId;
    this.#byName = new Map(functions.map((one) => [one.tool.name, one]));
    this.#start = start;
  }

  /**
   * Whether the answer ends with this round: no hosted tool was called, the model was stopped, or the client has to
   * act.
   */
  get isOver(): boolean {
    const reason = this.end?.finish.reason;
    return this.isForClient || this.running.length === 0 || reason === "length" || reason === "content-filter";
  }

  /**
   * Returns the events that the client gets for this one. A hosted call is emitted when it is complete, and starts
   * then.
   */
  take(event: GenerateEvent): GenerateEvent[] {
    if (event.type === "part-start" && event.part.type === "tool-call") {
      const of = this.#byName.get(event.part.name);
      if (of) {
        this.#open = { call: { ...event.part }, of };
        return [];
      }
      this.isForClient = true;
    }
    if (this.#open && event.type === "part-delta") {
      this.#open.call.input += event.delta.text;
      return [];
    }
    if (this.#open && event.type === "part-end") return this.#endCall(event.index);
    if (event.type === "finish") {
      this.end = event;
      return [];
    }
    this.#collect(event);
    return [event];
  }

  #endCall(index: number): GenerateEvent[] {
    const { call: { input }, of } = this.#open!;
    this.#open = undefined;
    const id = this.#newId();
    const call = readCall(of, input);
    if (call && needsApproval(of)) {
      this.isForClient = true;
      return this.#emitWhole({ type: "hosted", id, call, awaitsApproval: true }, index);
    }
    const running = this.#start({ id, call }, of);
    this.running.push(running);
    if (!running.isHidden) return this.#emitWhole(running.part, index);
    this.content.push(running.part);
    return [];
  }

  #emitWhole(part: HostedPart, index: number): GenerateEvent[] {
    this.content.push(part);
    return [{ type: "part-start", index, part }, { type: "part-end", index }];
  }

  #collect(event: GenerateEvent): void {
    if (event.type === "part-start") this.#collector = new Collector();
    if ("index" in event) this.#collector.add({ ...event, index: 0 });
    if (event.type !== "part-end") return;
    const whole = this.#collector.add({ type: "finish", finish: { reason: "stop" }, usage: NOTHING });
    for (const part of whole?.content ?? []) this.content.push(part);
  }
}

const NOTHING: Usage = { inputTokens: 0, outputTokens: 0 };

/** How often hosted tools may still be called. */
export class Uses {
  readonly counted: HostedUses = {};
  readonly #byWork = new Map<HostedWork, number>();
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  get areSpent(): boolean {
    return this.#left <= 0;
  }

  /**
   * Counts a call. `no`: beyond the limit of the tool. `ignored`: beyond the limit of the whole answer, which the
   * client does not see.
   */
  take(work: HostedWork): "yes" | "no" | "ignored" {
    if (this.#left <= 0) return "ignored";
    const used = this.#byWork.get(work) ?? 0;
    if (work.kind !== "mcp" && work.maxUses !== undefined && used >= work.maxUses) return "no";
    this.#left--;
    this.#byWork.set(work, used + 1);
    // A search among the request's own tools is no use of anybody's service.
    if (work.kind === "tool-search") return "yes";
    const key = COUNTED_AS[work.kind];
    this.counted[key] = (this.counted[key] ?? 0) + 1;
    return "yes";
  }
}

const COUNTED_AS = { "web-search": "webSearch", "web-fetch": "webFetch", mcp: "mcp", code: "code" } as const;

/** Turns the events of several rounds into those of one answer. */
export class JoinedRounds {
  #hasBegun = false;
  #index = -1;
  #usage: Usage | undefined;

  begin(model: string): GenerateEvent[] {
    return this.pass({ type: "start", model, inputTokens: 1 });
  }

  pass(event: GenerateEvent): GenerateEvent[] {
    if (event.type === "start") {
      if (this.#hasBegun) return [];
      this.#hasBegun = true;
      return [event];
    }
    if (event.type === "part-start") this.#index++;
    return ["index" in event ? { ...event, index: this.#index } : event];
  }

  whole(part: HostedPart): GenerateEvent[] {
    return [...this.pass({ type: "part-start", index: 0, part }), ...this.pass({ type: "part-end", index: 0 })];
  }

  spend(usage: Usage, { counted }: Uses): void {
    const { hostedUses: _, ...spent } = this.#usage ? addUsage(this.#usage, usage) : usage;
    this.#usage = { ...spent, ...(Object.keys(counted).length > 0 && { hostedUses: counted }) };
  }

  /** The end of an answer that cannot go on. `undefined` before the first round has ended. */
  cut(canPause: boolean): Finish | undefined {
    const finish = { reason: canPause ? "paused" as const : "length" as const };
    return this.#usage && { type: "finish", finish, usage: this.#usage };
  }

  finish({ end, isForClient }: Turn, isPaused: boolean, isLast: boolean): Finish {
    const { finish } = end!;
    const reason = isPaused
      ? { reason: "paused" as const }
      : isLast && !isForClient && finish.reason === "tool-calls"
      ? { reason: "stop" as const }
      : finish;
    return { ...end!, finish: reason, usage: this.#usage! };
  }
}
