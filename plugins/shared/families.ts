/**
 * Differences between model families, as data shared by several wires. A family has the same levels on every wire. Spellings
 * specific to one wire are in that wire's folder.
 */
import { BoundedMap } from "../../src/util/bounded_map.ts";
import type { IdRule } from "../../src/contract/intake.ts";
import type { Effort, GenerateRequest, Thinking } from "../../src/canonical/generate.ts";
import { clampThinking } from "../../src/transforms/thinking.ts";
import type { Target } from "../../src/contract/driver.ts";

/** How a request controls a family's thinking. With neither levels nor a toggle, it cannot. */
export interface Family {
  /** Matches the names of its models. */
  names: RegExp;
  /** The levels that it supports. They include `none` if that switches thinking off. */
  levels?: readonly Effort[];
  /** Whether thinking is switched off, and without levels on, apart from the levels. */
  toggle?: true;
  /** Its chat template's names for the toggle, a level, and little thinking, if they are not `reasoning_effort`. */
  variables?: {
    toggle?: "enable_thinking" | "thinking";
    level?: "reasoning_strength";
    little?: "low_effort";
  };
  /** The word for on, where hosts have one that is not `enabled`. */
  on?: "adaptive";
  /** The chat wire's field for the answer limit, if it is not `max_tokens`. */
  limit?: "max_completion_tokens";
  /** Fields that its hosts reject with an error. */
  refuses?: readonly string[];
}

const ENABLE_THINKING = { toggle: true, variables: { toggle: "enable_thinking" } } as const;
const NEW_LIMIT = { limit: "max_completion_tokens" } as const;
/** These models accept no sampling parameters. */
const OWN_SAMPLING = { refuses: ["temperature", "top_p", "presence_penalty", "frequency_penalty"] } as const;
const THINKING = { toggle: true, variables: { toggle: "thinking" } } as const;

/** The first match counts. What applies to a single host belongs in its configuration. */
const FAMILIES: readonly Family[] = [
  { names: /\bgpt-?oss/i, levels: ["low", "medium", "high"] },
  { names: /^(openai\/)?o[134]\b/i, levels: ["low", "medium", "high"], ...NEW_LIMIT, ...OWN_SAMPLING },
  {
    names: /^(openai\/)?gpt-5(?!\.|-chat)/i,
    levels: ["minimal", "low", "medium", "high"],
    ...NEW_LIMIT,
    ...OWN_SAMPLING,
  },
  // Without thinking, these accept a temperature.
  { names: /^(openai\/)?gpt-5\.1(?!\d|-chat|-codex-max)/i, levels: ["none", "low", "medium", "high"], ...NEW_LIMIT },
  { names: /^(openai\/)?gpt-5\.\d+(?!\d|-chat)/i, levels: ["none", "low", "medium", "high", "xhigh"], ...NEW_LIMIT },
  // Always on.
  { names: /\bqwen-?3\.8.{0,40}2\.4t/i },
  // Its template rejects all other levels.
  { names: /\bqwen-?3\.8/i, levels: ["low", "medium", "xhigh"], ...ENABLE_THINKING },
  // Each either never thinks or always does.
  { names: /\bqwen-?3.{0,40}(coder|instruct|thinking)/i },
  { names: /\bqwen-?3(\.[56])?(?![.\da-z])/i, ...ENABLE_THINKING },
  { names: /\bdeepseek-?v3\.[12]/i, ...THINKING },
  { names: /\bdeepseek-?v4/i, levels: ["none", "low", "high", "max"] },
  // Takes "none" for its most.
  { names: /\bglm-?5\.3/i, levels: ["low", "high", "max"] },
  { names: /\bglm-?5\.2/i, levels: ["high", "max"], ...ENABLE_THINKING },
  { names: /\bglm-?(4\.[5-9]|5(\.[01])?(?![.\d]))/i, ...ENABLE_THINKING },
  // Always on.
  { names: /\bkimi-?k2(-thinking|\.7-code)/i },
  { names: /\bkimi-?k2\.[56]/i, ...THINKING },
  { names: /\bkimi-?k3/i, levels: ["low", "high", "max"] },
  // Always on.
  { names: /\bminimax-?m2/i },
  { names: /\bminimax-?m3\.1-flash/i, levels: ["low", "medium", "high", "max"] },
  { names: /\bminimax-?m3(?!\.)/i, toggle: true, on: "adaptive" },
  { names: /\bgemma-?4/i, ...ENABLE_THINKING },
  { names: /\bnemotron-?3-super/i, toggle: true, variables: { toggle: "enable_thinking", little: "low_effort" } },
  { names: /\bnemotron-?3/i, ...ENABLE_THINKING },
  { names: /\bmistral-(small-4|medium-3\.5)(?!\d)/i, levels: ["none", "high"] },
  // Steered by its instructions alone.
  { names: /\bmagistral/i },
  { names: /\bcommand-a(\+|-plus|-reasoning)/i, levels: ["none", "high"] },
  { names: /\bstep-3\.7-flash/i, levels: ["low", "medium", "high"] },
  { names: /\bhy-?3\b/i, levels: ["none", "low", "high"] },
  { names: /\bmimo-?v2\.5/i, ...ENABLE_THINKING },
  { names: /\bmuse-glimmer/i, levels: ["low", "medium", "high"], variables: { level: "reasoning_strength" } },
];

/**
 * A request's thinking, limited to the levels of its model's family. It stays as it is if those are not known, or if the
 * configuration lists levels.
 */
export function fitThinking(
  { model: alias, thinking }: GenerateRequest,
  { model, efforts }: Target,
  note: (text: string) => void,
): Thinking | undefined {
  const family = familyOf(model) ?? familyOf(alias);
  return efforts || !family?.levels ? thinking : clampThinking(thinking, levelsOf(family), note);
}

export function levelsOf({ levels = [], toggle }: Family): readonly Effort[] {
  return toggle ? ["none", ...levels] : levels;
}

/** The families of the models that are asked for. The models are few, and each request looks for its own several times. */
const known = new BoundedMap<string, { family?: Family }>(256);
/** Longer names are not remembered. */
const LONGEST_KNOWN = 256;

export function familyOf(name: string): Family | undefined {
  const found = known.get(name) ?? { family: FAMILIES.find(({ names }) => names.test(name)) };
  if (name.length <= LONGEST_KNOWN && !known.has(name)) known.set(name, found);
  return found.family;
}

const OPENAI = /^(openai\/)?(gpt-(?!oss)|o\d|chatgpt|codex)/i;

/** Whether the model is one of the vendor's that made the chat and the responses wires. */
export function isOpenAi(model: string): boolean {
  return OPENAI.test(model);
}

/**
 * The ids of calls that servers of open models take. LiteLLM keeps what a model thought in the id of its call, however long
 * that is, and reads it there again.
 */
export const ANY_ID: IdRule = { taken: /^.{1,64}$|__thought__/s, length: 64 };
