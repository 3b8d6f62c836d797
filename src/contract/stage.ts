/** Stages of plugins: they change requests on their way to a target, and take the change back in the answer if they must. */
import type { z } from "zod";
import type { JsonValue } from "../canonical/json.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import { GatewayError } from "../errors.ts";
import type { StreamTransform } from "./stream.ts";

/** A kind of stage. It exists if the configuration has a section of its name. */
export interface StagePlugin<Options = unknown> {
  /** Unique name, which is also that of its section in the configuration. */
  name: string;
  /** One sentence that says what the stage does. Describes its section, too. */
  description: string;
  /** The section's fields. What they default to and how they are checked is part of the schema. */
  options: z.ZodType<Options>;
  /**
   * Called once for each configuration. It makes no calls and does not wait. Check options in the schema, because what
   * this throws is no error of the configuration.
   */
  create(options: Options, host: StageHost): Stage;
}

/** The parts of the gateway that a stage may use. */
export interface StageHost {
  /**
   * A secret key of 32 bytes, which is the same in every process of the gateway. Another purpose gives another key. Throws
   * `unavailable` if the store does not give it.
   */
  key(purpose: string): Promise<Uint8Array>;
}

/** The facts about a request that a stage may know. */
export interface StageContext {
  readonly operation: ModelOperation;
  /** The caller's name, and the owner of what it stores. Both are empty if there are no keys. */
  readonly caller: { readonly name: string; readonly owner: string };
  readonly lane: string;
  /** As the client wrote it. */
  readonly model: string;
  /** The target that is asked: `upstream/model`. */
  readonly target: string;
  readonly clientWire: string;
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal;
  /**
   * Reports what the client loses, in a response header and in the log. In strict mode the request is then refused. A
   * change that the stage takes back in the answer is no loss.
   */
  note(text: string): void;
}

/** The facts about what leaves the gateway on other ways than to an upstream. */
export interface OutgoingContext extends Pick<StageContext, "caller" | "signal"> {
  /** The request that it belongs to, which may tell more about its texts than they do themselves. */
  readonly within?: unknown;
}

/** A way out of the gateway besides a request to an upstream. */
export interface Destination {
  /** A search service, a page that is opened, a tool server, a capture for the console, or a trace. */
  readonly kind: "search" | "page" | "mcp" | "capture" | "trace";
  /** The name in the configuration, or in the request for a tool server that only the request names. */
  readonly name: string;
  /** Whether the configuration names it. */
  readonly isConfigured: boolean;
}

/** A request as the next stage receives it, and what its answer needs in turn. */
export interface Passed<K extends ModelOperation = ModelOperation> {
  input: Input<K>;
  /**
   * Changes the events of the answer, synchronously or in slices. An answer of `generate` that arrived as a whole passes it,
   * too, as the events that say the same. The transform lives as long as the answer, so it must not hold the request.
   */
  events?: StreamTransform<StreamEvent<K>>;
  /**
   * Changes an answer that arrived as a whole, as `events` does with events. It is not called for `generate`, whose whole
   * answers pass `events`, or for `countTokens`.
   */
  output?(output: Output<K>): Output<K>;
}

/**
 * A stage stands at the target: it sees each request as it is about to be serialized, with everything that the gateway put
 * into it, and its answer before anything else reads it. What it throws as a `GatewayError` is the request's error.
 */
export interface Stage {
  /** That of its plugin. Errors and explanations name the stage by it. */
  readonly name: string;
  /** The operations that it changes. By default all. `relay` is one of them, whose input has the client's own body. */
  readonly operations?: readonly ModelOperation[];
  /** It changes no object that it receives. It may wait, because the answer has not begun. */
  request?<K extends ModelOperation>(input: Input<K>, about: StageContext): Passed<K> | Promise<Passed<K>>;
  /** Changes a text, or JSON with texts, that leaves the gateway for another destination than an upstream. */
  outgoing?(
    value: JsonValue,
    about: OutgoingContext,
    to: Destination,
  ): JsonValue | Promise<JsonValue>;
}

/** The error of a stage for the client. An unknown error is named by its stage only, because its message may contain anything. */
export function stageError(stage: string, thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError("internal", `The stage "${stage}" failed`, {
    own: true,
    tryNextTarget: false,
    cause: thrown,
  });
}
