import { assert, assertEquals, AssertionError } from "@std/assert";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { Frame } from "../../src/contract/frame.ts";

/** The keys that the published schema has in every response, complete or not. */
const RESPONSE_KEYS = [
  "background",
  "completed_at",
  "created_at",
  "error",
  "frequency_penalty",
  "id",
  "incomplete_details",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "model",
  "object",
  "output",
  "parallel_tool_calls",
  "presence_penalty",
  "previous_response_id",
  "prompt_cache_key",
  "reasoning",
  "safety_identifier",
  "service_tier",
  "status",
  "store",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "truncation",
  "usage",
  "user",
];

/** How the text of each kind of part is told: its event, the key of the whole, and which part it belongs to. */
const PARTS: Record<string, { event: string; key: string; added: string; empty: JsonObject }> = {
  output_text: {
    event: "response.output_text",
    key: "text",
    added: "response.content_part",
    empty: { type: "output_text", text: "", annotations: [], logprobs: [] },
  },
  refusal: {
    event: "response.refusal",
    key: "refusal",
    added: "response.content_part",
    empty: { type: "refusal", refusal: "" },
  },
  reasoning_text: {
    event: "response.reasoning_text",
    key: "text",
    added: "response.content_part",
    empty: { type: "reasoning_text", text: "" },
  },
  summary_text: {
    event: "response.reasoning_summary_text",
    key: "text",
    added: "response.reasoning_summary_part",
    empty: { type: "summary_text", text: "" },
  },
};

/** Which parts an item of each type is made of, and where it holds them. */
const LISTS: Record<string, Record<string, string[]>> = {
  message: { content: ["output_text", "refusal"] },
  reasoning: { summary: ["summary_text"], content: ["reasoning_text"] },
};

/** Calls: their event, and the key of their input. */
const CALLS: Record<string, { event: string; key: string }> = {
  function_call: { event: "response.function_call_arguments", key: "arguments" },
  custom_tool_call: { event: "response.custom_tool_call_input", key: "input" },
};

/** Steps that the server runs: the events between the beginning of the item and its end, and what only the end can say. */
const STEPS: Record<string, { begun: string[]; ended: string[]; later: string[] }> = {
  web_search_call: { begun: ["in_progress", "searching"], ended: ["completed"], later: ["action"] },
  mcp_call: { begun: ["in_progress"], ended: ["completed", "failed"], later: ["output", "error"] },
  mcp_list_tools: { begun: ["in_progress"], ended: ["completed", "failed"], later: ["tools", "error"] },
};

const TERMINAL = ["response.completed", "response.incomplete", "response.failed"];
const KEEP_ALIVE = "keepalive";

/**
 * Asserts the grammar of a stream of the responses wire, as its strictest clients insist on it: events named by their type and
 * numbered without gaps; the response created first; items one after the other, each begun empty, told in increments that come
 * to its text, and told whole, but for steps of the server's own, which run side by side; the response as it has become, with those very items; `[DONE]`. A failure may come wherever an
 * event may, and is a response that failed.
 */
export function assertResponsesStream(frames: readonly Frame[]): void {
  assertEquals(frames.at(-1), { data: "[DONE]" });
  const events = frames.slice(0, -1).map(({ event, data, ...rest }, number) => {
    assertEquals(rest, {});
    const { sequence_number, ...value } = object(JSON.parse(data ?? ""));
    assertEquals(value.type, event);
    assertEquals(sequence_number, number, `${event} is numbered`);
    return value;
  });
  const types = events.map(({ type }) => String(type));
  assertEquals(types.slice(0, 2), ["response.created", "response.in_progress"]);
  assertEquals(types.filter((type) => TERMINAL.includes(type)), types.slice(-1), "One event is the last");
  new Reader(events.filter(({ type }) => type !== KEEP_ALIVE)).readAll();
}

class Failed extends Error {}

class Reader {
  /** The remaining events in reverse order, because removing the first item of a long list takes long. */
  readonly #rest: JsonObject[];
  readonly #created: JsonObject;
  readonly #output: JsonObject[] = [];
  /** Steps that run, by the ids of their items. */
  readonly #running = new Map<string, number>();
  /** The item that has begun, and what was told of it so far. */
  #open: { item: JsonObject; text: string } | undefined;

  constructor(events: JsonObject[]) {
    this.#rest = events.toReversed();
    const [created, running] = [this.#next("response.created"), this.#next("response.in_progress")];
    this.#created = object(created.response);
    assertResponse(this.#created, "in_progress");
    assertEquals(Object.keys(created).sort(), ["response", "type"]);
    assertEquals([this.#created.output, this.#created.usage], [[], null]);
    assertEquals(running.response, created.response);
    assert(/^resp_\w+$/.test(String(this.#created.id)));
  }

  readAll(): void {
    try {
      for (;;) {
        if (this.#comes("response.output_item.added")) this.#readItem();
        else if (this.#running.has(String(this.#rest.at(-1)?.item_id))) this.#endStep();
        else break;
      }
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
    }
    this.#readEnd();
  }

  #comes(type: string): boolean {
    return this.#rest.at(-1)?.type === type;
  }

  /** The next event, which must be of this type, unless the answer fails here. */
  #next(type: string): JsonObject {
    if (this.#comes("response.failed")) throw new Failed();
    const event = this.#rest.pop();
    assertEquals(event?.type, type);
    return event!;
  }

  #readItem(): void {
    const output_index = this.#output.length;
    const { item: begun, ...added } = this.#next("response.output_item.added");
    assertEquals(added, { type: "response.output_item.added", output_index });
    const item = object(begun);
    assert(typeof item.id === "string" && item.id !== "", "An item has an id");
    assert(this.#output.every(({ id }) => id !== item.id), `No two items are called ${item.id}`);
    const type = String(item.type);
    if (type in STEPS && this.#comes(`response.${type}.in_progress`)) return this.#beginStep(item);
    this.#open = { item, text: "" };
    const at = { item_id: item.id, output_index };
    const parsed = type in LISTS ? this.#readParts(item, at) : type in CALLS ? this.#readCall(item, at) : item;

    const { item: ended, ...done } = this.#next("response.output_item.done");
    assertEquals(done, { type: "response.output_item.done", output_index });
    const whole = object(ended);
    assertEquals([whole.id, whole.type], [item.id, item.type]);
    for (const [key, value] of Object.entries(parsed)) {
      if (key !== "status") assertEquals(whole[key], value, `${key} of the item is what was told of it`);
    }
    if (type in LISTS || type in CALLS) {
      assertEquals(item.status, "in_progress");
      assert(whole.status === "completed" || whole.status === "incomplete");
    }
    this.#output.push(whole);
    this.#open = undefined;
  }

  #beginStep(item: JsonObject): void {
    const type = String(item.type);
    const { begun, later } = STEPS[type]!;
    for (const key of later) assertEquals(item[key] ?? [], [], `${key} comes at the end`);
    const output_index = this.#output.push(item) - 1;
    for (const step of begun) {
      const name = `response.${type}.${step}`;
      assertEquals(this.#next(name), { type: name, output_index, item_id: item.id! });
    }
    if (type === "mcp_call") {
      const text = this.#readArguments({ output_index, item_id: item.id! });
      this.#output[output_index] = { ...item, arguments: text };
    }
    this.#running.set(String(item.id), output_index);
  }

  /** They come at once. */
  #readArguments(at: JsonObject): JsonValue {
    const name = "response.mcp_call_arguments";
    const { delta, ...more } = this.#next(`${name}.delta`);
    assertEquals(more, { type: `${name}.delta`, ...at });
    assertEquals(this.#next(`${name}.done`), { type: `${name}.done`, ...at, arguments: delta! });
    return delta!;
  }

  #endStep(): void {
    const { type: name, item_id, ...at } = this.#rest.pop()!;
    const output_index = this.#running.get(String(item_id))!;
    const begun = this.#output[output_index]!;
    assertEquals(at, { output_index });
    assert(STEPS[String(begun.type)]!.ended.some((step) => name === `response.${begun.type}.${step}`), String(name));
    const { item, ...done } = this.#next("response.output_item.done");
    assertEquals(done, { type: "response.output_item.done", output_index });
    const whole = object(item);
    assertEquals([whole.id, whole.type], [begun.id, begun.type]);
    if (begun.status) assert(whole.status === "completed" || whole.status === "failed", "A step that is done says so");
    this.#output[output_index] = whole;
    this.#running.delete(String(item_id));
  }

  #tell(delta: JsonValue | undefined): string {
    assert(typeof delta === "string" && delta !== "", "An increment adds something");
    if (this.#open) this.#open.text += delta;
    return delta as string;
  }

  /** The texts of a message or a thought. */
  #readParts(item: JsonObject, at: JsonObject): JsonObject {
    const allowed = LISTS[String(item.type)]!;
    const lists: Record<string, JsonObject[]> = {};
    for (const list of Object.keys(allowed)) {
      assertEquals(item[list] ?? [], [], `${list} is empty at first`);
      if (item[list] !== undefined) lists[list] = [];
    }
    for (let list = this.#listOfNext(allowed); list; list = this.#listOfNext(allowed)) {
      const parts = lists[list] ??= [];
      parts.push(this.#readPart({ ...at, [list === "summary" ? "summary_index" : "content_index"]: parts.length }));
    }
    if (item.type === "message") {
      assertEquals(item.role, "assistant");
      assert(lists.content!.length > 0, "A message has content");
    }
    return { ...item, ...lists };
  }

  /** Which list of the item the part belongs to that begins now; nothing where none does. */
  #listOfNext(lists: Record<string, string[]>): string | undefined {
    const { type, part } = this.#rest.at(-1) ?? {};
    const kind = isJsonObject(part) ? String(part.type) : "";
    if (type !== `${PARTS[kind]?.added}.added`) return undefined;
    return Object.keys(lists).find((list) => lists[list]!.includes(kind));
  }

  #readPart(of: JsonObject): JsonObject {
    const { part: begun, type: beginning, ...added } = this.#rest.pop()!;
    const { event, key, added: name, empty } = PARTS[String(object(begun).type)]!;
    assertEquals(begun, empty);
    assertEquals(beginning, `${name}.added`);
    assertEquals(added, of);
    const more = key === "text" && empty.logprobs ? { logprobs: [] } : {};
    let text = "";
    while (this.#comes(`${event}.delta`)) {
      const { delta, ...rest } = this.#rest.pop()!;
      assertEquals(rest, { type: `${event}.delta`, ...of, ...more });
      text += this.#tell(delta);
    }
    const annotations: JsonValue[] = [];
    while (this.#comes("response.output_text.annotation.added")) {
      const { annotation, ...rest } = this.#rest.pop()!;
      const annotation_index = annotations.length;
      assertEquals(rest, { type: "response.output_text.annotation.added", ...of, annotation_index });
      annotations.push(annotation!);
    }
    assertEquals(this.#next(`${event}.done`), { type: `${event}.done`, ...of, ...more, [key]: text });
    const { part, ...done } = this.#next(`${name}.done`);
    assertEquals(done, { type: `${name}.done`, ...of });
    const whole = object(part);
    assertEquals([whole.type, whole[key]], [object(begun).type, text]);
    if (key === "text" && empty.annotations) {
      assertEquals(whole.annotations, annotations);
      assert(Array.isArray(whole.logprobs));
    }
    return whole;
  }

  #readCall(item: JsonObject, at: JsonObject): JsonObject {
    const { event, key } = CALLS[String(item.type)]!;
    assertEquals(item[key], "");
    for (const name of ["call_id", "name"]) assert(typeof item[name] === "string" && item[name] !== "");
    let input = "";
    while (this.#comes(`${event}.delta`)) {
      const { delta, ...rest } = this.#rest.pop()!;
      assertEquals(rest, { type: `${event}.delta`, ...at });
      input += this.#tell(delta);
    }
    const { name, ...done } = this.#next(`${event}.done`);
    if (name !== undefined) assertEquals(name, item.name);
    assertEquals(done, { type: `${event}.done`, ...at, [key]: input });
    return { ...item, [key]: input };
  }

  #readEnd(): void {
    const { type, response: ended, ...rest } = this.#rest.pop()!;
    assertEquals(rest, {});
    assertEquals(this.#rest, []);
    const status = String(type).slice("response.".length);
    const response = object(ended);
    assertResponse(response, status);
    assert(status === "failed" || this.#running.size === 0, "What runs in the end has failed");
    for (const at of this.#running.values()) this.#output[at] = { ...this.#output[at], status: "failed" };
    const [partial, ...others] = objects(response.output).slice(this.#output.length);
    assertEquals(
      objects(response.output).slice(0, this.#output.length),
      this.#output,
      "The response has what was told",
    );
    assertEquals(others, []);
    if (partial) {
      assertEquals([status, partial.status], ["failed", "incomplete"]);
      assertEquals([partial.id, partial.type], [this.#open?.item.id, this.#open?.item.type]);
      assertEquals(textOf(partial), this.#open?.text);
    }
    for (const key of ["id", "created_at", "model", "previous_response_id"]) {
      assertEquals(response[key], this.#created[key]);
    }
    if (status === "failed") {
      const { code, message } = object(response.error);
      assert(typeof code === "string" && code !== "" && typeof message === "string" && message !== "");
    } else assertUsage(object(response.usage));
  }
}

function assertResponse(response: JsonObject, status: string): void {
  for (const key of RESPONSE_KEYS) assert(response[key] !== undefined, `The response has ${key}`);
  assertEquals([response.object, response.status], ["response", status]);
  assertEquals(response.error !== null, status === "failed");
  if (status !== "incomplete") assertEquals(response.incomplete_details, null);
  assertEquals(typeof response.completed_at === "number", status === "completed");
  assert(typeof response.created_at === "number" && typeof response.model === "string");
  assert(typeof object(object(response.text).format).type === "string");
  for (const key of ["effort", "summary"]) assert(object(response.reasoning)[key] !== undefined);
}

function assertUsage(usage: JsonObject): void {
  const count = (value: JsonValue | undefined): number => {
    assert(typeof value === "number" && value >= 0, `${JSON.stringify(usage)} counts`);
    return value as number;
  };
  assertEquals(count(usage.total_tokens), count(usage.input_tokens) + count(usage.output_tokens));
  count(object(usage.input_tokens_details).cached_tokens);
  count(object(usage.input_tokens_details).cache_write_tokens);
  count(object(usage.output_tokens_details).reasoning_tokens);
}

/** All that an item says. */
function textOf(item: JsonObject): string {
  const parts = [...objects(item.summary), ...objects(item.content)];
  const texts = parts.length > 0 ? parts.map(({ text, refusal }) => text ?? refusal) : [item.arguments ?? item.input];
  return texts.join("");
}

function objects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.map(object) : [];
}

function object(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new AssertionError(`${JSON.stringify(value)} is no object`);
  return value;
}
