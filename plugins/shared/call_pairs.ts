/** Matches results to calls on wires whose clients may omit the ids. */
export class CallPairs {
  #count = 0;
  #isTurnOver = false;
  /** The ids of the calls without a result. */
  readonly #open = new Set<string>();
  /** All calls, and the calls of each tool. */
  readonly #all = new Calls(this.#open);
  readonly #named = new Map<string, Calls>();

  /** The id of the next call: the client's, or one made from its position. */
  add(given: string | null | undefined, name: string): string {
    if (this.#isTurnOver) this.#open.clear();
    this.#isTurnOver = false;
    const number = ++this.#count;
    const id = given || `call_${number}`;
    this.#open.add(id);
    this.#all.add(id);
    const named = this.#named.get(name) ?? new Calls(this.#open);
    named.add(id);
    this.#named.set(name, named);
    return id;
  }

  /** Marks the end of the model's turn. Once the model calls again, its earlier open calls no longer receive results. */
  endTurn(): void {
    this.#isTurnOver = true;
  }

  /** The id of the call that the next result answers. The result may name the call by its id or its tool. */
  answered(given: string | null | undefined, name: string | null | undefined): string {
    const id = given || (this.#named.get(name ?? "")?.first() ?? this.#all.first() ?? `call_${this.#count}`);
    this.#open.delete(id);
    return id;
  }
}

/** Calls in order. A conversation may have very many, so an answered call is skipped once and not examined again. */
class Calls {
  readonly #ids: string[] = [];
  readonly #open: ReadonlySet<string>;
  #at = 0;

  constructor(open: ReadonlySet<string>) {
    this.#open = open;
  }

  add(id: string): void {
    this.#ids.push(id);
  }

  /** The first open call. */
  first(): string | undefined {
    while (this.#at < this.#ids.length && !this.#open.has(this.#ids[this.#at]!)) this.#at++;
    return this.#ids[this.#at];
  }
}
