import { asObjects, isCount, isJsonObject, isText, type JsonObject } from "../../src/canonical/json.ts";
import { MODALITIES, type Modality, type ModelInfo } from "../../src/canonical/models.ts";
import type { Price } from "../../src/canonical/price.ts";
import { GatewayError } from "../../src/errors.ts";

const LONGEST_ID = 256;
/** A higher price must be in another unit. */
const HIGHEST_PRICE = 100_000;
/** The end of the year 9999: later times have no usual text form. */
const LATEST = 253_402_300_799;

/**
 * The router's list. Of an entry only the id is needed, and an entry that cannot be read is left out; a list without a
 * single model is a failure of the router, not a hub without models.
 */
export function parseModelList(body: unknown): ModelInfo[] {
  if (!isJsonObject(body) || !Array.isArray(body.data)) {
    throw new GatewayError("upstream_error", "The hub's answer is not a list of models");
  }
  const models = body.data.map(parseModel).filter((model) => model !== undefined);
  if (models.length === 0) throw new GatewayError("upstream_error", "The hub lists no model that can be read");
  return models;
}

function parseModel(entry: unknown): ModelInfo | undefined {
  if (!isJsonObject(entry) || !isId(entry.id)) return undefined;
  const { id, created, owned_by } = entry;
  const providers = live(entry.providers);
  return {
    id,
    task: "chat",
    created: isCount(created) && created <= LATEST ? created : 0,
    ownedBy: isText(owned_by) ? owned_by : id.split("/")[0]!,
    contextLength: smallestContext(providers),
    inputModalities: inputModalities(entry.architecture),
    supportsTools: supportsTools(providers),
    ...pricesOf(entry.providers),
  };
}

/** What each provider asks for, where it says it: also of one that cannot serve now, because it may again before the next list. */
function pricesOf(providers: unknown): Pick<ModelInfo, "prices"> {
  const prices = asObjects(providers).flatMap(
    ({ provider, pricing, is_free }): [string, Price][] => {
      if (typeof provider !== "string") return [];
      if (is_free === true) return [[provider, { input: 0, output: 0 }]];
      if (!isJsonObject(pricing)) return [];
      const { input, output } = pricing;
      return isAmount(input) && isAmount(output) ? [[provider, { input, output }]] : [];
    },
  );
  return prices.length > 0 ? { prices: Object.fromEntries(prices) } : {};
}

/** Dollars for a million tokens. */
function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= HIGHEST_PRICE;
}

function isId(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST_ID && /^\S+$/.test(value);
}

/** The providers that can serve now; the router sends nothing to others. */
function live(providers: unknown): JsonObject[] {
  return asObjects(providers).filter(({ status }) => status === "live");
}

/** The smallest context is the safe one, because any provider may get the request. */
function smallestContext(providers: readonly JsonObject[]): number | undefined {
  const lengths = providers.map(({ context_length }) => context_length).filter(isCount);
  return lengths.length === 0 ? undefined : Math.min(...lengths);
}

/** One provider that supports tools is enough: the router sends requests with tools to it. */
function supportsTools(providers: readonly JsonObject[]): boolean | undefined {
  const answers = providers.map(({ supports_tools }) => supports_tools).filter((value) => typeof value === "boolean");
  return answers.length === 0 ? undefined : answers.includes(true);
}

function inputModalities(architecture: unknown): Modality[] | undefined {
  const modalities = isJsonObject(architecture) ? architecture.input_modalities : undefined;
  if (!Array.isArray(modalities)) return undefined;
  const known = MODALITIES.filter((modality) => modalities.includes(modality));
  return known.length === 0 ? undefined : known;
}
