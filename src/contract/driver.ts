import type { SpeechFormat } from "../canonical/audio.ts";
import type { Effort, OutputSchema } from "../canonical/generate.ts";
import type { JsonObject, JsonValue } from "../canonical/json.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import type { Work } from "../canonical/work.ts";
import type { GatewayError } from "../errors.ts";
import type { Catalog } from "./catalog.ts";
import type { AnswerContext, Context, FormField } from "./context.ts";
import type { ServerSentEvent } from "./frame.ts";

/** The endpoints with which servers count what a request would be to their model, by the last step of their paths. */
export const COUNTERS = ["count_tokens", "input_tokens", "tokenize", "chat_tokenize"] as const;
export type Counter = typeof COUNTERS[number];
/** Ways in which hosts of one wire are told whether and how much to think. */
export const DIALECTS = [
  "router",
  "template",
  "template-args",
  "reasoning",
  "reasoning-object",
  "thinking",
  "enable-thinking",
] as const;

/** What one place takes less of than its wire allows, or spells its own way. */
export interface Quirks {
  /**
   * The most texts that one call for vectors, or for scores that depend on no other text, may hold; the driver's own limit
   * where absent.
   */
  batch?: number;
  /** Its own word for each format of speech that it makes; it makes all of the wire's where absent. */
  speechFormats?: Readonly<Partial<Record<SpeechFormat, string>>>;
  /** Whether it refuses to speak where no voice is named. */
  needsVoice?: boolean;
  /** Its voice for a name that clients use; `*` stands for all that have none of their own here. */
  voices?: Readonly<Record<string, string>>;
  /** How it is told whether and how much to think: by the wire's own field alone where absent. */
  dialect?: typeof DIALECTS[number];
  /** Where it reads what its model thought in earlier turns; the wire's usual field where absent. */
  reasoningField?: "reasoning_content" | "reasoning";
  /** The levels of effort that the model is configured with, which requests are held to already; its family's where absent. */
  efforts?: readonly Effort[];
  /** Whether calls of tools and reasoning that it leaves in the text are read there; left as text where absent. */
  textForms?: "parse" | "leave";
  /** Whether cache hints of a client of another wire go to a server that may not know them; left out where absent. */
  cacheControl?: "pass" | "drop";
  /** Whether the form of an answer is asked for in the wire's own field, or in words and checked here. */
  structuredOutput?: "native" | "instruct";
  /** With which of its endpoints it counts tokens; with none where absent. */
  counter?: Counter;
  /** Whether arguments of calls that are not JSON are repaired where that is certain; a stream then tells them in one piece. */
  repairArguments?: boolean;
  /** The limit of an answer, in tokens, where its wire requires one, the client sets none and the model has no lower one. */
  defaultMaxTokens?: number;
  /** Whether a ranking's scores are to be made numbers from 0 to 1, where they are not. */
  scores?: "sigmoid" | "as-they-are";
}

/** The quirks that only some drivers read. */
export const OWN_QUIRKS = ["cacheControl", "dialect", "reasoningField", "textForms"] as const;
export type OwnQuirk = typeof OWN_QUIRKS[number];

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

/**
 * A call to an upstream, described. `path` joins the upstream's base URL. `url` stands alone: it is a GET that carries no
 * credential, to a host that the configuration allows.
 */
export type Call = ({ path: string; url?: undefined } | { url: string; path?: undefined }) & {
  method?: "GET" | "POST";
  headers?: Record<string, string>;
  /** JSON, unless it is bytes. A blob brings its own type. */
  body?: JsonValue | Uint8Array<ArrayBuffer> | Blob;
  /** A multipart form, in place of `body`. */
  form?: readonly FormField[];
  /** How long to wait before the call, in milliseconds: for a job that is polled. */
  afterMs?: number;
};

/** What an upstream answered, whole: JSON parsed, other text as a string, all else as bytes. */
export interface Reply {
  status: number;
  headers: Headers;
  body: JsonValue | Uint8Array<ArrayBuffer>;
  /** All the bytes, as they come, of sound that is passed on; `body` then holds their beginning. */
  stream?: ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** How one operation is asked of an upstream. Describes calls; makes none. */
export interface UpstreamOperation<K extends ModelOperation> {
  /** Several calls are a batch: run side by side, their replies in the same order. */
  request(input: Input<K>, target: Target, context: Context): Call | Call[];
  /** Whether the wire has a field for this form of an answer; it has one for each where this is absent. */
  hasForm?(form: OutputSchema): boolean;
  /** The call that follows a reply: a job to poll, a result to fetch. Throws where the reply says that it failed. */
  next?(reply: Reply, input: Input<K>, step: number): Call | undefined;
  /** The call that ends the job which a reply tells of, for when nobody wants its result any more. */
  cancel?(reply: Reply): Call | undefined;
  response(replies: Reply[], input: Input<K>, target: Target, context: AnswerContext): Output<K>;
  /** The same in slices, where there may be long texts to look into. */
  longResponse?(replies: Reply[], input: Input<K>, target: Target, context: AnswerContext): Work<Output<K>>;
  /** Throws where the upstream fails; the core turns that into the one final `error`. */
  events?(
    frames: AsyncIterable<ServerSentEvent>,
    input: Input<K>,
    target: Target,
    context: AnswerContext,
  ): AsyncIterable<StreamEvent<K>>;
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
  name: string;
  /** The endpoints that its `countTokens` knows. */
  counters?: readonly Counter[];
  /** Which quirks it reads of those that not every driver does. */
  reads?: readonly OwnQuirk[];
  operations: { [K in ModelOperation]?: UpstreamOperation<K> | LocalOperation<K> };
  /** What servers of this kind give a model's chat template. Pictures are left out. */
  prompt?(input: Input<"generate">, target: Target, context: Context): Prompt;
  /** How its servers list their models. */
  models?: Catalog;
  /** Of fields of a body, the name under which a server that refuses one takes the same. */
  synonyms?: Readonly<Record<string, string>>;
  /** An answer outside 2xx, as what the client is told. */
  parseError(reply: Reply): GatewayError;
}
