import type { JsonObject } from "../canonical/json.ts";
import type { Message } from "../canonical/generate.ts";
import type { RunState, StoredAnswer } from "../canonical/stored.ts";

/** The facts of a background answer that are known before it is made. */
export interface RunFacts {
  id: string;
  previous?: string;
  /** Seconds since the epoch. */
  created: number;
  model: string;
  messages: Message[];
  keep: JsonObject;
}

/** An answer without content, in the state `run`. */
export function asAnswer(facts: RunFacts, run: RunState): StoredAnswer {
  const response = {
    model: facts.model,
    content: [],
    finish: { reason: "other" as const },
    usage: { inputTokens: 0, outputTokens: 0 },
  };
  return { ...facts, completed: facts.created, response, run };
}
