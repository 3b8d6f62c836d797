/** The model hub: its router for chat models, its listings and pages for all other models, and the providers that run those. */
import type { Catalog, TokenizerCalls } from "../../src/contract/catalog.ts";
import type { Driver } from "../../src/contract/driver.ts";
import { drawAt, pictureDrivers } from "./draw.ts";
import { falDriver } from "./fal.ts";
import { finder, split } from "./finder.ts";
import { inferenceDriver } from "./inference.ts";
import { listingCalls, nextPage, parseListing } from "./listing.ts";
import { parseModelList } from "./models.ts";
import { replicateDriver } from "./replicate.ts";
import { teiDriver } from "./tei.ts";
import { pathOf } from "./paths.ts";
import { isHubId } from "./places.ts";

/** For people who have no token yet. */
export const hub = { title: "Hugging Face", keysAt: "https://huggingface.co/settings/tokens" };

/** The chat models of the hub's router. One call lists them all, without a token. */
export const routerCatalog: Catalog = {
  name: "router",
  listing: () => [{ path: "models" }],
  parseListing: ([reply]) => parseModelList(reply?.body),
  hasPrices: true,
};

/** The hub's models of all other tasks, and the providers of each. */
export const hubCatalog: Catalog = {
  name: "hub",
  listing: listingCalls,
  next: nextPage,
  parseListing,
  tokenizerFiles,
  finder,
};

/** A driver that also draws pictures. */
function drawing(driver: Driver, provider: "hub" | "fal" | "replicate"): Driver {
  return { ...driver, operations: { ...driver.operations, draw: drawAt(provider) } };
}

export const hubDrivers: readonly Driver[] = [
  drawing(inferenceDriver, "hub"),
  teiDriver,
  drawing(falDriver, "fal"),
  drawing(replicateDriver, "replicate"),
  ...pictureDrivers,
];

/** The calls for a repository's tokenizer files. A name without an owner is not a repository of the hub. */
function tokenizerFiles(model: string): TokenizerCalls | undefined {
  const { id } = split(model);
  if (!isHubId(id) || !id.includes("/")) return undefined;
  const at = (file: string) => ({ path: `${pathOf(id)}/resolve/main/${file}` });
  return {
    vocabulary: at("tokenizer.json"),
    settings: at("tokenizer_config.json"),
    template: at("chat_template.jinja"),
  };
}
