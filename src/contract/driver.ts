import type { JsonValue } from "../canonical/json.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import type { GatewayError } from "../errors.ts";
import type { Context } from "./context.ts";
import type { ServerSentEvent } from "./frame.ts";

/** A model at an upstream. */
export interface Target {
  /** The upstream's name in the configuration. */
  upstream: string;
  /** What the upstream calls the model. */
  model: string;
  /** Where it takes instructions: many chat templates refuse them anywhere but first. */
  systemMessages: "first" | "anywhere";
}

/** A call to an upstream, described. `path` joins the upstream's base URL. */
export interface Call {
  path: string;
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  /** JSON, unless it is bytes. */
  body?: JsonValue | Uint8Array<ArrayBuffer>;
  /** How long to wait before the call, in milliseconds: for a job that is polled. */
  afterMs?: number;
}

/** What an upstream answered, whole: JSON parsed, other text as a string, all else as bytes. */
export interface Reply {
  status: number;
  headers: Headers;
  body: JsonValue | Uint8Array<ArrayBuffer>;
}

/** How one operation is asked of an upstream. Describes calls; makes none. */
export interface UpstreamOperation<K extends ModelOperation> {
  /** Several calls are a batch: run side by side, their replies in the same order. */
  request(input: Input<K>, target: Target, context: Context): Call | Call[];
  /** The call that follows a reply: a job to poll, a result to fetch. */
  next?(reply: Reply, input: Input<K>, step: number): Call | undefined;
  response(replies: Reply[], input: Input<K>, target: Target, context: Context): Output<K>;
  /** Throws where the upstream fails; the core turns that into the one final `error`. */
  events?(
    frames: AsyncIterable<ServerSentEvent>,
    input: Input<K>,
    target: Target,
    context: Context,
  ): AsyncIterable<StreamEvent<K>>;
}

/** The embedded upstream's way: an answer with no call at all. A streamed one is its replay. */
export interface LocalOperation<K extends ModelOperation> {
  local(input: Input<K>, target: Target): Output<K>;
}

/** How to speak to upstreams of one kind. */
export interface Driver {
  name: string;
  operations: { [K in ModelOperation]?: UpstreamOperation<K> | LocalOperation<K> };
  /** An answer outside 2xx, as what the client is told. */
  parseError(reply: Reply): GatewayError;
}
