/** Request shapes shared by several wires. */
import { z } from "zod";
import { type Effort, EFFORTS } from "../../src/canonical/generate.ts";
import { asObject, isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { isRawNumber, toDouble } from "../../src/canonical/raw_number.ts";

export const json = z.custom<JsonObject>(isJsonObject, { params: { expected: "object" } }).meta({ type: "object" });

/** A non-empty name. Validation of a list stops at the first empty one. */
export const name = z.string().min(1, { abort: true });

/** A typed number field holds a double, however many digits the client sent. */
export function double(schema = z.number()) {
  return z.preprocess((value) => isRawNumber(value) ? toDouble(value) : value, schema);
}

/** The effort in words of single hosts. Words that leave it to the model say nothing. */
const EFFORT_OF: Readonly<Record<string, Effort | null>> = {
  "": null,
  auto: null,
  default: null,
  dynamic: null,
  off: "none",
  false: "none",
  disable: "none",
  disabled: "none",
  lowest: "minimal",
  on: "medium",
  true: "medium",
  enable: "medium",
  enabled: "medium",
  extrahigh: "xhigh",
  veryhigh: "xhigh",
  highest: "max",
  maximum: "max",
  ultra: "max",
};

/** An effort of the wire, `words`, however a host spells it. */
export function effort<T extends z.ZodType>(words: T) {
  return z.preprocess((value) => {
    if (typeof value !== "string" && typeof value !== "boolean") return value;
    const word = String(value).toLowerCase().replace(/[\s_-]/g, "");
    return Object.hasOwn(EFFORT_OF, word) ? EFFORT_OF[word] : EFFORTS.find((one) => one === word) ?? value;
  }, words.nullish());
}

const MODE_OF: Readonly<Record<string, "auto" | "none" | "required">> = {
  auto: "auto",
  none: "none",
  any: "required",
  required: "required",
};

/** A choice of tools as another wire writes it: a mode, as a word or as the type of an object, or a tool. */
export function foreignChoice(value: unknown): { mode?: "auto" | "none" | "required"; name?: string } {
  const { type = value, name, function: called } = asObject(value);
  const word = typeof type === "string" ? type.toLowerCase() : "";
  if (Object.hasOwn(MODE_OF, word)) return { mode: MODE_OF[word] };
  const own = word === "tool" || word === "function" ? name ?? asObject(called).name : undefined;
  return typeof own === "string" ? { name: own } : {};
}

/** A format of the chat wire. Some hosts' forms hold the schema itself (huggingface_hub, llama.cpp, Together). */
export function withSchema(value: unknown): unknown {
  const { type, schema, value: other, json_schema: own } = asObject(value);
  if (type !== "json" && type !== "json_object" && type !== "json_schema") return value;
  const isBare = isJsonObject(own) && own.schema === undefined &&
    ["properties", "$ref", "anyOf"].some((key) => key in own);
  const found = isBare ? own : isJsonObject(own) ? undefined : [schema, other].find(isJsonObject);
  if (found && Object.keys(found).length > 0) return { type: "json_schema", json_schema: { schema: found } };
  return found || type === "json" ? { type: "json_object" } : value;
}
/** Accepts an object of an unknown type if `pattern` allows the type. Known types are left to their own schemas. */
export function otherThan(known: readonly string[], error: string, pattern?: RegExp) {
  return z.looseObject({
    // Aborting, so that a union with this in it reports the branch that was meant.
    type: z.string().refine((type) => !known.includes(type) && (pattern?.test(type) ?? true), { error, abort: true }),
  });
}

const TEXTS = ["input_text", "output_text", "text"] as const;

/** The content of an item of the responses wire. Editors also send such items on the chat wire. */
export const knownContent = z.discriminatedUnion("type", [
  z.looseObject({ type: z.enum(TEXTS), text: z.string() }),
  z.looseObject({ type: z.literal("refusal"), refusal: z.string() }),
  z.looseObject({
    type: z.literal("input_image"),
    image_url: z.string().nullish(),
    file_id: z.string().nullish(),
    detail: z.string().nullish(),
  }).refine(({ image_url, file_id }) => image_url || file_id, {
    error: 'Missing "image_url" or "file_id"',
    path: ["image_url"],
    abort: true,
  }),
  z.looseObject({
    type: z.literal("input_file"),
    file_data: z.string().nullish(),
    file_url: z.string().nullish(),
    file_id: z.string().nullish(),
    filename: z.string().nullish(),
  }).refine(({ file_data, file_url, file_id }) => file_data || file_url || file_id, {
    error: 'Missing "file_data", "file_url" or "file_id"',
    path: ["file_data"],
    abort: true,
  }),
]);
export const KNOWN_CONTENT: readonly string[] = [...TEXTS, "refusal", "input_image", "input_file"];

/** The text format options of the responses wire. Editors also send them on the chat wire. */
export const textOptions = z.looseObject({
  format: z.looseObject({
    type: z.string(),
    name: z.string().nullish(),
    description: z.string().nullish(),
    schema: json.nullish(),
    strict: z.boolean().nullish(),
  }).nullish(),
  verbosity: z.enum(["low", "medium", "high"]).nullish(),
});
