/** The model hub: its router for chat models, its listings and pages for all others, and what runs those. */
import type { Catalog } from "../../src/contract/catalog.ts";
import type { Driver } from "../../src/contract/driver.ts";
import { falDriver } from "./fal.ts";
import { finder } from "./finder.ts";
import { inferenceDriver } from "./inference.ts";
import { listingCalls, nextPage, parseListing } from "./listing.ts";
import { parseModelList } from "./models.ts";
import { replicateDriver } from "./replicate.ts";
import { teiDriver } from "./tei.ts";
import { tokenizerFiles } from "./tokenizer_files.ts";

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
