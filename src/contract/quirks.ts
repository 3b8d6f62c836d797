/** What one place takes less of than its wire allows, or spells its own way. */
import { z } from "zod";
import type { SpeechFormat } from "../canonical/audio.ts";
import { EFFORTS } from "../canonical/generate.ts";

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

/** The quirks that a configuration can name, of an upstream, of a model or of both; each says what its absence means. */
export const quirkFields = {
  batch: z.int().min(1).meta({
    description:
      "The most texts that one request for embeddings, or for scores by the driver tei or hub, may hold. Longer lists " +
      "are sent as several requests. The driver's own limit where this is absent.",
  }),
  voices: z.record(z.string().min(1), z.string().min(1)).meta({
    description:
      "For speech: the model's own voice for each name that clients use. The name * stands for all that are not listed.",
    examples: [{ "alloy": "tara", "*": "leo" }],
  }),
  dialect: z.enum(DIALECTS).meta({
    description:
      "How this upstream is told whether and how much a model is to think. With router, by reasoning_effort alone, or in " +
      "the way of the provider that a model's name is pinned to. Else levels go there too, and on and off elsewhere: with " +
      "template into chat_template_kwargs (servers that render the chat template themselves, such as those that run on " +
      "your own machine), with template-args into chat_template_args, with reasoning into reasoning.enabled, with " +
      "thinking into thinking.type, with enable-thinking into enable_thinking. With reasoning-object both go into reasoning.",
  }),
  reasoningField: z.enum(["reasoning_content", "reasoning"]).meta({
    description:
      "The field of a turn in which this upstream's chat wire reads what the model thought. Some servers read only the one " +
      "in which they tell it.",
  }),
  efforts: z.array(z.enum(EFFORTS)).meta({
    description:
      "The levels of reasoning effort that the model knows: what a client asks for is moved to the nearest. " +
      "An empty list for a model that knows none. What is known of the model's family counts where this is absent; of an " +
      "unknown one it is passed on as it came.",
  }),
  textForms: z.enum(["parse", "leave"]).meta({
    description:
      "What becomes of calls of tools and of reasoning that stand in the text of a chat answer, in the model's own form. " +
      "With parse they are told as calls and as reasoning: for servers that do not know the model's form. With leave they " +
      "stay text. What an alias says goes before what its upstream says.",
  }),
  cacheControl: z.enum(["pass", "drop"]).meta({
    description:
      "What becomes of cache_control, the hint where a prefix ends that is worth keeping, on the way from a client of " +
      "another protocol to an upstream that speaks chat. With pass it goes to texts, results of tools, tools and the " +
      "request itself: for services that keep prefixes only where they are told to. Most keep them by themselves.",
  }),
  structuredOutput: z.enum(["native", "instruct"]).meta({
    description:
      "How a model is told that its answer is to be JSON, of a schema perhaps. With native, by the field that the " +
      "upstream's protocol has for it. With instruct, in words: for servers that pass over the field. What comes back is " +
      "then checked, and asked for once more where it does not fit. What an alias says goes before what its upstream says.",
  }),
  counter: z.enum(COUNTERS).meta({
    description:
      "The endpoint with which this upstream counts the tokens of a request, by the last step of its path: clients that " +
      "ask for a count then get the upstream's own. Where this is absent it is not asked, and the gateway counts.",
  }),
  repairArguments: z.boolean().meta({
    description:
      "Whether arguments of calls that are not JSON are repaired where there is one way to read them (single quotes, a " +
      "comma too many, True and None, names without quotes) and the result fits the tool's schema. A stream then tells the " +
      "arguments of a call in one piece. What an alias says goes before what its upstream says.",
  }),
  defaultMaxTokens: z.int().min(1).meta({
    description:
      "The limit of an answer, in tokens, that is sent where the upstream's protocol requires one and the client sets none: " +
      "at messages upstreams. Without it, the model's maxOutputTokens and what its contextLength leaves; where neither is " +
      "known, 32000. Where an upstream finds it too much and says what there is room for, it is asked once more. What an " +
      "alias says goes before what its upstream says.",
  }),
  scores: z.enum(["as-they-are", "sigmoid"]).meta({
    description:
      "What clients get as relevance scores. With sigmoid, scores that are not between 0 and 1 are made so, in the same " +
      "order: for servers that give raw logits.",
  }),
};

const quirksSchema = z.object(quirkFields).partial();

/** Those, and what only a catalog knows of a place. */
export interface Quirks extends Readonly<z.output<typeof quirksSchema>> {
  /** Its own word for each format of speech that it makes; it makes all of the wire's where absent. */
  speechFormats?: Readonly<Partial<Record<SpeechFormat, string>>>;
  /** Whether it refuses to speak where no voice is named. */
  needsVoice?: boolean;
}

/** The quirks that only some drivers read. */
export const OWN_QUIRKS = ["cacheControl", "dialect", "reasoningField", "textForms"] as const;
export type OwnQuirk = typeof OWN_QUIRKS[number];
