/** Tools that the server is to run. This wire has no answer for one that failed: such a request is refused. */
import type { HostedTool } from "../../src/canonical/generate.ts";
import type { HostedWork, SearchWork } from "../../src/canonical/hosted.ts";
import type { HostedToolFields } from "../../src/canonical/hosted_tools.ts";
import { asObject, isJsonObject, type JsonObject, present } from "../../src/canonical/json.ts";
import type { Exchange, WireRequest } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { WIRE } from "./wire.ts";

const SEARCH = "web_search_options";

/** A search of the web is asked for by a field of its own. */
export function toolsBeside({ body }: WireRequest): HostedToolFields | undefined {
  if (!isJsonObject(body) || !isJsonObject(body[SEARCH])) return undefined;
  const options = body[SEARCH];
  const work = searchWork(options, isJsonObject(options.user_location) ? options.user_location.approximate : undefined);
  return { tools: [{ type: "hosted", name: SEARCH, work, extra: { wire: WIRE, fields: { [SEARCH]: options } } }] };
}

/**
 * The work of a tool that the server runs; nothing for those that only its own vendor can run. The vendor of the wire has no
 * such tool: clients write it as a service does that passes requests on to others.
 */
export function workOf({ type, parameters }: JsonObject): HostedWork | undefined {
  if (typeof type !== "string" || !/^[a-z]+:web_search$/.test(type)) return undefined;
  const options = asObject(parameters);
  const { max_uses, allowed_domains, excluded_domains } = options;
  const [allowed, blocked] = [textsIn(allowed_domains), textsIn(excluded_domains)];
  return {
    ...searchWork(options, options.user_location),
    ...(typeof max_uses === "number" && { maxUses: max_uses }),
    ...((allowed || blocked) && { domains: { ...present("allowed", allowed), ...present("blocked", blocked) } }),
  };
}

function searchWork({ search_context_size: size }: JsonObject, where: unknown): SearchWork {
  const { city, region, country, timezone } = asObject(where);
  const location = Object.fromEntries(
    Object.entries({ city, region, country, timezone }).filter(([, value]) => typeof value === "string"),
  );
  return {
    kind: "web-search",
    opensPages: false,
    ...((size === "low" || size === "medium" || size === "high") && { size }),
    ...(Object.keys(location).length > 0 && { location }),
  };
}

function textsIn(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : undefined;
}

export function failTools(tools: readonly HostedTool[], { input }: Exchange<"generate">): never {
  const [first] = tools;
  const isForced = input.toolChoice?.type === "tool";
  const at = input.tools?.findIndex((tool) => tool === first) ?? -1;
  const param = isForced ? "tool_choice" : at < 0 ? SEARCH : `tools[${at}]`;
  const needs = first?.name === SEARCH ? "searches the web" : `runs tool "${first?.name}"`;
  const message = `Cannot serve "${param}": no upstream of model "${input.model}" ${needs}`;
  throw new GatewayError("invalid_request", message, { param });
}
