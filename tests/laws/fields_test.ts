/** No field is silently gone: it reaches the upstream, or a note or a refusal names it or a field around it. */
import { AssertionError, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { law } from "../support/law.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";
import type { Wire } from "../support/wires.ts";

const SENTINEL = "sentinel-5f3a";

/** An object of a request, in which a field may be put. */
interface Place {
  object: JsonObject;
  /** The fields that lead to it. */
  path: string[];
  /** What a note may call it or what is around it: their fields, their types and names. */
  names: string[];
  /** The tool that it belongs to. */
  tool?: string;
}

/** What a schema, arguments or metadata hold is their authors': no field of the wire's stands there. */
const AUTHORS: ReadonlySet<string> = new Set(["parameters", "input_schema", "schema", "metadata", "arguments"]);

function placesIn(value: JsonValue | undefined, around: Omit<Place, "object"> = { path: [], names: [] }): Place[] {
  const { path, names, tool } = around;
  const field = path.at(-1) ?? "";
  if (AUTHORS.has(field)) return [];
  if (Array.isArray(value)) return value.flatMap((one) => placesIn(one, around));
  if (!isJsonObject(value)) return [];
  const own = [value.type, value.role, value.name].filter((one) => typeof one === "string");
  const here: Place = {
    object: value,
    path,
    names: [...names, ...own],
    tool: field === "tools" ? toolName(value) : tool,
  };
  return [
    here,
    ...Object.entries(value).flatMap(([key, inner]) =>
      placesIn(inner, { ...here, path: [...path, key], names: [...here.names, key] })
    ),
  ];
}

function toolName(tool: JsonObject): string {
  const definition = tool.function ?? tool.custom;
  return String((isJsonObject(definition) ? definition.name : tool.name) ?? tool.type);
}

/** Where a field means nothing to any upstream. */
const UNHEARD: readonly ((place: Place) => boolean)[] = [
  // What a client notes for itself, and how it wants the gateway's stream told.
  ({ path }) => path[0] === "client_metadata" || path[0] === "stream_options",
  // The line for billing is its vendor's alone, and nobody else loses anything without it.
  ({ object }) => String(object.text).startsWith("x-anthropic-billing-header:"),
];

/** What a note says is lost or changed. */
function namedIn(note: string): string[] {
  const [, file] = /^dropped a file of type (\w+)/.exec(note) ?? [];
  if (file) return [`input_${file}`];
  const [, whole] = /^(?:dropped|replaced) (?:a part of type|tool) (.+?)(?: with text)?$/.exec(note) ?? [];
  return whole ? [whole] : /^dropped (\S+)/.exec(note)?.[1]?.split(".") ?? [];
}

interface Planted extends Place {
  body: JsonObject;
}

/** The request with a field more. */
function planted(request: fc.Arbitrary<JsonObject>): fc.Arbitrary<Planted> {
  return fc.tuple(
    request,
    fc.nat({ max: 10_000 }),
    fc.constantFrom("x_new", "cache_hint", "detail_level"),
    fc.constantFrom<JsonValue>(SENTINEL, { a: SENTINEL }, [SENTINEL]),
  ).map(([request, at, field, value]) => {
    const body = structuredClone(request);
    const places = placesIn(body);
    const place = places[at % places.length]!;
    place.object[field] = value;
    return { ...place, body, path: [...place.path, field], names: [...place.names, field] };
  }).filter((place) => !UNHEARD.some((isUnheard) => isUnheard(place)));
}

/** The notes, where the field is gone and none of them names it. */
function silence({ body, names, tool }: Planted, from: Wire, to: Wire): string[] | undefined {
  const context = newContext(from.name);
  let sent: JsonObject;
  try {
    sent = to.serializeRequest(from.parseRequest(newWireRequest(body), context), context) as JsonObject;
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
  if (JSON.stringify(sent).includes(SENTINEL)) return undefined;
  // A tool that the client itself keeps from the model has nothing to say to it.
  if (tool !== undefined && !JSON.stringify(sent.tools ?? []).includes(JSON.stringify(tool))) return undefined;
  return context.notes.flatMap(namedIn).some((name) => names.includes(name)) ? undefined : context.notes;
}

for (const { wire: from, request } of LAW_INPUTS) {
  law(
    `${from.name}: a field that nobody knows is carried, noted or refused, whatever the upstream speaks`,
    planted(request),
    (one) => {
      for (const { wire: to } of LAW_INPUTS) {
        const notes = silence(one, from, to);
        if (notes) {
          throw new AssertionError(
            `"${one.path.join(".")}" is silently gone to ${to.name}; the notes are ${notes.join("; ")}`,
          );
        }
      }
    },
  );
}

/** Values that a careless reader takes for none. Where one means the same as none on its own wire, it is not here. */
const ODD_VALUES: Record<string, Record<string, JsonValue[]>> = {
  chat: {
    temperature: [0, 2],
    top_p: [0],
    top_k: [0],
    seed: [0, -1],
    presence_penalty: [0, -2],
    frequency_penalty: [0, -2],
    max_tokens: [1],
    max_completion_tokens: [1],
    stop: ["", " ", ["a", "b", "c", "d"]],
    reasoning_effort: ["none", "minimal"],
    verbosity: ["low"],
    prompt_cache_key: [""],
    parallel_tool_calls: [false],
    tool_choice: ["none"],
    logit_bias: [{}],
    user: [""],
    store: [false],
    n: [2],
    logprobs: [true],
  },
  messages: {
    temperature: [0],
    top_p: [0],
    top_k: [0],
    max_tokens: [0, 1],
    stop_sequences: [[""], ["a", "b"]],
    thinking: [{ type: "disabled" }, { type: "enabled", budget_tokens: 1024 }],
    tool_choice: [{ type: "none" }, { type: "auto", disable_parallel_tool_use: true }],
    output_config: [{ effort: "max" }],
    service_tier: [""],
    container: [""],
    metadata: [{ user_id: "" }],
  },
  responses: {
    temperature: [0],
    top_p: [0],
    presence_penalty: [0],
    frequency_penalty: [0],
    max_output_tokens: [1],
    max_tool_calls: [0],
    top_logprobs: [0],
    reasoning: [{ effort: "none" }, { effort: "minimal" }],
    text: [{ verbosity: "low" }],
    prompt_cache_key: [""],
    parallel_tool_calls: [false],
    tool_choice: ["none"],
    metadata: [{ a: "" }],
    user: [""],
    truncation: ["auto"],
  },
};

/** A request with nothing but what one must have, and a tool, without which some knobs turn nothing. */
const LEAST: Record<string, JsonObject> = {
  chat: { messages: [{ role: "user", content: "a" }], tools: [{ type: "function", function: { name: "f" } }] },
  messages: { max_tokens: 9, messages: [{ role: "user", content: "a" }], tools: [{ name: "f", input_schema: {} }] },
  responses: { input: "a", tools: [{ type: "function", name: "f" }] },
};

for (const { wire: from } of LAW_INPUTS) {
  for (const [field, values] of Object.entries(ODD_VALUES[from.name]!)) {
    Deno.test(`${from.name}: ${field} at its odd values is carried, noted or refused, whatever the upstream speaks`, () => {
      const least = { model: "m", ...LEAST[from.name] };
      for (const value of values) {
        for (const { wire: to } of LAW_INPUTS) {
          assertNotEquals(resultOf({ ...least, [field]: value }, from, to), resultOf(least, from, to), to.name);
        }
      }
    });
  }
}

/** What comes of a request: what its upstream and its client hear. */
function resultOf(body: JsonObject, from: Wire, to: Wire): JsonValue {
  const context = newContext(from.name);
  try {
    const input = from.parseRequest(newWireRequest(body), context);
    if (input.relay) return { relayed: body };
    return [JSON.parse(JSON.stringify(to.serializeRequest(input, context))), context.notes];
  } catch (error) {
    if (error instanceof GatewayError) return error.message;
    throw error;
  }
}
