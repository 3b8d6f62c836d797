import type { Catalog } from "../../src/contract/catalog.ts";
import { parseModelList } from "./models.ts";

/** The models that the hub's router chats with. One call lists them all, and needs no token. */
export const hubCatalog: Catalog = {
  name: "hub",
  listing: () => [{ path: "models" }],
  parseListing: ([reply]) => parseModelList(reply?.body),
};
