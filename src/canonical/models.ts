import { GatewayError } from "../errors.ts";
import type { Effort } from "./generate.ts";
import type { Price } from "./price.ts";

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

/** What models of each task are given, as far as the task alone tells it. */
export const INPUT_OF: Readonly<Record<Task, readonly Modality[] | undefined>> = {
  chat: undefined,
  embedding: ["text"],
  rerank: ["text"],
  speech: ["text"],
  transcription: ["audio"],
};

/** What a request for the model list is narrowed to: `?task=embedding`. Throws `invalid_request` for an unknown task. */
export function parseListQuery(query: URLSearchParams): { task?: Task } {
  const wanted = query.get("task");
  if (wanted === null || wanted === "") return {};
  const task = TASKS.find((one) => one === wanted);
  if (task) return { task };
  const message = `Cannot list models for task "${wanted}": expected ${TASKS.join(", ")}`;
  throw new GatewayError("invalid_request", message, { param: "task" });
}

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
  /** What it costs at each provider that runs it, by the name that answers have for it. */
  prices?: Readonly<Record<string, Price>>;
}
