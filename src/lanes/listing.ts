import type { ModelInfo } from "../canonical/models.ts";
import { withoutPolicy } from "../contract/planned_target.ts";
import { toGatewayError } from "../errors.ts";
import type { CatalogCache } from "./catalog.ts";

/** What the catalogs know about a name. */
export type Listed = ModelInfo | "unknown" | "unreachable";

/** The models that a lane's catalogs list, and those that its upstreams list themselves (`offers`). */
export class Listing {
  readonly #catalogs: readonly CatalogCache[];
  readonly #offers: readonly CatalogCache[];

  constructor(catalogs: readonly CatalogCache[], offers: readonly CatalogCache[]) {
    this.#catalogs = catalogs;
    this.#offers = offers;
  }

  /** If a catalog is unreachable, the result is `unreachable` and the upstream decides. */
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

  /** All models without duplicates. `note` receives the reason if a catalog cannot be read. */
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
