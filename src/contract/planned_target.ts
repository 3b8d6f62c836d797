import type { Price } from "../canonical/price.ts";
import type { ProviderTarget } from "./catalog.ts";
import type { Quirks } from "./quirks.ts";

export type { Price };

/** Where a request is sent: a model at an upstream, or at one of the providers behind it. */
export interface PlannedTarget extends Quirks, Partial<Pick<ProviderTarget, "provider" | "driver" | "path">> {
  upstream: string;
  model: string;
  /** The model's name with the provider that must serve it, if the upstream would otherwise choose one. */
  pinned?: string;
  /** Whether this location is a guess that nothing confirms. */
  guessed?: true;
  /** How many tokens the answer may have, from the model's known limits, if the client sets no limit. */
  answerRoom?: number;
  /** Absent if the configuration has no price. */
  price?: Price;
  /** This target's weight and its name in the configuration, if the model's targets have weights. */
  share?: { of: string; weight: number };
}

/** The target's name in the log and for clients: `upstream/model`. */
export function targetName({ upstream, provider, model }: PlannedTarget): string {
  return provider ? `${upstream}/${provider}/${model}` : `${upstream}/${model}`;
}

/**
 * `org/model:policy` without the policy, which follows the last colon after the last slash. Only the upstream
 * interprets it.
 */
export function withoutPolicy(model: string): string {
  const colon = model.lastIndexOf(":");
  return colon > model.lastIndexOf("/") && colon < model.length - 1 ? model.slice(0, colon) : model;
}
