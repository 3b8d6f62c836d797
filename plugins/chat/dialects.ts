/** How a request says to hosts whether and how much to think: each in its own way, as data. */
import type { Effort } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Quirks } from "../../src/contract/quirks.ts";
import type { Target } from "../../src/contract/driver.ts";
import type { Family } from "../shared/families.ts";

export interface Dialect {
  /** Switches thinking on or off; nothing where there is no way to say that of the family. */
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
export function dialectOf({ model, dialect = "router" }: Pick<Target, "model" | "dialect">): Dialect {
  const [, provider = ""] = /\/[^/:]+:([\w-]+)$/.exec(model) ?? [];
  const isPinned = dialect === "router" && Object.hasOwn(OF_PROVIDER, provider);
  return isPinned ? OF_PROVIDER[provider]! : DIALECTS[dialect];
}
