/** Which item of a stream an event is about. Servers name items by their ids, by their places, or not at all, and repeat some. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { isRawNumber } from "../../src/canonical/raw_number.ts";
import type { OutputItem, WireEvent } from "./wire.ts";

/** An item that the stream has begun, or that came in one piece. */
export interface OpenItem {
  type: string;
  /** The part of it that went out already: of its text, its thoughts or its arguments. */
  sent: string;
  /** The number of the paragraph of a summary that is being written. */
  paragraph: number | undefined;
  /** Another text of it was announced. */
  moved: boolean;
  over: boolean;
  /** The item of the same id that is done already, and how this one began: only what follows tells whether it is another. */
  reopens?: { done: OutputItem; start: OutputItem };
}

export class OpenItems {
  readonly #items = new Map<string, OpenItem>();
  /** Their keys, in the order in which they began. */
  readonly #keys: string[] = [];
  /** By their places, the keys of the items that began there last. */
  readonly #placed = new Map<number, string>();
  /** Whether no place has been given twice, so that the list of them all has each item in its place. */
  #areApart = true;
  /** Whether any event named an item by an id or a place. */
  #areNamed = false;
  /** The types of those that have begun. */
  readonly #types = new Set<string>();
  /** Keys that have no place in the order. */
  readonly #forgotten = new Set<string>();
  /** The keys of the list of them all, once it is read. */
  #order: string[] | undefined;
  /** The item that began last, for servers that do not say which one they go on with. */
  #latest = "";

  get(key: string): OpenItem | undefined {
    return this.#items.get(key);
  }

  /** The name by which the stream knew an item in the list of them all. */
  find(item: OutputItem, index: number): string {
    const names = [item.id, item.call_id, `@${index}`];
    const known = names.find((name) => typeof name === "string" && this.#items.has(name));
    // Without names, the items of a stream are known by their order.
    const placed = this.#areApart ? this.#placed.get(index) : undefined;
    return String(known ?? placed ?? this.#keyAt(index) ?? `#${this.#items.size}`);
  }

  /** Some servers give two items one id. */
  newKey(event: WireEvent, item: OutputItem): string {
    const name = this.#keyOf(event, item);
    const key = name === undefined || this.#items.get(name)?.over ? `#${this.#items.size}` : name;
    const { output_index: place } = event;
    if (typeof place === "number") {
      this.#areApart &&= !this.#placed.has(place);
      this.#placed.set(place, key);
    }
    return key;
  }

  /**
   * Some servers change the ids in the middle, or give one twice: then it is the open item in the same place, or the one that began
   * last.
   */
  keyFor(event: WireEvent, item?: OutputItem): string {
    const key = this.#keyOf(event, item);
    const known = key === undefined ? undefined : this.#items.get(key);
    if (key !== undefined && known && (!known.over || key === this.#latest)) return key;
    const placed = this.#placed.get(event.output_index ?? NaN);
    const open = [placed, this.#latest].find((one) => one !== undefined && this.#isOpen(one, item));
    if (open !== undefined) return open;
    if (key !== undefined) return key;
    return item && this.#isNew(item.type) ? this.newKey(event, item) : this.#latest;
  }

  #isOpen(key: string, item: OutputItem | undefined): boolean {
    const open = this.#items.get(key);
    return open !== undefined && !open.over && (!item || item.type === open.type);
  }

  /** Whether a whole item without a name is another one: if the latest is over, and it or all had none, or the type is new. */
  #isNew(type: string): boolean {
    if (!this.#items.get(this.#latest)?.over) return false;
    return isNameless(this.#latest) || !this.#areNamed || !this.#types.has(type);
  }

  begin(key: string, type: string): OpenItem {
    this.#latest = key;
    return this.add(key, type);
  }

  /** An item that the stream goes on with although it never began it. */
  add(key: string, type: string): OpenItem {
    const item = { type, sent: "", paragraph: undefined, moved: false, over: false };
    this.#items.set(key, item);
    this.#types.add(type);
    this.#keys.push(key);
    return item;
  }

  /** Leaves an item that came before out of the order. */
  forget(key: string): void {
    this.#forgotten.add(key);
  }

  #keyOf(event: WireEvent, item?: OutputItem): string | undefined {
    const name = nameOf(event, item);
    this.#areNamed ||= name !== undefined;
    return name ?? (typeof item?.call_id === "string" ? item.call_id : undefined);
  }

  #keyAt(index: number): string | undefined {
    this.#order ??= this.#keys.filter((key) => !this.#forgotten.has(key));
    return this.#order[index];
  }
}

/** Whether it is the key of an item that the stream does not name. */
function isNameless(key: string): boolean {
  return key === "" || key.startsWith("#");
}

/** How a stream names an item: by its id, or by its place. Servers keep to one of them. */
function nameOf({ item_id, output_index }: WireEvent, item?: OutputItem): string | undefined {
  const id = item_id ?? item?.id;
  if (typeof id === "string" && id !== "") return id;
  return output_index !== null && output_index !== undefined ? `@${output_index}` : undefined;
}

/** Some servers open a finished item once more (transformers, the message before a call). A status may have changed. */
export function isSameItem(item: OutputItem, other: OutputItem): boolean {
  const { status: _, ...one } = item;
  const { status: __, ...two } = other;
  return isSame(one as JsonObject, two as JsonObject);
}

/** Stops at the first difference: a small item costs little beside a large one. */
function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => isSame(item, other[at]));
  }
  if (isRawNumber(one) && isRawNumber(other)) return one.rawJSON === other.rawJSON;
  if (!isJsonObject(one) || !isJsonObject(other)) return one === other;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]));
}
