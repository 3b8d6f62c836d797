/** The model hub: its router for chat models, its listings and pages for all others, and what runs those. */
import type { Catalog, TokenizerCalls } from "../../src/contract/catalog.ts";
import type { Driver } from "../../src/contract/driver.ts";
import { falDriver } from "./fal.ts";
import { finder, split } from "./finder.ts";
import { inferenceDriver } from "./inference.ts";
import { listingCalls, nextPage, parseListing } from "./listing.ts";
import { parseModelList } from "./models.ts";
import { replicateDriver } from "./replicate.ts";
import { teiDriver } from "./tei.ts";
import { pathOf } from "./paths.ts";
import { isHubId } from "./places.ts";

/** The models that the hub's router chats with. One call lists them all, and needs no token. */
export const routerCatalog: Catalog = {
  name: "router",
  listing: () => [{ path: "models" }],
  parseListing: ([reply]) => parseModelList(reply?.body),
  hasPrices: true,
};

/** The hub's models of all other tasks, and where each of them is. */
export const hubCatalog: Catalog = {
  name: "hub",
  listing: listingCalls,
  next: nextPage,
  parseListing,
  tokenizerFiles,
  finder,
};

export const hubDrivers: readonly Driver[] = [inferenceDriver, teiDriver, falDriver, replicateDriver];

/** Where a repository has its tokenizer. What has no owner is a name that some server of its own has given. */
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
