/** Items that are kept for callers until they need them, in shared space. Each caller's oldest items make way for its newest. */
import { type Capacity, Shares } from "../util/shares.ts";

export interface KeptItem {
  /** In the unit of the room, such as bytes. */
  readonly size: number;
  /** Called when the item makes way for another one. */
  forget(): void;
}

export class KeptItems {
  readonly #shares = new Shares();
  /** By owner, the oldest first. */
  readonly #items = new Map<string, Set<KeptItem>>();

  get taken(): number {
    return this.#shares.taken;
  }

  /** Keeps the item, and forgets the owner's oldest ones for it. False if there is no room even without those. */
  keep(owner: string, item: KeptItem, capacity: Capacity): boolean {
    if (this.#shares.refusal(owner, item.size, capacity, this.#shares.heldBy(owner))) return false;
    const items = this.#items.get(owner) ?? new Set();
    this.#items.set(owner, items);
    for (const oldest of items) {
      if (!this.#shares.refusal(owner, item.size, capacity)) break;
      this.delete(owner, oldest);
      oldest.forget();
    }
    this.#items.set(owner, items.add(item));
    this.#shares.add(owner, item.size);
    return true;
  }

  delete(owner: string, item: KeptItem): void {
    const items = this.#items.get(owner);
    if (!items?.delete(item)) return;
    this.#shares.add(owner, -item.size);
    if (items.size === 0) this.#items.delete(owner);
  }
}
