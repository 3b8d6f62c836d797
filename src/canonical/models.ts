import { GatewayError } from "../errors.ts";
import type { Effort } from "./generate.ts";
import type { Price } from "./price.ts";

/** The tasks that a model can be for. Each operation that runs a model needs one of them (`TASK_OF`). */
export const TASKS = ["chat", "embedding", "rerank", "speech", "transcription", "image"] as const;
export type Task = typeof TASKS[number];

/** Whether a configured model name is a pattern, in which `*` matches any text. */
export function isPattern(name: string): boolean {
  return name.includes("*");
}

/** The kinds of input that a model may accept. `file` is a document, such as a PDF. */
export const MODALITIES = ["text", "image", "audio", "video", "file"] as const;
export type Modality = typeof MODALITIES[number];

/** The input of models of each task, if the task alone determines it. */
export const INPUT_OF: Readonly<Record<Task, readonly Modality[] | undefined>> = {
  chat: undefined,
  embedding: ["text"],
  rerank: ["text"],
  speech: ["text"],
  transcription: ["audio"],
  // Some change given pictures, too.
  image: undefined,
};

/** Reads the filter of a model list request: `?task=embedding`. Throws `invalid_request` for an unknown task. */
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
  /** The name that clients send in `model`. */
  id: string;
  task: Task;
  /** Seconds since the epoch. A constant if unknown, because the gateway's own build time is not known either. */
  created: number;
  ownedBy: string;
  displayName?: string;
  /** Tokens of input and output together. */
  contextLength?: number;
  maxOutputTokens?: number;
  inputModalities?: readonly Modality[];
  supportsTools?: boolean;
  /** Whether it fills a gap in a text. Only for clients that want to know it. */
  fillsGaps?: boolean;
  /** The levels of reasoning effort that it supports. */
  efforts?: readonly Effort[];
  /** Its price at each provider, by the name that the provider has in answers. */
  prices?: Readonly<Record<string, Price>>;
}
