/** Reads the models that a server lists at `GET models`, in the shape of any conversational wire. */
import { asCount, isCount, isJsonObject, isText, type JsonObject } from "../../src/canonical/json.ts";
import { MODALITIES, type ModelInfo } from "../../src/canonical/models.ts";
import type { Catalog } from "../../src/contract/catalog.ts";
import { GatewayError } from "../../src/errors.ts";

const LONGEST_ID = 512;

/** Servers of the messages wire require this version, and list page by page. Other servers need neither. */
const HEADERS = { "anthropic-version": "2023-06-01" };

export const serverModels: Catalog = {
  name: "server",
  listing: () => [{ path: "models", headers: HEADERS }],
  next({ body }) {
    if (!isJsonObject(body) || body.has_more !== true || typeof body.last_id !== "string") return undefined;
    return { path: `models?after_id=${encodeURIComponent(body.last_id)}`, headers: HEADERS };
  },
  parseListing(replies) {
    return replies.flatMap(({ body }) => {
      const data = isJsonObject(body) ? body.data : body;
      if (!Array.isArray(data)) throw new GatewayError("upstream_error", "The server's answer is not a list of models");
      return data.flatMap((entry) => parseModel(entry) ?? []);
    });
  },
};

function parseModel(entry: unknown): ModelInfo | undefined {
  if (!isJsonObject(entry) || typeof entry.id !== "string" || entry.id === "" || entry.id.length > LONGEST_ID) {
    return undefined;
  }
  const { id, owned_by, display_name } = entry;
  return {
    id,
    task: "chat",
    created: createdOf(entry),
    ownedBy: isText(owned_by) ? owned_by : id.includes("/") ? id.split("/")[0]! : "",
    ...(typeof display_name === "string" && { displayName: display_name }),
    ...countIn("contextLength", entry, CONTEXT_FIELDS),
    ...countIn("maxOutputTokens", entry, OUTPUT_FIELDS),
    ...modalitiesIn(entry),
  };
}

/** Seconds, or a date. */
function createdOf({ created, created_at }: JsonObject): number {
  const seconds = typeof created === "number" ? created : Math.floor(Date.parse(String(created_at)) / 1000);
  return asCount(seconds) ?? 0;
}

/** vLLM and SGLang; OpenRouter; LM Studio; Groq; the messages wire; llama.cpp. */
const CONTEXT_FIELDS = [
  ["max_model_len"],
  ["context_length"],
  ["loaded_context_length"],
  ["max_context_length"],
  ["context_window"],
  ["max_input_tokens"],
  ["meta", "n_ctx"],
];
/** Groq; OpenRouter; the messages wire. */
const OUTPUT_FIELDS = [["max_completion_tokens"], ["top_provider", "max_completion_tokens"], ["max_tokens"]];

function countIn(key: "contextLength" | "maxOutputTokens", entry: JsonObject, fields: readonly string[][]) {
  const count = fields
    .map((path) => path.reduce<unknown>((value, step) => isJsonObject(value) ? value[step] : undefined, entry))
    .find(isCount);
  return count === undefined ? {} : { [key]: count };
}

function modalitiesIn({ architecture }: JsonObject): Pick<ModelInfo, "inputModalities"> {
  const modalities = isJsonObject(architecture) ? architecture.input_modalities : undefined;
  const known = Array.isArray(modalities) ? MODALITIES.filter((modality) => modalities.includes(modality)) : [];
  return known.length > 0 ? { inputModalities: known } : {};
}
