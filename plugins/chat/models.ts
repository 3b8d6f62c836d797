import type { ModelInfo } from "../../src/canonical/models.ts";
import type { JsonObject } from "../../src/canonical/json.ts";

/** A model as the chat shape lists it; what it has beyond the published keys is for people and for newer clients. */
export function serializeModel(model: ModelInfo): JsonObject {
  const { id, task, created, ownedBy, displayName, contextLength, maxOutputTokens } = model;
  return {
    id,
    object: "model",
    created,
    owned_by: ownedBy,
    task,
    display_name: displayName,
    context_length: contextLength,
    max_output_tokens: maxOutputTokens,
    input_modalities: model.inputModalities && [...model.inputModalities],
    supports_tools: model.supportsTools,
  };
}

export function serializeModelList(models: readonly ModelInfo[]): JsonObject {
  return { object: "list", data: models.map(serializeModel) };
}
