/** Whatever waits in line, first come, first served. Taking the first of a very long array moves all the others each time. */
export class Line<T> {
  #items: (T | undefined)[] = [];
  /** The place of the first one. */
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

  /** Takes the first one, if there is any. */
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
