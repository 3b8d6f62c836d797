import type { Price } from "../canonical/price.ts";
import type { Place } from "./catalog.ts";
import type { Quirks } from "./quirks.ts";

export type { Price };

/** Where a request goes: a model at an upstream, or at one of the places behind it. */
export interface Destination extends Quirks, Partial<Pick<Place, "provider" | "driver" | "path">> {
  upstream: string;
  model: string;
  /** The model's name with the provider that is to serve it, where the upstream would choose one. */
  pinned?: string;
  /** Whether nothing confirms that it is there. */
  guessed?: true;
  /** What an answer may have there by what is known of the model, in tokens, where the client does not say it. */
  answerRoom?: number;
  /** Absent where the configuration knows none. */
  price?: Price;
  /** Where the model's targets have weights: its own, and what its target is called in the configuration. */
  share?: { of: string; weight: number };
}

/** What the log and clients call a target: `upstream/model`. */
export function targetName({ upstream, provider, model }: Destination): string {
  return provider ? `${upstream}/${provider}/${model}` : `${upstream}/${model}`;
}

/** `org/model:policy` as `org/model`: a policy follows the last colon after the last slash, and is the upstream's affair. */
export function withoutPolicy(model: string): string {
  const colon = model.lastIndexOf(":");
  return colon > model.lastIndexOf("/") && colon < model.length - 1 ? model.slice(0, colon) : model;
}
