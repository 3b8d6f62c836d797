/** A queue, first come, first served. `Array.shift` on a very long array would move all other items each time. */
export class Line<T> {
  #items: (T | undefined)[] = [];
  /** The index of the first item. */
  #at = 0;

  get length(): number {
    return this.#items.length - this.#at;
  }

  get first(): T | undefined {
    return this.#items[this.#at];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Removes and returns the first item, if there is one. */
  shift(): T | undefined {
    const { first } = this;
    if (this.length > 0) this.#items[this.#at++] = undefined;
    if (this.length === 0) {
      this.#items = [];
      this.#at = 0;
    }
    return first;
  }
}
