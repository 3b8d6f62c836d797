import type { ModelInfo } from "../../src/canonical/models.ts";
import type { JsonObject } from "../../src/canonical/json.ts";

/** The list is restricted to the vendor's own prefixes: clients of this wire show nothing else. */
const PREFIX = /^(claude|anthropic)/i;

/** `display_name` is never null: Claude Code refuses the whole list over one. */
export function serializeModel(model: ModelInfo): JsonObject {
  const { id, task, created, displayName, contextLength, maxOutputTokens, inputModalities } = model;
  return {
    type: "model",
    id,
    display_name: displayName ?? id,
    created_at: new Date(created * 1000).toISOString(),
    max_input_tokens: contextLength ?? null,
    max_tokens: maxOutputTokens ?? null,
    task,
    input_modalities: inputModalities && [...inputModalities],
  };
}

/** One page: `limit` entries after `after_id`, or before `before_id`. Without a limit all that is left is one page. */
export function serializeModelList(models: readonly ModelInfo[], query: URLSearchParams): JsonObject {
  const own = models.filter(({ id }) => PREFIX.test(id));
  const positionOf = (name: string) => own.findIndex(({ id }) => id === query.get(name));
  const after = query.has("after_id") ? positionOf("after_id") + 1 : 0;
  const before = query.has("before_id") ? positionOf("before_id") : -1;
  const rest = own.slice(after, before === -1 ? undefined : before);
  const limit = Math.max(1, Math.floor(Number(query.get("limit")) || rest.length));
  const page = before === -1 ? rest.slice(0, limit) : rest.slice(-limit);
  return {
    data: page.map(serializeModel),
    has_more: page.length < rest.length,
    first_id: page.at(0)?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}
