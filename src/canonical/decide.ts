import type { Extra } from "./extra.ts";
import type { FilePart, TextPart, ToolKind } from "./generate.ts";
import type { JsonValue } from "./json.ts";
import type { ReportedUsage } from "./usage.ts";

/** A request to answer questions about a text, each with the probabilities of its answers. */
export interface DecideRequest {
  model: string;
  /** The subject of the questions. */
  turns: DecideTurn[];
  questions: Question[];
  extra?: Extra;
}

export interface JsonPart {
  type: "json";
  value: JsonValue;
  extra?: Extra;
}

/** A file is an image. */
export type DecidePart = TextPart | FilePart | JsonPart;

export type DecideTurn =
  | { type: "message"; role: "system" | "developer" | "user" | "assistant"; content: DecidePart[]; extra?: Extra }
  | { type: "call"; kind: ToolKind; id: string; name: string; input: string; extra?: Extra }
  | { type: "result"; kind: ToolKind; id: string; content: DecidePart[]; extra?: Extra };

interface QuestionBase {
  /** The client's name for it. */
  name?: string;
  /** Empty if the question goes without words. */
  instructions: DecidePart[];
  extra?: Extra;
}

/** Whether something is true. */
export interface Predicate extends QuestionBase {
  type: "predicate";
  /** When each answer is right. */
  criteria?: { yes?: string; no?: string };
}

/** Which of several values fits. */
export interface Choice extends QuestionBase {
  type: "choice";
  options: ChoiceOption[];
}

export interface ChoiceOption {
  /** The text `true` and the boolean are two values. */
  value: string | boolean;
  description?: string;
  extra?: Extra;
}

/** Which level of a scale fits. The first one counts as 0. */
export interface Score extends QuestionBase {
  type: "score";
  levels: { label: string; description?: string; extra?: Extra }[];
}

export type Question = Predicate | Choice | Score;

/** The answer to one question. */
export type Decision = DecidedAnswer | { type: "refusal" } | OpenAnswer;

export interface DecidedAnswer {
  type: "decided";
  /** One for each possible answer, in the order of the question, with a sum of 1. Those of a predicate are yes and no. */
  probabilities: number[];
  /** The position of the answer that was chosen. Absent if it is the most likely one. */
  chosen?: number;
  /** As the server reported it. */
  confidence?: number;
  /** The share of the model's next token that the possible answers had together. Absent if it was not reported. */
  labelMass?: number;
  extra?: Extra;
}

/** The reply cannot be read, but the question can be asked in another way. `logprobs`: the server reports none. */
export interface OpenAnswer {
  type: "open";
  lacks: "logprobs" | "label";
}

export interface DecideResponse {
  model: string;
  /** In the order of the questions. */
  answers: Decision[];
  usage: ReportedUsage;
  extra?: Extra;
}
