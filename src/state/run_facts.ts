import type { JsonObject } from "../canonical/json.ts";
import type { Message } from "../canonical/generate.ts";
import type { RunState, StoredAnswer } from "../canonical/stored.ts";

/** What is known of an answer before there is one. */
export interface RunFacts {
  id: string;
  previous?: string;
  /** Seconds since the epoch. */
  created: number;
  model: string;
  messages: Message[];
  keep: JsonObject;
}

/** An answer without content, in this state. */
export function asAnswer(facts: RunFacts, run: RunState): StoredAnswer {
  const response = {
    model: facts.model,
    content: [],
    finish: { reason: "other" as const },
    usage: { inputTokens: 0, outputTokens: 0 },
  };
  return { ...facts, completed: facts.created, response, run };
}
