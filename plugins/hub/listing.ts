import { isJsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { INPUT_OF, type ModelInfo } from "../../src/canonical/models.ts";
import type { Call, Reply } from "../../src/contract/call.ts";
import { GatewayError } from "../../src/errors.ts";
import { isHubId, readFound } from "./places.ts";

/** The kinds of model that are listed: those of every task but chat, which the router lists itself. */
const PIPELINE_TAGS = [
  "feature-extraction",
  "sentence-similarity",
  "text-ranking",
  "text-to-speech",
  "automatic-speech-recognition",
  // Among many others it holds the rerankers that are tagged as classifiers.
  "text-classification",
];

/** What is listed of each model. Tags are long, and only of classifiers they say more than the kind does. */
const FIELDS = ["inferenceProviderMapping", "pipeline_tag", "createdAt"];
const FIELDS_OF_CLASSIFIERS = [...FIELDS, "tags", "library_name"];

/** One call for each listed kind of model. */
export function listingCalls(): Call[] {
  return PIPELINE_TAGS.map((tag) => {
    const fields = tag === "text-classification" ? FIELDS_OF_CLASSIFIERS : FIELDS;
    const expand = fields.map((field) => `&expand[]=${field}`).join("");
    return { path: `api/models?inference_provider=all&pipeline_tag=${tag}&limit=1000${expand}` };
  });
}

/**
 * The call for the next page, which the header `link` names. Only the query of its URL is taken: whatever host it is on, the
 * page is asked of the hub that the configuration names.
 */
export function nextPage({ headers, body }: Reply): Call | undefined {
  const [, link] = /<([^>]*)>[^,<]*;\s*rel="?next\b/i.exec(headers.get("link") ?? "") ?? [];
  if (link === undefined || !Array.isArray(body) || body.length === 0) return undefined;
  const [, query] = /\/api\/models(\?[^#]+)/.exec(link) ?? [];
  return query === undefined ? undefined : { path: `api/models${query}` };
}

/** The models of the pages, but for those that no live provider serves by a route of ours. */
export function parseListing(replies: Reply[]): ModelInfo[] {
  const models = replies.flatMap(({ body }) => {
    if (!Array.isArray(body)) throw new GatewayError("upstream_error", "The hub's answer is not a list of models");
    return body.flatMap((entry: JsonValue) => parseModel(entry) ?? []);
  });
  if (models.length === 0) throw new GatewayError("upstream_error", "The hub lists no model that can be read");
  return models;
}

function parseModel(entry: JsonValue): ModelInfo | undefined {
  if (!isJsonObject(entry) || !isHubId(entry.id)) return undefined;
  const { id, createdAt } = entry;
  const [place] = readFound(id, entry).targets;
  if (!place) return undefined;
  const created = typeof createdAt === "string" ? Math.floor(Date.parse(createdAt) / 1000) : 0;
  return {
    id,
    task: place.task,
    created: created > 0 ? created : 0,
    ownedBy: id.split("/")[0]!,
    inputModalities: INPUT_OF[place.task],
  };
}
