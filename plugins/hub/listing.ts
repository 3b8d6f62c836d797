import { isJsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { INPUT_OF, type ModelInfo } from "../../src/canonical/models.ts";
import type { Call, Reply } from "../../src/contract/call.ts";
import { GatewayError } from "../../src/errors.ts";
import { isHubId, readFound } from "./places.ts";

const IMAGE_TAGS = ["text-to-image", "image-to-image"];

/** The kinds of models that are listed: those of every task except chat, which the router lists itself. */
const PIPELINE_TAGS = [
  "feature-extraction",
  "sentence-similarity",
  "text-ranking",
  "text-to-speech",
  "automatic-speech-recognition",
  ...IMAGE_TAGS,
  // This kind includes the rerankers that are tagged as classifiers.
  "text-classification",
];

/** The listed fields of each model. Tags are long, and only for classifiers do they say more than the kind. */
const FIELDS = ["inferenceProviderMapping", "pipeline_tag", "createdAt"];
const FIELDS_OF_CLASSIFIERS = [...FIELDS, "tags", "library_name"];

/** One call for each listed kind of model. */
export function listingCalls(): Call[] {
  return PIPELINE_TAGS.map((tag) => {
    const fields = tag === "text-classification" ? FIELDS_OF_CLASSIFIERS : FIELDS;
    const expand = fields.map((field) => `&expand[]=${field}`).join("");
    const sort = IMAGE_TAGS.includes(tag) ? "&sort=downloads" : "";
    return { path: `api/models?inference_provider=all&pipeline_tag=${tag}&limit=1000${expand}${sort}` };
  });
}

/**
 * The call for the next page, which the header `link` names. Only the query of its URL is used, so that the page is requested from
 * the configured hub, whatever host the URL has. Most models for images are adapters, tens of thousands of them, which cannot be
 * run here, so only their first page is read. Every model can still be requested by its name.
 */
export function nextPage({ headers, body }: Reply): Call | undefined {
  const [, link] = /<([^>]*)>[^,<]*;\s*rel="?next\b/i.exec(headers.get("link") ?? "") ?? [];
  if (link === undefined || !Array.isArray(body) || body.length === 0) return undefined;
  const [, query] = /\/api\/models(\?[^#]+)/.exec(link) ?? [];
  return query === undefined || IMAGE_TAGS.some((tag) => query.includes(`pipeline_tag=${tag}`))
    ? undefined
    : { path: `api/models${query}` };
}

/** The models of the pages, without those that no live provider serves by a known route. */
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
