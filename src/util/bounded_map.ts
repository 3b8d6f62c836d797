/** A map of limited size. When it is full, a new entry replaces the one that was set longest ago. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #capacity: number;

  constructor(capacity: number) {
    super();
    this.#capacity = capacity;
  }

  /** Sets the entry and makes it the newest. */
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
