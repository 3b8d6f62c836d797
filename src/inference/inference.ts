/** One request to a model on its way, and the stages that it passes. */
import type { CompactionRequest } from "../canonical/compaction.ts";
import type { Extra } from "../canonical/extra.ts";
import type { GenerateEvent, HostedPart, HostedTool, OpaqueReasoning, OutputPart } from "../canonical/generate.ts";
import type { FailedTools } from "../canonical/hosted_tools.ts";
import type { ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import type { Exchange } from "../contract/context.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import type { StreamTransform } from "../contract/stream.ts";
import type { CodePlace } from "../hosted/runner.ts";
import type { Resolution } from "../lanes/resolution.ts";
import type { FailoverPlan } from "../routing/failover.ts";
import type { AddedTurn } from "../state/continuity.ts";
import type { Shown } from "../transforms/unfinished_answer.ts";
import type { HostedFunction } from "../transforms/hosted_functions.ts";
import type { HostedOffer } from "../transforms/hosted_history.ts";
import type { Attempt } from "../upstream/attempt.ts";
import type { EventSource } from "../util/event_source.ts";
import type { Facts } from "./facts.ts";
import type { Incoming } from "./incoming.ts";
import type { Step } from "./steps.ts";

export type Note = (text: string) => void;

/** A request to a model on its way. Stages never change one: they return another. */
export interface Inference<K extends ModelOperation = ModelOperation> extends Incoming<K> {
  readonly operation: K;
  /** Its `input` becomes the request as the model is asked. */
  readonly exchange: Exchange<K>;
  readonly facts: Facts;
  readonly note: Note;
  /** Without targets until the model is found. */
  readonly plan: Plan;
  /** The turn that this request adds to the conversation. */
  readonly added: AddedTurn;
  /** Hosted tools that the request asks for by fields of their own. */
  readonly beside: readonly HostedTool[];
  /** The tokens of the input, estimated from the length of its texts. */
  readonly estimate: number;
  /** Present if the gateway may have to shorten the conversation. */
  readonly compaction?: CompactionRequest;
  /** Present if the gateway runs tools for the model. */
  readonly hosted?: Hosted;
  /** Present if nobody runs a tool that the answer depends on: the answer that says so. */
  readonly failed?: FailedTools;
  /** How the model is offered the tools that the gateway runs, in one round of them. */
  readonly offer?: HostedOffer;
  /** Whether an outer stage may ask again, and therefore holds the conversation. */
  readonly asksAgain?: boolean;
  /** Present if the request is explained and nobody is asked. */
  readonly steps?: Step[];
  /** The target that is asked. Absent until failover has chosen one. */
  readonly target?: PlannedTarget;
  /** The attempt at that target. */
  readonly attempt?: Attempt<K>;
}

/** Asks the stages below. Each call asks anew. */
export type Ask<K extends ModelOperation> = (inference: Inference<K>) => Answer<K>;

/**
 * One thing that happens to a request or to its answer. Requests pass the list of stages from the top down, answers
 * from the bottom up.
 */
export interface Stage<K extends ModelOperation = ModelOperation> {
  /** Its name in explanations. */
  readonly name: string;
  readonly operations: readonly ModelOperation[];
  /** Bits of `FACT`, of which a request must have one to pass the stage. All requests pass it if absent. */
  readonly needs?: Facts;
  /** Changes the request, or makes it one of another operation. Called once, for explanations too. */
  request?(inference: Inference<K>): Inference | Promise<Inference>;
  /** Called once all changes are made and the request is to be served. Throws if it may not be. */
  admit?(inference: Inference<K>): Promise<void> | undefined;
  /** Asks more than once, asks somebody else, or looks at what comes back. */
  around?(inference: Inference<K>, ask: Ask<K>): Answer<K>;
  /** How the answer passes on its way to the client. Called before anybody is asked. */
  answer?(inference: Inference<K>): AnswerPass<K> | undefined;
}

/** The contents of an answer, or of a part of one, besides its text. */
export interface Held {
  type?: string;
  extra?: Extra;
  opaque?: OpaqueReasoning;
}

/** How an answer passes a stage. A pass lives as long as the answer, so it may not hold the conversation. */
export interface AnswerPass<K extends ModelOperation> {
  /** Changes a whole answer, or an event that is no increment of a text. */
  change?<T extends object>(value: T): T;
  /** Called with the answer and each of its parts. */
  watch?(held: Held): void;
  transforms?: readonly StreamTransform<StreamEvent<K>>[];
  /**
   * Whether the transforms have anything to do for a whole answer or one of its parts; absent: always. A whole answer
   * is replayed only for stages that see something in it.
   */
  sees?(held: Held): boolean;
  /** Returns what must be done before a part of the answer goes on, if anything. */
  opens?(part: OutputPart): (() => Promise<void>) | undefined;
  /** Called with the complete answer before its end goes on. */
  completed?(output: Output<K>): Promise<void> | undefined;
}

/** The answer of a model. It is read once: whole, or as events. */
export interface Answer<K extends ModelOperation> extends EventSource<StreamEvent<K>> {
  /**
   * The whole answer. Only answers of conversations can be read in the other way than the one in which they come.
   */
  whole(): Promise<Output<K>>;
}

/** An inference without what its client sent. */
export type Asking = Omit<Inference<"generate">, "input" | "wire" | "added">;

/** An answer that broke off after its client had seen some of it. */
export interface BrokenAnswer {
  readonly asking: Asking;
  readonly shown: Shown;
  /** The target whose answer broke off. */
  readonly served: PlannedTarget;
  /** How these targets are tried. */
  planFor(targets: readonly PlannedTarget[]): FailoverPlan<PlannedTarget>;
  /** Asks one of them. */
  askAt(inference: Inference<"generate">, target: PlannedTarget, signal: AbortSignal): EventSource<GenerateEvent>;
}

/** The targets of a request in the order in which they are tried, and the limits of its model. */
export interface Plan extends Resolution {
  /** Identifies the conversation, if its targets depend on that. */
  conversation?: string;
}

/** The hosted tools that the gateway runs in one answer. */
export interface Hosted {
  /** Whether something has to run before the model is called. */
  isBegun: boolean;
  /** Whether an answer that took too long may end early, for the client to continue. */
  canPause: boolean;
  /** The tools to offer the model. The first call asks servers whose tools are not known for them. */
  offer(): Promise<Offered>;
}

export interface Offered {
  functions: readonly HostedFunction[];
  /** Parts that the answer begins with. */
  before: readonly HostedPart[];
  /** The container for code that the model writes. Absent if it may write none. */
  code?: CodePlace;
}
