import { isJsonObject } from "../../src/canonical/json.ts";
import type { Finder } from "../../src/contract/catalog.ts";
import { GatewayError } from "../../src/errors.ts";
import { upstreamError, upstreamMessage } from "../shared/errors.ts";
import { isHubId, OWN_ENGINE, placeAt, preferredProviders, readFound } from "./places.ts";

const FIELDS = ["inferenceProviderMapping", "pipeline_tag", "tags", "library_name"];
const QUERY = FIELDS.map((field) => `expand[]=${field}`).join("&");

/**
 * Finds the providers of a model by the hub's own page about it. A name may end in a policy (`org/model:policy`): `preferred`
 * for the order of the hub's mapping, which is the token owner's; a provider's name for that one alone. For `fastest` and
 * `cheapest` the hub publishes figures of chat models only, so for others they mean what no policy means.
 */
export const finder: Finder = {
  lookup(name) {
    const { id } = split(name);
    if (!isHubId(id)) {
      throw new GatewayError("model_not_found", `Cannot find model "${name}": No model has such a name`, {
        param: "model",
      });
    }
    return { path: `api/models/${id}?${QUERY}` };
  },

  parse(reply) {
    const { status, headers, body } = reply;
    if (status === 404) return undefined;
    if (status === 401) {
      // The hub tells a stranger the same of a private repository as of a missing one. A bad token it names.
      const text = `${headers.get("x-error-message") ?? ""} ${upstreamMessage(body)}`;
      if (!text.includes("Invalid credentials")) return undefined;
    }
    if (status !== 200) throw upstreamError(reply);
    if (!isJsonObject(body) || !isHubId(body.id)) {
      throw new GatewayError("upstream_error", "The hub's answer is not about a model");
    }
    return readFound(body.id, body);
  },

  choose({ targets: places }, name, task) {
    const { policy } = split(name);
    const serving = places.filter((place) => place.task === task);
    if (policy === "preferred") return serving;
    if (!isByPreference(policy)) return serving.filter(({ provider }) => provider === policy);
    return preferredProviders(task).flatMap((preferred) => serving.filter(({ provider }) => provider === preferred));
  },

  guess(name, task) {
    const { id, policy } = split(name);
    const isAny = isByPreference(policy) || policy === "preferred";
    return isHubId(id) ? [placeAt(isAny ? OWN_ENGINE : policy, task, id)].filter((place) => place !== undefined) : [];
  },
};

function isByPreference(policy: string | undefined): policy is undefined | "fastest" | "cheapest" {
  return policy === undefined || policy === "fastest" || policy === "cheapest";
}

/** A policy follows the last colon of a name; the names of models have none. */
export function split(name: string): { id: string; policy?: string } {
  const [, id, policy] = /^(.*):([^:]+)$/.exec(name) ?? [];
  return id === undefined ? { id: name } : { id, policy };
}
