/** The differences between model families on this wire, as data. */
import type { IdRule } from "../../src/contract/intake.ts";
import type { Effort, GenerateRequest } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { clampThinking, effortOf } from "../../src/transforms/thinking.ts";
import type { Reply } from "../../src/contract/call.ts";
import type { Prefill, Target } from "../../src/contract/driver.ts";
import { ANY_ID, type Family, familyOf, isOpenAi, levelsOf } from "../shared/families.ts";
import { CONTROLS, refusalText } from "../shared/refusals.ts";
import type { Quirks } from "../../src/contract/quirks.ts";
import { BoundedMap } from "../../src/util/bounded_map.ts";

/**
 * The fields of the body that say whether and how much the model is to think. There are none if the request does not say it.
 * If the family is not known, or the configuration lists levels, the request's effort goes out as it is.
 */
export function thinkingFields(
  { model: alias, thinking }: GenerateRequest,
  target: Target,
  note: (text: string) => void,
): JsonObject {
  const { model, efforts } = target;
  const asked = effortOf(thinking);
  const family = factsOf(model).family ?? familyOf(alias);
  const dialect = dialectOf(target);
  if (!asked) return thinking?.enabled && family?.toggle && dialect.toggle?.(true, family) || {};
  const isOn = asked !== "none" && !efforts && family?.toggle && !family.levels;
  if (isOn) return switchOn(asked, family, dialect, note);
  const effort = efforts || !family ? asked : effortOf(clampThinking(thinking, levelsOf(family), note));
  return effort ? levelFields(effort, family, dialect) : {};
}

function levelFields(effort: Effort, family: Family | undefined, dialect: Dialect): JsonObject {
  return effort === "none" && dialect.toggle?.(false, family) || dialect.level(effort, family);
}

/** Thinking that knows no levels. Without a way to say so, it is left as the model has it. */
function switchOn(asked: Effort, family: Family, dialect: Dialect, note: (text: string) => void): JsonObject {
  const isLittle = asked === "minimal" || asked === "low";
  const fields = dialect.toggle?.(true, family, isLittle);
  if (!fields) note(`dropped effort ${asked}`);
  else if (!isLittle || !family.variables?.little || fields.reasoning || fields.thinking) {
    note(`clamped effort ${asked}>on`);
  }
  return fields ?? {};
}

const NAMES_EFFORT = /reasoning[_. ]?effort/i;
/** Words for the toggle, which a server may have made of an effort, and for thinking itself. */
const NAMES_THINKING =
  /chat_template_(kwargs|args)|enable_thinking|reasoning_strength|low_effort|\bnot support(ed)?\b.{0,40}\bthinking\b|\bthinking\b.{0,40}\b(not |un)support/i;
/** Which fields of `thinkingFields` an upstream's refusal is about. */
export function refusedThinkingFields(body: Reply["body"]): string[] {
  const text = refusalText(body);
  if (NAMES_THINKING.test(text)) return [...CONTROLS];
  return NAMES_EFFORT.test(text) ? ["reasoning_effort"] : [];
}

const FIELD = String.raw`\breasoning_(content|details)\b`;
const UNKNOWN = String
  .raw`\b(not (be )?(allowed|permitted|supported|accepted)|(un(supported|known|expected|recognized))|forbidden|extra)\b`;
const NAMES_REASONING = new RegExp(`${FIELD}.{0,120}${UNKNOWN}|${UNKNOWN}.{0,120}${FIELD}`, "i");

/** Whether an upstream's refusal says that it knows no reasoning of earlier turns. */
export function refusesReasoning(body: Reply["body"]): boolean {
  return NAMES_REASONING.test(refusalText(body));
}

/** Families whose hosts answer 400 when earlier reasoning comes back; all others are the better for it. */
const REFUSE_REASONING = /gemma/i;

/** Families whose hosts answer 400 to a turn that called for tools and does not say what was thought, were it nothing. */
const WANT_REASONING = /\b(deepseek|kimi|glm|mimo)/i;

const MISTRAL = /\b(mistral|ministral|magistral|mixtral|codestral|devstral|pixtral|voxtral)/i;

const OWN_ID: IdRule = { taken: /^.{1,40}$/s, length: 40 };
/** Their servers, and their chat templates, refuse every other id. */
const MISTRAL_ID: IdRule = { taken: /^[a-zA-Z0-9]{9}$/, length: 9 };

/** The wants and the refusals of the servers of a model's hosts. */
interface ModelFacts {
  family: Family | undefined;
  /** The ids of calls that they take. */
  callIds: IdRule;
  /** The field in which they take the limit of an answer. */
  limitField: string;
  /** The fields that they refuse, whatever those say. */
  refusedFields: readonly string[];
  /** Whether a turn with calls must say what was thought before them, even if that is nothing. */
  wantsReasoning: boolean;
  /** Whether the model takes back what it thought in earlier turns. */
  takesReasoning: boolean;
}

/** The models are few, and what is known of each takes several patterns. */
const known = new BoundedMap<string, ModelFacts>(256);
/** Longer names are not remembered. */
const LONGEST_KNOWN = 256;

/** `model` is the upstream's name for it. */
export function factsOf(model: string): ModelFacts {
  return known.get(model) ?? findFacts(model);
}

function findFacts(model: string): ModelFacts {
  const family = familyOf(model);
  const facts: ModelFacts = {
    family,
    callIds: isOpenAi(model) ? OWN_ID : MISTRAL.test(model) ? MISTRAL_ID : ANY_ID,
    limitField: family?.limit ?? "max_tokens",
    refusedFields: family?.refuses ?? [],
    wantsReasoning: WANT_REASONING.test(model),
    takesReasoning: !REFUSE_REASONING.test(model),
  };
  if (model.length <= LONGEST_KNOWN) known.set(model, facts);
  return facts;
}

/** How a request says to hosts whether and how much to think: each in its own way, as data. */
interface Dialect {
  /** Switches thinking on or off. `undefined` if the family has no switch. */
  toggle?(on: boolean, family: Family | undefined, isLittle?: boolean): JsonObject | undefined;
  level(effort: Effort, family: Family | undefined): JsonObject;
}

const level = (effort: Effort) => ({ reasoning_effort: effort });

/** By the variables of the model's own chat template. */
function inTemplate(field: string): Dialect {
  return {
    toggle(on, family, isLittle = false) {
      const { toggle, little } = family?.variables ?? {};
      return toggle && { [field]: { [toggle]: on, ...(isLittle && little && { [little]: true }) } };
    },
    level(effort, family) {
      const name = family?.variables?.level;
      return name ? { [field]: { [name]: effort } } : level(effort);
    },
  };
}

const DIALECTS: Record<NonNullable<Quirks["dialect"]>, Dialect> = {
  "router": { level },
  "template": inTemplate("chat_template_kwargs"),
  "template-args": inTemplate("chat_template_args"),
  "reasoning": { toggle: (enabled) => ({ reasoning: { enabled } }), level },
  "reasoning-object": {
    toggle: (enabled) => ({ reasoning: { enabled } }),
    level: (effort) => ({ reasoning: { effort } }),
  },
  "thinking": { toggle: (on, family) => ({ thinking: { type: on ? family?.on ?? "enabled" : "disabled" } }), level },
  "enable-thinking": { toggle: (on) => ({ enable_thinking: on }), level },
};

/** The dialects of providers behind a router that takes the one that the request names. It passes on what it does not know. */
const OF_PROVIDER: Readonly<Record<string, Dialect>> = {
  "together": DIALECTS.reasoning,
  "deepinfra": DIALECTS.reasoning,
  "baseten": DIALECTS["template-args"],
  "zai-org": DIALECTS.thinking,
};

/** `org/model:provider` names the provider. */
function dialectOf({ model, dialect = "router" }: Pick<Target, "model" | "dialect">): Dialect {
  const [, provider = ""] = /\/[^/:]+:([\w-]+)$/.exec(model) ?? [];
  const isPinned = dialect === "router" && Object.hasOwn(OF_PROVIDER, provider);
  return isPinned ? OF_PROVIDER[provider]! : DIALECTS[dialect];
}

/** How a request says to hosts that its last turn is to be continued. */
interface Continued extends Prefill {
  turn?: JsonObject;
  body?: JsonObject;
}

const PREFILLS: Record<NonNullable<Quirks["prefill"]>, Continued> = {
  "turn": { repeats: "perhaps" },
  // Without both fields, servers close the turn, take it for the user's, or repeat it. Builds that do not know them repeat it, too.
  "continue-final-message": {
    body: { continue_final_message: true, add_generation_prompt: false },
    repeats: "perhaps",
  },
  "prefix": { turn: { prefix: true } },
  "repeated-prefix": { turn: { prefix: true }, repeats: "always" },
  "partial": { turn: { partial: true } },
};

/** How the target continues a turn, if it is known to do so. */
export function prefillOf({ prefill }: Target, { outputSchema }: GenerateRequest): Prefill | undefined {
  // The hosts that know this field refuse it beside a format.
  return prefill === undefined || (prefill === "partial" && outputSchema) ? undefined : PREFILLS[prefill];
}

/** Marks the last turn of the body as one to be continued. */
export function markUnfinished(body: JsonObject, { prefill = "turn" }: Target): JsonObject {
  const { turn, body: fields } = PREFILLS[prefill];
  const turns = body.messages as JsonObject[];
  return { ...body, messages: [...turns.slice(0, -1), { ...turns.at(-1), ...turn }], ...fields };
}
