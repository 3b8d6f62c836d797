import type { ModelInfo } from "../canonical/models.ts";
import { withoutPolicy } from "../contract/destination.ts";
import { toGatewayError } from "../errors.ts";
import type { CatalogCache } from "./catalog.ts";

/** What the catalogs know of a name. */
export type Listed = ModelInfo | "unknown" | "unreachable";

/** What a lane's catalogs list, and what its upstreams list themselves (`offers`). */
export class Listing {
  readonly #catalogs: readonly CatalogCache[];
  readonly #offers: readonly CatalogCache[];

  constructor(catalogs: readonly CatalogCache[], offers: readonly CatalogCache[]) {
    this.#catalogs = catalogs;
    this.#offers = offers;
  }

  /** Catalogs that cannot be reached know no more than the lane: then the upstream decides. */
  async find(model: string): Promise<Listed> {
    let all = this.#catalogs.length > 0;
    for (const loading of this.#catalogs.map((catalog) => catalog.models().catch(() => undefined))) {
      const listed = await loading;
      const known = listed?.get(model) ?? listed?.get(withoutPolicy(model));
      if (known) return known;
      all &&= listed !== undefined;
    }
    return all ? "unknown" : "unreachable";
  }

  async findOffered(model: string): Promise<ModelInfo | undefined> {
    for (const loading of this.#offers.map((offer) => offer.models().catch(() => undefined))) {
      const known = (await loading)?.get(model);
      if (known) return known;
    }
    return undefined;
  }

  /** All models, each once. `note` is given why a catalog gives none. */
  async models(note: (text: string) => void): Promise<ModelInfo[]> {
    const lists = await Promise.all(
      [...this.#catalogs, ...this.#offers].map((catalog) =>
        catalog.models().catch((thrown) => {
          note(`omitted the catalog: ${toGatewayError(thrown).message}`);
          return new Map<string, ModelInfo>();
        })
      ),
    );
    const all = new Map<string, ModelInfo>();
    for (const [id, model] of lists.flatMap((models) => [...models])) if (!all.has(id)) all.set(id, model);
    return [...all.values()];
  }
}
