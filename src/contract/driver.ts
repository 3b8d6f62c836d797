import type { OutputSchema } from "../canonical/generate.ts";
import type { HostedWork } from "../canonical/hosted.ts";
import type { JsonObject } from "../canonical/json.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import type { Work } from "../util/work.ts";
import type { GatewayError } from "../errors.ts";
import type { Call, Reply } from "./call.ts";
import type { Catalog } from "./catalog.ts";
import type { AnswerContext, Context } from "./context.ts";
import type { Framing, StreamReader } from "./stream.ts";
import type { Intake } from "./intake.ts";
import type { Counter, OwnQuirk, Quirks } from "./quirks.ts";

/** A model at an upstream. */
export interface Target extends Quirks {
  /** The upstream's name in the configuration. */
  upstream: string;
  /** What the upstream calls the model. */
  model: string;
  /** Where it takes instructions: many chat templates refuse them anywhere but first. */
  systemMessages: "first" | "anywhere";
  /** What an answer to this request may have by what is known of the model, in tokens; nothing where nothing is known. */
  answerRoom?: number;
  /** It turned out to take nothing of what was thought in earlier turns, not even that it was nothing. */
  refusesReasoning?: boolean;
  /** What a turn with calls and no text has for its content, where null is refused: an empty text, or nothing at all. */
  silentContent?: "empty" | "absent";
}

/** How one operation is asked of an upstream. Describes calls; makes none. */
export interface UpstreamOperation<K extends ModelOperation> {
  /** Several calls are a batch: run side by side, their replies in the same order. */
  request(input: Input<K>, target: Target, context: Context): Call | Call[];
  /** Whether the wire has a field for this form of an answer; it has one for each where this is absent. */
  hasForm?(form: OutputSchema): boolean;
  /** The call that follows a reply: a job to poll, a result to fetch. Throws where the reply says that it failed. */
  next?(reply: Reply, input: Input<K>, step: number): Call | undefined;
  /** The call that cancels the job of a reply, for when its result is no longer wanted. */
  cancel?(reply: Reply): Call | undefined;
  response(replies: Reply[], input: Input<K>, target: Target, context: AnswerContext): Output<K>;
  /** The same in slices, where there may be long texts to look into. */
  longResponse?(replies: Reply[], input: Input<K>, target: Target, context: AnswerContext): Work<Output<K>>;
  /** How a streamed answer is read. */
  stream?: {
    framing: Framing;
    /** Of a conversation, `input` has the calls of tools alone: a reader lives as long as the answer. */
    reader(input: Input<K>, target: Target, context: AnswerContext): StreamReader<StreamEvent<K>>;
  };
}

/** The embedded upstream's way: an answer with no call at all. A streamed one is its replay. */
export interface LocalOperation<K extends ModelOperation> {
  local(input: Input<K>, target: Target, context: Context): Output<K>;
}

/** What a model's chat template is given. */
export interface Prompt {
  /** The turns: their texts as one text each, the arguments of calls as objects. */
  messages: JsonObject[];
  /** As functions with a schema. */
  tools?: JsonObject[];
  /** What more the template may look at, such as whether to think. */
  variables: JsonObject;
}

/** How to speak to upstreams of one kind. */
export interface Driver {
  /** No other driver has it: configurations choose a driver by its name. */
  name: string;
  /**
   * The format of its bytes: the same word as that of a protocol which speaks it to clients. Of a driver that serves several
   * operations, the format of its conversations.
   */
  wire: string;
  /** The endpoints that its `countTokens` knows. */
  counters?: readonly Counter[];
  /** Which quirks it reads of those that not every driver does. */
  reads?: readonly OwnQuirk[];
  operations: { [K in ModelOperation]?: UpstreamOperation<K> | LocalOperation<K> };
  /** The hosted tools that it runs itself, whichever wire they come in. */
  runs?: readonly HostedWork["kind"][];
  /** How its servers take conversations; absent where it takes the canonical form as it is. */
  intake?(target: Target): Intake;
  /** What servers of this kind give a model's chat template. Pictures are left out. */
  prompt?(input: Input<"generate">, target: Target, context: Context): Prompt;
  /** How its servers list their models. */
  models?: Catalog;
  /** Of fields of a body, the name under which a server that refuses one takes the same. */
  synonyms?: Readonly<Record<string, string>>;
  /** A response outside 2xx, as the error that the client gets. */
  parseError(reply: Reply): GatewayError;
}
