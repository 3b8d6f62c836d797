// deno-lint-ignore-file house/file-length -- one vocabulary, which is read as a whole
/**
 * The canonical form of a conversation, in which the conversational wires meet. A field is here if two wires mean the
 * same by it. The rest rides in `extra`. Plain JSON data, so that it can be logged, stored, compared and replayed.
 */
import type { GatewayError } from "../errors.ts";
import type { CompactionRequest, SealedSummary } from "./compaction.ts";
import type { Extra } from "./extra.ts";
import type { HostedApproval, HostedCall, HostedResult, HostedWork } from "./hosted.ts";
import { isJsonText, type JsonObject } from "./json.ts";
import type { RelayRequest } from "./relay.ts";
import type { SamplingParameters } from "./sampling.ts";
import type { Usage } from "./usage.ts";

// Parts

export interface TextPart {
  type: "text";
  text: string;
  annotations?: Annotation[];
  extra?: Extra;
}

/** A source that the model cites. Offsets count UTF-16 units in the part's text. */
export interface Annotation {
  type: "url-citation";
  url: string;
  title?: string;
  start?: number;
  end?: number;
  /** The cited text of the source. */
  quote?: string;
  extra?: Extra;
}

export interface ReasoningPart {
  type: "reasoning";
  text: string;
  opaque?: OpaqueReasoning;
  extra?: Extra;
}

/** Data that only `origin` can read: a vendor's signature, or encrypted or redacted reasoning. */
export interface OpaqueReasoning {
  /** The wire on which it arrived. */
  origin: string;
  data: string;
  /** The target that wrote it, if the gateway remembers it. No other target can read it. */
  target?: string;
}

export interface RefusalPart {
  type: "refusal";
  text: string;
  extra?: Extra;
}

export type ToolKind = "function" | "custom";

export interface ToolCallPart {
  type: "tool-call";
  kind: ToolKind;
  id: string;
  name: string;
  /** The text that the model wrote: JSON for a function, free text for a custom tool. */
  input: string;
  extra?: Extra;
}

export type FileSource = { type: "base64"; data: string } | { type: "url"; url: string } | { type: "id"; id: string };

export interface FilePart {
  type: "file";
  /** A media type, or one such as `image/*` if the wire states only the kind. */
  mediaType: string;
  source: FileSource;
  name?: string;
  /** How closely to look at an image. With `auto` the model decides. */
  detail?: string;
  extra?: Extra;
}

/** A kind of part that only its own wire knows, kept whole for it. */
export interface OpaquePart {
  type: "opaque";
  /** A text that says the same, for wires that do not know this kind. */
  standIn?: string;
  /** Present if the part is a summary that the gateway may have written. */
  sealed?: SealedSummary;
  extra: Extra;
  /** The client's decision on a hosted call that waited for approval. */
  approval?: HostedApproval;
}

/**
 * A step of a tool that the server runs. An answer contains each call twice: as the model made it, and after it has
 * run, under the same id and with its result. Other parts may come between the two.
 */
export interface HostedPart {
  type: "hosted";
  id: string;
  call: HostedCall;
  result?: HostedResult;
  /** Set if the call runs only once the client has approved it. */
  awaitsApproval?: true;
  /** Set if the call waited and the client has approved it. */
  wasApproved?: true;
  extra?: Extra;
}

export type InputPart = TextPart | FilePart | OpaquePart;
export type OutputPart = TextPart | ReasoningPart | RefusalPart | ToolCallPart | FilePart | HostedPart | OpaquePart;

/** The result of a tool call, which `id` identifies. On some wires one turn may hold several. */
export interface ToolResultPart {
  type: "tool-result";
  id: string;
  content: InputPart[];
  isError?: boolean;
  extra?: Extra;
}

// Messages

interface MessageBase {
  /** The client's own id of the message, on wires where messages have one. */
  id?: string;
  extra?: Extra;
}

/** Instructions. They keep their position in the conversation, although some upstreams accept them only first. */
export interface SystemMessage extends MessageBase {
  role: "system";
  content: InputPart[];
}
export interface UserMessage extends MessageBase {
  role: "user";
  content: InputPart[];
  /** Set if nobody wrote the message: it is a summary of earlier turns. */
  isSummary?: true;
}
export interface AssistantMessage extends MessageBase {
  role: "assistant";
  content: OutputPart[];
  /** Set if the turn broke off, and the model is to go on with it instead of beginning another. */
  isUnfinished?: true;
}
export interface ToolMessage extends MessageBase {
  role: "tool";
  content: ToolResultPart[];
}
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

// Tools

/** `withdrawn`: by a turn. `inTurns`: defined by one. Upstreams of the client's own wire read both in the turns themselves. */
interface ToolInTurns {
  withdrawn?: true;
  inTurns?: true;
}

export interface FunctionTool extends ToolInTurns {
  type: "function";
  name: string;
  description?: string;
  /** A JSON schema. Absent for a function without parameters. */
  parameters?: JsonObject;
  strict?: boolean;
  /** `true`: hidden from the model until the conversation mentions the tool. `false`: already mentioned. */
  deferred?: boolean;
  extra?: Extra;
}
/** A tool whose input is free text, optionally restricted by a grammar. */
export interface CustomTool extends ToolInTurns {
  type: "custom";
  name: string;
  description?: string;
  grammar?: { syntax: string; definition: string };
  extra?: Extra;
}
/** A tool that the server runs, kept whole. */
export interface HostedTool extends ToolInTurns {
  type: "hosted";
  name: string;
  /** Absent if only the tool's own vendor can run it. */
  work?: HostedWork;
  extra: Extra;
}
export type Tool = FunctionTool | CustomTool | HostedTool;

export type ToolChoice =
  | { type: "auto" | "none" | "required" }
  /** `remote`: a server whose tools are chosen, or one of its tools. */
  | { type: "tool"; kind: ToolKind; name: string; remote?: { server: string; name?: string } }
  /** The model may use only these tools. */
  | { type: "allowed"; mode: "auto" | "required"; names: string[] };

// Request

/** From least to most. `none` switches reasoning off. */
export const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = typeof EFFORTS[number];

export interface Thinking {
  enabled?: boolean;
  effort?: Effort;
  budgetTokens?: number;
}

/** The format of the answer. Without a schema, any JSON object. */
export interface OutputSchema {
  name?: string;
  description?: string;
  schema?: JsonObject;
  strict?: boolean;
}

export interface GenerateRequest extends SamplingParameters {
  /** As the client wrote it. `Target.model` has the target's own name for the model. */
  model: string;
  messages: Message[];
  stream: boolean;
  tools?: Tool[];
  toolChoice?: ToolChoice;
  /** The most hosted calls that the answer may make. */
  maxHostedCalls?: number;
  parallelToolCalls?: boolean;
  thinking?: Thinking;
  maxOutputTokens?: number;
  stopSequences?: string[];
  seed?: number;
  outputSchema?: OutputSchema;
  verbosity?: "low" | "medium" | "high";
  cacheKey?: string;
  metadata?: JsonObject;
  recall?: RecallRequest;
  compaction?: CompactionRequest;
  /** Whether the client may want parts of the conversation cleared. Which ones is read when somebody has to do it. */
  editing?: true;
  /** The request in its wire's own form, if it uses something that only that wire can express. */
  relay?: RelayRequest;
  extra?: Extra;
}

/** A client's request to the gateway's memory of earlier answers. It is never sent to upstreams. */
export interface RecallRequest {
  /** Where the client's turn begins in `messages`. Earlier messages are instructions for this answer only. */
  at: number;
  /** The id of the answer that the conversation continues from. */
  previous?: string;
  /** Items of earlier answers. Each is inserted before the message at its `at`. */
  references?: ItemReference[];
  /** The id of the conversation to which the request and its answer are added. */
  conversation?: string;
  /** Whether to make the answer in the background. */
  background?: boolean;
  /** Whether the request belongs to a thread. All else of it is read by the speech of threads, once its thread is known. */
  thread?: true;
  /** Present if the answer is to be stored: the parts of the request that the wire needs later. */
  keep?: JsonObject;
}

/** A part of an earlier answer, or a message of its request. */
export interface ItemReference {
  at: number;
  /** As the client wrote it, for error messages. */
  id: string;
  answer: string;
  item: { part: number } | { message: number };
}

// Response

/** `paused`: if the client sends the answer back unchanged, it continues. */
export type FinishReason = "stop" | "length" | "tool-calls" | "content-filter" | "paused" | "other";

export interface Finish {
  reason: FinishReason;
  /** The upstream's own reason, if `reason` does not express it fully. */
  raw?: string;
  stopSequence?: string;
}

/** Whether the last part of an answer that ended so is unfinished. A call whose arguments are whole is not. */
export function isCut({ reason }: Finish, last: OutputPart): boolean {
  if (reason !== "length" && reason !== "content-filter") return false;
  return last.type === "tool-call" ? last.kind === "custom" || !isJsonText(last.input) : "text" in last;
}

export interface GenerateResponse {
  /** The upstream's name for the model that answered. */
  model: string;
  content: OutputPart[];
  finish: Finish;
  usage: Usage;
  extra?: Extra;
}

/**
 * One step of a streamed response. `start` comes exactly once, as the first event. Part indexes count up from 0, and
 * one part is open at a time. A part starts empty except for its id and name, and all its deltas come before its end.
 * Exactly one `finish` or `error` comes last. `PartWriter` guarantees this order, so serializers never have to buffer.
 */
export type GenerateEvent =
  | { type: "start"; model: string; inputTokens: number; extra?: Extra }
  | { type: "part-start"; index: number; part: OutputPart }
  | { type: "part-delta"; index: number; delta: PartDelta }
  | { type: "part-end"; index: number; annotations?: Annotation[]; opaque?: OpaqueReasoning; extra?: Extra }
  | { type: "finish"; finish: Finish; usage: Usage; extra?: Extra }
  | { type: "error"; error: GatewayError };

/** Text to append to the open part: to `text` of a text, reasoning or refusal part, or to `input` of a tool call. */
export type PartDelta = { type: "text" | "reasoning" | "refusal" | "tool-input"; text: string };
