import type { Speech, SpeechEvent, SpeechRequest, Transcript, TranscriptEvent, TranscriptionRequest } from "./audio.ts";
import type { CompleteEvent, CompleteRequest, CompleteResponse } from "./complete.ts";
import type { ConversationAnswer, ConversationRequest } from "./conversation.ts";
import type { DecideRequest, DecideResponse } from "./decide.ts";
import type { DrawEvent, DrawRequest, DrawResponse } from "./draw.ts";
import type { EmbedRequest, EmbedResponse } from "./embed.ts";
import type { FilesAnswer, FilesRequest } from "./files.ts";
import type { GenerateEvent, GenerateRequest, GenerateResponse } from "./generate.ts";
import type { ModelInfo, Task } from "./models.ts";
import type { RelayEvent, RelayRequest, RelayResponse } from "./relay.ts";
import type { RerankRequest, RerankResponse } from "./rerank.ts";
import type { StoredAnswer } from "./stored.ts";

/** Every operation, with its input, its output, and the events of a streamed answer if it can stream. */
export interface Operations {
  generate: { input: GenerateRequest; output: GenerateResponse; event: GenerateEvent };
  /** `generate` without the canonical form, for requests that only one wire can express: `GenerateRequest.relay`. */
  relay: { input: RelayRequest; output: RelayResponse; event: RelayEvent };
  /** The continuation of texts, without turns. */
  complete: { input: CompleteRequest; output: CompleteResponse; event: CompleteEvent };
  /** Answers to questions about a text, with their probabilities. */
  decide: { input: DecideRequest; output: DecideResponse; event: never };
  countTokens: { input: GenerateRequest; output: { inputTokens: number }; event: never };
  embed: { input: EmbedRequest; output: EmbedResponse; event: never };
  rerank: { input: RerankRequest; output: RerankResponse; event: never };
  speak: { input: SpeechRequest; output: Speech; event: SpeechEvent };
  transcribe: { input: TranscriptionRequest; output: Transcript; event: TranscriptEvent };
  draw: { input: DrawRequest; output: DrawResponse; event: DrawEvent };
  listModels: { input: { task?: Task }; output: ModelInfo[]; event: never };
  /** `gaps`: whether the client wants to know if the model fills gaps. */
  getModel: { input: { model: string; gaps?: true }; output: ModelInfo; event: never };
  /** `events`: the answer as its stream events, starting from a position. */
  getResponse: { input: { id: string; events?: { from: number } }; output: StoredAnswer; event: never };
  deleteResponse: { input: { id: string }; output: { id: string }; event: never };
  cancelResponse: { input: { id: string }; output: StoredAnswer; event: never };
  /** A request about a conversation that the gateway stores. */
  conversation: { input: ConversationRequest; output: ConversationAnswer; event: never };
  /** A request about the caller's files. */
  files: { input: FilesRequest; output: FilesAnswer; event: never };
  /** Opens a WebSocket whose messages are requests. */
  connect: { input: Record<string, never>; output: never; event: never };
  /** Whether the wire is served, for clients that request a version before anything else. */
  ping: { input: Record<string, never>; output: Record<string, never>; event: never };
}

export type OperationName = keyof Operations;
/** The operations that run a model at an upstream. The others are answered from the lane or the memory. */
export type ModelOperation =
  | "generate"
  | "relay"
  | "complete"
  | "decide"
  | "countTokens"
  | "embed"
  | "rerank"
  | "speak"
  | "transcribe"
  | "draw";
export type Input<K extends OperationName> = Operations[K]["input"];
export type Output<K extends OperationName> = Operations[K]["output"];
export type StreamEvent<K extends OperationName> = Operations[K]["event"];

/** The task that a model must have for the operation. A model of another task is refused with `model_task_mismatch`. */
export const TASK_OF: Record<OperationName, Task | undefined> = {
  generate: "chat",
  relay: "chat",
  complete: "chat",
  decide: "chat",
  countTokens: "chat",
  embed: "embedding",
  rerank: "rerank",
  speak: "speech",
  transcribe: "transcription",
  draw: "image",
  listModels: undefined,
  getModel: undefined,
  getResponse: undefined,
  deleteResponse: undefined,
  cancelResponse: undefined,
  conversation: undefined,
  files: undefined,
  connect: undefined,
  ping: undefined,
};
