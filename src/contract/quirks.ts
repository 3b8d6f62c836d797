import type { SpeechFormat } from "../canonical/audio.ts";
import type { Effort } from "../canonical/generate.ts";

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
