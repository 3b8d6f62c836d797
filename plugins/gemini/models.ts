import type { ModelInfo, Task } from "../../src/canonical/models.ts";
import type { JsonObject } from "../../src/canonical/json.ts";

/** The methods of this wire for the models of each task. */
const METHODS_OF: Record<Task, readonly string[]> = {
  chat: ["generateContent", "streamGenerateContent", "countTokens"],
  embedding: ["embedContent", "batchEmbedContents"],
  rerank: [],
  speech: [],
  transcription: [],
  image: [],
};

export function serializeModel(model: ModelInfo): JsonObject {
  const { id, task, displayName, contextLength, maxOutputTokens, efforts = [] } = model;
  return {
    name: `models/${id}`,
    version: "",
    displayName: displayName ?? id,
    ...(contextLength !== undefined && { inputTokenLimit: contextLength }),
    ...(maxOutputTokens !== undefined && { outputTokenLimit: maxOutputTokens }),
    supportedGenerationMethods: [...METHODS_OF[task]],
    ...(efforts.length > 0 && { thinking: true }),
  };
}

/** One page of `pageSize` entries from the position `pageToken` on. Without a size, all remaining entries are one page. */
export function serializeModelList(models: readonly ModelInfo[], query: URLSearchParams): JsonObject {
  const start = wholeIn(query, "pageToken") ?? 0;
  const end = start + (wholeIn(query, "pageSize") || models.length);
  return {
    models: models.slice(start, end).map(serializeModel),
    ...(end < models.length && { nextPageToken: String(end) }),
  };
}

function wholeIn(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name) ?? "";
  return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}
