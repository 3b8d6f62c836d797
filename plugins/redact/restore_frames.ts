/** Puts originals back into the frames of a relayed stream, whose choices may come in any order. */
import { isJsonObject, type JsonObject, type JsonValue, setField } from "../../src/canonical/json.ts";
import type { RelayEvent } from "../../src/canonical/relay.ts";
import type { Emit, StreamTransform } from "../../src/contract/stream.ts";
import { type Originals, RestoredText } from "./restore.ts";

/** The fields of a frame that continue a text of earlier frames. */
const CONTINUED = new Set([
  "content",
  "reasoning_content",
  "reasoning",
  "thinking",
  "refusal",
  "arguments",
  "input",
  "text",
  "transcript",
]);
/** Fields that stay as they are. The bytes of log probabilities are those of the placeholders. */
const KEPT = new Set(["logprobs", "usage", "data"]);

/** A step from an object to a value in it: a field, or the element of a list with this `index`. */
type Step = string | number;

interface Continued {
  steps: readonly Step[];
  text: RestoredText;
}

export class FrameRestorer implements StreamTransform<RelayEvent> {
  readonly #originals: Originals;
  /** Whether the answer is JSON. */
  readonly #isJson: boolean;
  readonly #texts = new Map<string, Continued>();
  /** The frame's own fields, for one that only brings the rest of a text. */
  #head: JsonObject = {};

  constructor(originals: Originals, isJson: boolean) {
    this.#originals = originals;
    this.#isJson = isJson;
  }

  push(event: RelayEvent, emit: Emit<RelayEvent>): void {
    if (event.type === "frame") {
      const body = this.#object(event.body, []);
      this.#head = headOf(event.body);
      return emit({ type: "frame", body });
    }
    const rest = event.type === "finish" ? this.#flush([], {}) : undefined;
    if (rest) emit({ type: "frame", body: { ...this.#head, ...rest } });
    emit(event);
  }

  #value(value: JsonValue, steps: readonly Step[]): JsonValue {
    if (typeof value === "string") return this.#text(value, steps);
    if (Array.isArray(value)) {
      return value.map((item, at) => {
        const index = isJsonObject(item) && typeof item.index === "number" ? item.index : at;
        return this.#value(item, [...steps, index]);
      });
    }
    return isJsonObject(value) ? this.#object(value, steps) : value;
  }

  #object(object: JsonObject, steps: readonly Step[]): JsonObject {
    const restored: JsonObject = {};
    for (const name in object) {
      const value = object[name];
      setField(restored, name, value === undefined || KEPT.has(name) ? value : this.#value(value, [...steps, name]));
    }
    const isEnd = object.finish_reason !== null && object.finish_reason !== undefined;
    return isEnd ? this.#flush(steps, restored) ?? restored : restored;
  }

  #text(text: string, steps: readonly Step[]): string {
    const name = steps.at(-1);
    const isJson = name === "arguments" || this.#isJson && name === "content";
    if (typeof name !== "string" || !CONTINUED.has(name) || !steps.includes("delta")) {
      return this.#originals.restore(text, isJson);
    }
    const key = JSON.stringify(steps);
    let continued = this.#texts.get(key);
    if (!continued) this.#texts.set(key, continued = { steps, text: new RestoredText(this.#originals, isJson) });
    return continued.text.push(text);
  }

  /** The object with the rest of all texts below it. `undefined` if there is none. */
  #flush(steps: readonly Step[], object: JsonObject): JsonObject | undefined {
    let found = false;
    for (const [key, { steps: own, text }] of this.#texts) {
      if (!steps.every((step, at) => own[at] === step)) continue;
      this.#texts.delete(key);
      const rest = text.end();
      if (rest === "") continue;
      found = true;
      append(object, own.slice(steps.length), rest);
    }
    return found ? object : undefined;
  }
}

/** Appends to the text at these steps. Objects and lists on the way are made if there are none. */
function append(object: JsonObject, [step, ...rest]: readonly Step[], text: string): void {
  const name = String(step);
  const value = object[name];
  const [next] = rest;
  if (next === undefined) {
    object[name] = typeof value === "string" ? value + text : text;
  } else if (typeof next === "number") {
    const list = Array.isArray(value) ? value : [];
    object[name] = list;
    let item = list.find((one) => isJsonObject(one) && one.index === next) as JsonObject | undefined;
    if (!item) list.push(item = { index: next });
    append(item, rest.slice(1), text);
  } else {
    const inner = isJsonObject(value) ? value : {};
    object[name] = inner;
    append(inner, rest, text);
  }
}

/** The fields that every frame repeats. */
function headOf(body: JsonObject): JsonObject {
  const head: JsonObject = {};
  for (const name in body) {
    const value = body[name];
    if (typeof value === "string" || typeof value === "number") setField(head, name, value);
  }
  return head;
}
