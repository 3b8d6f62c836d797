import type { OutputSchema } from "../canonical/generate.ts";
import type { HostedWork } from "../canonical/hosted.ts";
import type { JsonObject } from "../canonical/json.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import type { SlicedWork } from "../util/sliced_work.ts";
import type { GatewayError } from "../errors.ts";
import type { BodyLayout } from "./body_layout.ts";
import type { Call, Reply, SecretPlace } from "./call.ts";
import type { Catalog } from "./catalog.ts";
import type { AnswerContext, Context } from "./context.ts";
import type { Framing, StreamReader } from "./stream.ts";
import type { Intake } from "./intake.ts";
import type { Counter, OwnQuirk, Quirks } from "./quirks.ts";

/** A model at an upstream. */
export interface Target extends Quirks {
  /** The upstream's name in the configuration. */
  upstream: string;
  /** The upstream's own name for the model. */
  model: string;
  /** Where system messages may appear. Many chat templates accept one only at the beginning. */
  systemMessages: "first" | "anywhere";
  /** How many tokens the answer to this request may have, from the model's known limits. Absent if none are known. */
  answerRoom?: number;
  /** Whether the upstream has refused the reasoning of earlier turns. Then not even an empty reasoning field is sent. */
  refusesReasoning?: boolean;
  /** Whether the upstream has refused the field for the text after a gap. Then the gap is written into the prompt. */
  refusesSuffix?: boolean;
  /** Whether the upstream was found to make no decisions itself, to report no log probabilities, or to take no schema. */
  refusesDecisions?: boolean;
  refusesLogprobs?: boolean;
  /** Whether it refuses to report more than five alternatives of a token. */
  refusesManyLogprobs?: boolean;
  refusesForm?: boolean;
  /** The content of a turn that has calls but no text, if the upstream refuses null: empty text, or no field at all. */
  silentContent?: "empty" | "absent";
}

interface Loadable {
  /**
   * Loads the functions of the operation, if that waits for the first request, or the first one that needs them. It
   * completes before any of them is called. `input`: the request, for an answer without a call.
   */
  load?(input?: unknown): Promise<void> | undefined;
}

/** How one operation is requested from an upstream. It describes calls and makes none. */
export interface UpstreamOperation<K extends ModelOperation> extends Loadable {
  /** Several calls are a batch. They run concurrently, and their replies keep the order of the calls. */
  request(input: Input<K>, target: Target, context: Context): Call | Call[];
  /** Whether the wire has a field for this output schema. Absent if it has one for every schema. */
  hasForm?(form: OutputSchema): boolean;
  /** The call that follows a reply: polling a job, or fetching a result. Throws if the reply reports a failure. */
  next?(reply: Reply, input: Input<K>, step: number): Call | undefined;
  /** The call that cancels a reply's job when its result is no longer needed. */
  cancel?(reply: Reply): Call | undefined;
  response(replies: Reply[], input: Input<K>, target: Target, context: AnswerContext): Output<K>;
  /** `response` in slices, for answers with long texts to search. */
  longResponse?(replies: Reply[], input: Input<K>, target: Target, context: AnswerContext): SlicedWork<Output<K>>;
  /** How the operation is requested, in words for people, where there are several ways. Throws if it cannot be. */
  wayAt?(target: Target): string;
  /** How to read a streamed answer. */
  stream?: {
    framing: Framing;
    /** The framing of a target's answers, where servers of one kind have several. */
    framingAt?(target: Target): Framing;
    /** For a conversation, `input` has only the calls of tools, because a reader lives as long as the answer. */
    reader(input: Input<K>, target: Target, context: AnswerContext): StreamReader<StreamEvent<K>>;
  };
}

/** For the embedded upstream: an answer without a call. A streamed answer replays it. */
export interface LocalOperation<K extends ModelOperation> extends Loadable {
  local(input: Input<K>, target: Target, context: Context): Output<K>;
}

/** The input of a model's chat template. */
export interface Prompt {
  /** The turns. The text of each turn is one string, and the arguments of calls are objects. */
  messages: JsonObject[];
  /** As functions with a schema. */
  tools?: JsonObject[];
  /** Other variables that the template may read, such as whether to think. */
  variables: JsonObject;
}

/** How a server goes on with an unfinished turn of the assistant. */
export interface Prefill {
  /** Whether its answer begins with the text of that turn: always, or perhaps, if nothing says how it is asked. */
  repeats?: "always" | "perhaps";
}

/** How to talk to upstreams of one kind. */
export interface Driver {
  /** Unique name, by which configurations choose a driver. */
  name: string;
  /**
   * The wire format. It matches the wire of a protocol that speaks the same format to clients. If a driver serves
   * several operations, this is the format of its conversations.
   */
  wire: string;
  /** Where its servers expect the secret, unless the configuration names another header. Absent: a bearer token. */
  secret?: SecretPlace;
  /** The token count endpoints that its `countTokens` operation can call. */
  counters?: readonly Counter[];
  /** The quirks that it reads, of those that only some drivers read. */
  reads?: readonly OwnQuirk[];
  operations: { [K in ModelOperation]?: UpstreamOperation<K> | LocalOperation<K> };
  /** The hosted tools that its upstreams run themselves, whichever wire the request uses. */
  runs?: readonly HostedWork["kind"][];
  /** How its servers accept conversations. Absent if the driver accepts the canonical form unchanged. */
  intake?(target: Target): Intake;
  /** The input that servers of this kind pass to a model's chat template. Images are left out. */
  prompt?(input: Input<"generate">, target: Target, context: Context): Prompt;
  /**
   * How the target goes on with an unfinished turn. Absent, or `undefined` for a target or a request, if it would begin
   * another turn.
   */
  prefill?(target: Target, input: Input<"generate">): Prefill | undefined;
  /** Whether some of its targets do so without being configured. */
  prefills?: true;
  /** How its servers list their models. */
  models?: Catalog;
  /** How the bodies of its conversations are laid out. Absent if its servers are not asked again in another form. */
  layout?(): Promise<BodyLayout>;
  /** Alternative names of body fields, for servers that refuse the usual name. */
  synonyms?: Readonly<Record<string, string>>;
  /** The error for the client, from a response with a status outside 2xx. */
  parseError(reply: Reply): GatewayError;
}

/** How a client of a wire writes a conversation and reads the streamed answer, as a driver does for its upstreams. */
export interface WireClient
  extends Pick<Driver, "intake">, Required<Pick<UpstreamOperation<"generate">, "request" | "stream">> {}
