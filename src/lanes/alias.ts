/** The lane's own names for models, as the configuration has them. */
import { withoutNulls } from "../canonical/json.ts";
import { INPUT_OF, type ModelInfo } from "../canonical/models.ts";
import type { Quirks } from "../contract/quirks.ts";
import type { Alias } from "../config/lane_schema.ts";

/** By alias, for as long as its configuration is in use. */
const quirks = new WeakMap<Alias, Quirks>();

/** What the alias says of its model goes before what its upstream says. */
export function quirksOf(alias: Alias): Quirks {
  let known = quirks.get(alias);
  if (!known) quirks.set(alias, known = readQuirks(alias));
  return known;
}

function readQuirks(alias: Alias): Quirks {
  const { voices, efforts, textForms, structuredOutput, repairArguments, defaultMaxTokens } = alias;
  return withoutNulls({ voices, efforts, textForms, structuredOutput, repairArguments, defaultMaxTokens });
}

/** Agents write `[1m]` after a model's name to ask for a window of a million tokens, and some leave it there. */
export function withoutWindow(model: string): string {
  return model.endsWith("]") ? model.replace(/(?<=.)\[1m\]$/i, "") : model;
}

export function describe(id: string, alias: Alias, created: number): ModelInfo {
  const { task, ownedBy, displayName, contextLength, maxOutputTokens, inputModalities, efforts, targets } = alias;
  const owner = ownedBy ?? targets[0]?.model.split("/").at(-2) ?? targets[0]?.upstream ?? "";
  const info = { id, task, created, ownedBy: owner, displayName, contextLength, maxOutputTokens, efforts };
  return { ...info, inputModalities: inputModalities ?? INPUT_OF[task] };
}
