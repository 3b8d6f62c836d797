import type { Effort } from "./generate.ts";

/** What a model is for. Each operation that runs a model needs one of these (`TASK_OF`). */
export const TASKS = ["chat", "embedding", "rerank", "speech", "transcription"] as const;
export type Task = typeof TASKS[number];

/** Whether a model's name in the configuration stands for many: `*` in it is any text. */
export function isPattern(name: string): boolean {
  return name.includes("*");
}

/** What a model can be given. `file` is a document, such as a PDF. */
export const MODALITIES = ["text", "image", "audio", "video", "file"] as const;
export type Modality = typeof MODALITIES[number];

/** One entry of a lane's model list. */
export interface ModelInfo {
  /** The name that clients put in `model`. */
  id: string;
  task: Task;
  /** Seconds since the epoch; the gateway's own build time is not known, so a constant where nobody says it. */
  created: number;
  ownedBy: string;
  displayName?: string;
  /** Tokens of input and output together. */
  contextLength?: number;
  maxOutputTokens?: number;
  inputModalities?: readonly Modality[];
  supportsTools?: boolean;
  /** The levels of reasoning effort that it knows. */
  efforts?: readonly Effort[];
}
