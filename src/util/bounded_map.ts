/** A map that forgets: once it is full, the entry that was set longest ago makes room for a new one. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #capacity: number;

  constructor(capacity: number) {
    super();
    this.#capacity = capacity;
  }

  /** Sets the entry anew: it is now the last one to be forgotten. */
  override set(key: K, value: V): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#capacity) {
      const [oldest] = this.keys();
      this.delete(oldest!);
    }
    return this;
  }
}
