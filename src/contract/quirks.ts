/** The ways in which an upstream or model accepts less than its wire allows, or uses its own spelling. */
import { z } from "zod";
import type { SpeechFormat } from "../canonical/audio.ts";
import { EFFORTS } from "../canonical/generate.ts";

/** The servers' endpoints for token counts, by the last segment of their paths. */
export const COUNTERS = ["count_tokens", "input_tokens", "tokenize", "chat_tokenize"] as const;
export type Counter = typeof COUNTERS[number];

/** How servers of one wire are asked whether and how much to think. */
export const DIALECTS = [
  "router",
  "template",
  "template-args",
  "reasoning",
  "reasoning-object",
  "thinking",
  "enable-thinking",
] as const;

/** How servers are asked to go on with the last turn of the assistant. */
export const PREFILLS = ["turn", "continue-final-message", "prefix", "repeated-prefix", "partial"] as const;

/** How servers are asked to continue texts. */
export const COMPLETIONS = ["plain", "suffix", "beta", "fim", "infill", "generate", "chat", "off"] as const;
export type Completions = typeof COMPLETIONS[number];

/** How servers are asked for decisions. */
export const DECISIONS = [
  "list",
  "plain-list",
  "list-by-id",
  "systemone",
  "systemone-at-decisions",
  "logprobs",
  "schema",
  "tool",
  "off",
] as const;
export type Decisions = typeof DECISIONS[number];

/** The quirks that can be configured for an upstream, a model or both. Each description says what the default is. */
export const quirkFields = {
  batch: z.int().min(1).meta({
    description:
      "The most texts in one request for embeddings, or for scores with the drivers tei and hub. Longer lists " +
      "are sent as several requests. By default the driver's own limit.",
  }),
  voices: z.record(z.string().min(1), z.string().min(1)).meta({
    description: "For speech: the model's own voice for each name that clients use. * stands for all other names.",
    examples: [{ "alloy": "tara", "*": "leo" }],
  }),
  dialect: z.enum(DIALECTS).meta({
    description:
      "How this upstream is asked whether and how much to think. With router, only by reasoning_effort, or in " +
      "the way of the provider that the model's name is pinned to. Otherwise levels go into reasoning_effort, " +
      "and on and off into another field: with template into chat_template_kwargs (servers that render the chat " +
      "template themselves), with template-args into chat_template_args, with reasoning into " +
      "reasoning.enabled, with thinking into thinking.type, with enable-thinking into enable_thinking. With " +
      "reasoning-object both go into reasoning.",
  }),
  reasoningField: z.enum(["reasoning_content", "reasoning"]).meta({
    description:
      "The field of a turn in which this upstream reads earlier reasoning. Some servers read only the field that " +
      "they send.",
  }),
  efforts: z.array(z.enum(EFFORTS)).meta({
    description:
      "The levels of reasoning effort that the model supports: a request gets the nearest one. An empty list " +
      "means none. By default those of the model's family; for an unknown family the level is passed on.",
  }),
  textForms: z.enum(["parse", "auto", "leave"]).meta({
    description: "How to handle tool calls and reasoning that a model writes into the text of its answer in its own " +
      "notation. With parse, they become tool calls and reasoning, for servers that do not know the notation. " +
      "With auto, they do so only if the request offers tools, the model is of a known family, and the text " +
      "begins with a form of that family. With leave, they stay text. An alias overrides its upstream.",
  }),
  cacheControl: z.enum(["pass", "drop"]).meta({
    description:
      "What to do with cache hints (cache_control) from a client of another protocol to an upstream that speaks " +
      "chat. With pass, they are set on texts, tool results, tools and the request itself, for services that " +
      "cache prefixes only on request. Most cache them anyway.",
  }),
  structuredOutput: z.enum(["native", "instruct"]).meta({
    description:
      "How a model is asked for JSON. With native, by the field of the upstream's protocol. With instruct, by " +
      "an instruction in the prompt, for servers that ignore the field. The answer is then checked against the " +
      "schema, and requested once more if it does not match. An alias overrides its upstream.",
  }),
  counter: z.enum(COUNTERS).meta({
    description:
      "The last part of the path of this upstream's endpoint for token counts, which clients then get. Without " +
      "it, the gateway counts.",
  }),
  repairArguments: z.boolean().meta({
    description:
      "Whether tool arguments that are not JSON are repaired, if there is only one way to read them (single " +
      "quotes, a trailing comma, True and None, unquoted names) and the result matches the tool's schema. A " +
      "stream then has the arguments of a call in one piece. An alias overrides its upstream.",
  }),
  defaultMaxTokens: z.int().min(1).meta({
    description:
      "The max_tokens to send if the upstream's protocol requires it and the client sets none: at messages " +
      "upstreams. By default the model's maxOutputTokens and what its contextLength leaves; if neither is " +
      "known, 32000. If an upstream refuses the limit and says how much room there is, the request is sent once " +
      "more. An alias overrides its upstream.",
  }),
  hostedTools: z.enum(["gateway", "upstream", "off"]).meta({
    description:
      "Who runs tools such as web search: the gateway, this upstream, or nobody. By default the upstream, if it " +
      "speaks the tool's protocol and does not refuse the tool (see refuses), and otherwise the gateway, if " +
      "hostedTools configures the tool. An alias overrides its upstream.",
  }),
  prefill: z.enum(PREFILLS).meta({
    description:
      "How this upstream is asked to go on with an answer that broke off, as the last turn of the assistant. With " +
      "turn, that turn is enough. With continue-final-message, by continue_final_message beside it. With prefix and " +
      "partial, by that field of the turn; with repeated-prefix, the server then repeats the turn.",
  }),
  completions: z.enum(COMPLETIONS).meta({
    description:
      "How this upstream or model continues texts and fills gaps. With plain, at completions, where a gap is written with " +
      "the marks of the model's family; with suffix, the server takes the text after the gap there, with beta at " +
      "beta/completions. With fim at fim/completions; with infill at completions, and for gaps at infill beside the base " +
      "URL; with generate at api/generate beside the base URL. With chat, a chat model is asked in words; with off, not at " +
      "all. By default plain at chat upstreams, off elsewhere. An alias overrides its upstream.",
  }),
  fillTemplate: z.string().regex(
    /^(?=.*\{prefix\})(?=.*\{suffix\})/s,
    "Expected a text with {prefix} and {suffix}",
  ).meta({
    description:
      "How a gap is written for a model whose family is not known, with the marks that the model was trained with. An alias " +
      "overrides its upstream.",
    examples: ["<PRE>{prefix}<SUF>{suffix}<MID>"],
  }),
  decisions: z.enum(DECISIONS).meta({
    description:
      "How this upstream or model answers questions with probabilities. With list at decisions, with plain-list if it takes " +
      "texts only, with list-by-id if questions have ids. With systemone at systemone, with systemone-at-decisions in that " +
      "shape at decisions. With logprobs, a chat model is asked each question, and its first token's log probabilities are " +
      "read; with schema or tool, it chooses, and no probability is measured; with off, not at all. By default logprobs at " +
      "chat upstreams, list at decisions upstreams, schema at others with conversations. An alias overrides its upstream.",
  }),
  scores: z.enum(["as-they-are", "sigmoid"]).meta({
    description:
      "How relevance scores are returned. With sigmoid, scores outside 0 to 1 are mapped into that range, in " +
      "the same order: for servers that return raw logits.",
  }),
};

export const quirksSchema = z.object(quirkFields).partial();

/** The configurable quirks, and those that only a catalog knows. */
export interface Quirks extends Readonly<z.output<typeof quirksSchema>> {
  /** The model's own name for each speech format that it supports. If absent, it supports all formats of the wire. */
  speechFormats?: Readonly<Partial<Record<SpeechFormat, string>>>;
  /** Whether a model for images only draws new ones, or only changes given ones. Absent if that is not known. */
  draws?: "new" | "changed";
  /** Whether it refuses requests for speech that name no voice. */
  needsVoice?: boolean;
}

/** The quirks that only some drivers read. */
export const OWN_QUIRKS = ["cacheControl", "dialect", "prefill", "reasoningField", "textForms"] as const;
export type OwnQuirk = typeof OWN_QUIRKS[number];
