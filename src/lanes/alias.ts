/** The lane's own names for models, from the configuration. */
import { withoutNulls } from "../canonical/json.ts";
import { INPUT_OF, type ModelInfo } from "../canonical/models.ts";
import { type Quirks, quirksSchema } from "../contract/quirks.ts";
import type { Alias } from "../config/lane_schema.ts";

/** By alias, for as long as its configuration is in use. */
const quirks = new WeakMap<Alias, Quirks>();

/** The quirks of an alias, which take precedence over those of its upstream. */
export function quirksOf(alias: Alias): Quirks {
  let known = quirks.get(alias);
  if (!known) quirks.set(alias, known = withoutNulls(quirksSchema.parse(alias)));
  return known;
}

/** Agents append `[1m]` to a model's name to request a window of a million tokens, and some leave it in the request. */
export function withoutWindow(model: string): string {
  return model.endsWith("]") ? model.replace(/(?<=.)\[1m\]$/i, "") : model;
}

export function describe(id: string, alias: Alias, created: number): ModelInfo {
  const { task, ownedBy, displayName, contextLength, maxOutputTokens, inputModalities, efforts, targets } = alias;
  const owner = ownedBy ?? targets[0]?.model.split("/").at(-2) ?? targets[0]?.upstream ?? "";
  const info = { id, task, created, ownedBy: owner, displayName, contextLength, maxOutputTokens, efforts };
  return { ...info, inputModalities: inputModalities ?? INPUT_OF[task] };
}
