import type { JsonObject } from "../canonical/json.ts";

/**
 * A tool's schema as every server takes it: of an object, its properties named. Clients of some wires leave out what is empty;
 * one that is of something else would fail the request for all tools, and its call has nothing to say.
 */
export function objectSchema(schema: JsonObject | undefined): JsonObject {
  if (schema && "type" in schema && schema.type !== "object" && !isList(schema.type)) {
    return { type: "object", properties: {} };
  }
  return schema && "type" in schema && "properties" in schema ? schema : { type: "object", properties: {}, ...schema };
}

/** `["object", "null"]` is of an object too. */
function isList(type: unknown): boolean {
  return Array.isArray(type) && type.includes("object");
}
