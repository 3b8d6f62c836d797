/**
 * The canonical form of a conversation: the meeting point of the conversational wires. A field is here when two wires mean
 * the same by it; everything else rides in `extra`. Plain JSON data, so that it can be logged, stored, compared, replayed.
 */
import type { GatewayError } from "../errors.ts";
import type { CompactionRequest, SealedSummary } from "./compaction.ts";
import type { Extra } from "./extra.ts";
import type { HostedApproval, HostedCall, HostedResult, HostedWork } from "./hosted.ts";
import type { JsonObject } from "./json.ts";
import type { RelayRequest } from "./relay.ts";
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
  /** What of the source is cited. */
  quote?: string;
  extra?: Extra;
}

export interface ReasoningPart {
  type: "reasoning";
  text: string;
  opaque?: OpaqueReasoning;
  extra?: Extra;
}

/** What only `origin` can read: a vendor's signature, encrypted or redacted reasoning. */
export interface OpaqueReasoning {
  /** The wire that it came in. */
  origin: string;
  data: string;
  /** The target that wrote it, where the gateway remembers that: no other one can read it. */
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
  /** A media type; `image/*` and the like where the wire tells only the kind. */
  mediaType: string;
  source: FileSource;
  name?: string;
  /** How closely a picture is to be looked at; `auto` leaves it to the model. */
  detail?: string;
  extra?: Extra;
}

/** A kind of part that only its own wire knows, kept whole for it. */
export interface OpaquePart {
  type: "opaque";
  /** What says the same in words, for a wire that does not know the kind. */
  standIn?: string;
  /** Present where it is a summary that the gateway may have written. */
  sealed?: SealedSummary;
  extra: Extra;
  /** What the client says in it of a hosted call that waited for it. */
  approval?: HostedApproval;
}

/**
 * A step of a tool that the server runs. A call stands in an answer twice: as the model made it, and, under the same id, with
 * its result once it has run. Between them others may stand.
 */
export interface HostedPart {
  type: "hosted";
  id: string;
  call: HostedCall;
  result?: HostedResult;
  /** It runs only once the client has approved it. */
  awaitsApproval?: true;
  /** It waited, and the client has approved it. */
  wasApproved?: true;
  extra?: Extra;
}

export type InputPart = TextPart | FilePart | OpaquePart;
export type OutputPart = TextPart | ReasoningPart | RefusalPart | ToolCallPart | FilePart | HostedPart | OpaquePart;

/** What a tool answered. On some wires several stand in one turn; `id` says which call each one answers. */
export interface ToolResultPart {
  type: "tool-result";
  id: string;
  content: InputPart[];
  isError?: boolean;
  extra?: Extra;
}

// Messages

interface MessageBase {
  /** The client's name for it, on wires where turns have one. */
  id?: string;
  extra?: Extra;
}

/** Instructions. It keeps its position in the conversation; not every upstream takes it anywhere but first. */
export interface SystemMessage extends MessageBase {
  role: "system";
  content: InputPart[];
}
export interface UserMessage extends MessageBase {
  role: "user";
  content: InputPart[];
  /** Nobody said it: it stands for turns that were summarized. */
  isSummary?: true;
}
export interface AssistantMessage extends MessageBase {
  role: "assistant";
  content: OutputPart[];
}
export interface ToolMessage extends MessageBase {
  role: "tool";
  content: ToolResultPart[];
}
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

// Tools

export interface FunctionTool {
  type: "function";
  name: string;
  description?: string;
  /** A JSON schema; absent for a function without parameters. */
  parameters?: JsonObject;
  strict?: boolean;
  /** Kept from the model until the conversation brings it up (`true`), or brought up already (`false`). */
  deferred?: boolean;
  extra?: Extra;
}
/** A tool whose input is free text, perhaps held to a grammar. */
export interface CustomTool {
  type: "custom";
  name: string;
  description?: string;
  grammar?: { syntax: string; definition: string };
  extra?: Extra;
}
/** A tool that the server runs, kept whole. */
export interface HostedTool {
  type: "hosted";
  name: string;
  /** Nothing where nobody but its own vendor could run it. */
  work?: HostedWork;
  extra: Extra;
}
export type Tool = FunctionTool | CustomTool | HostedTool;

export type ToolChoice =
  | { type: "auto" | "none" | "required" }
  /** `remote`: a server whose tools are meant, or one tool of it. */
  | { type: "tool"; kind: ToolKind; name: string; remote?: { server: string; name?: string } }
  /** The model may use these tools only. */
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

/** The answer's form. Without a schema: any JSON object. */
export interface OutputSchema {
  name?: string;
  description?: string;
  schema?: JsonObject;
  strict?: boolean;
}

export interface GenerateRequest {
  /** As the client wrote it; the target's own name for the model is in `Target.model`. */
  model: string;
  messages: Message[];
  stream: boolean;
  tools?: Tool[];
  toolChoice?: ToolChoice;
  /** How many hosted calls the answer may take. */
  maxHostedCalls?: number;
  parallelToolCalls?: boolean;
  thinking?: Thinking;
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  topK?: number;
  stopSequences?: string[];
  seed?: number;
  outputSchema?: OutputSchema;
  verbosity?: "low" | "medium" | "high";
  cacheKey?: string;
  metadata?: JsonObject;
  memory?: MemoryRequest;
  compaction?: CompactionRequest;
  /** The request past this form, where it asks for what its wire alone knows. */
  relay?: RelayRequest;
  extra?: Extra;
}

/** What a client asks of the gateway's memory of earlier answers. It is never sent to upstreams. */
export interface MemoryRequest {
  /** Where the client's turn begins in `messages`; those before it are instructions for this answer only. */
  at: number;
  /** The id of the answer after which the conversation goes on. */
  previous?: string;
  /** Items of earlier answers, each to be put before the message that is at `at`. */
  references?: ItemReference[];
  /** The id of the conversation that the request and its answer become a part of. */
  conversation?: string;
  /** Whether the answer is made while the client does something else. */
  background?: boolean;
  /** Present where this answer is to be remembered: what the wire will want to see of the request again. */
  keep?: JsonObject;
}

/** A part of what an earlier answer said, or a message of what it was asked. */
export interface ItemReference {
  at: number;
  /** As the client wrote it, for its eyes. */
  id: string;
  answer: string;
  item: { part: number } | { message: number };
}

// Response

/** `paused`: the client is to send the answer back as it is, and it goes on. */
export type FinishReason = "stop" | "length" | "tool-calls" | "content-filter" | "paused" | "other";

export interface Finish {
  reason: FinishReason;
  /** The upstream's own word where `reason` does not say it all. */
  raw?: string;
  stopSequence?: string;
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
 * One step of a streamed response. `start` comes once and first; part indexes count up from 0 and one part is open at a
 * time; a part starts empty but for its id and name; every delta is inside its part; exactly one `finish` or `error` comes
 * last. `PartWriter` keeps this order, so a serializer never has to buffer.
 */
export type GenerateEvent =
  | { type: "start"; model: string; inputTokens: number; extra?: Extra }
  | { type: "part-start"; index: number; part: OutputPart }
  | { type: "part-delta"; index: number; delta: PartDelta }
  | { type: "part-end"; index: number; annotations?: Annotation[]; opaque?: OpaqueReasoning; extra?: Extra }
  | { type: "finish"; finish: Finish; usage: Usage; extra?: Extra }
  | { type: "error"; error: GatewayError };

/** What is added to the open part: to `text` of a text, reasoning or refusal part, to `input` of a tool call. */
export type PartDelta = { type: "text" | "reasoning" | "refusal" | "tool-input"; text: string };
