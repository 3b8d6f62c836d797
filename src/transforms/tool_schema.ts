import type { JsonObject } from "../canonical/json.ts";

/**
 * A tool's schema in the form that every server accepts: an object schema with `properties`. Clients of some wires
 * leave out what is empty. A schema of another type would fail the whole request, and such a tool takes no arguments.
 */
export function objectSchema(schema: JsonObject | undefined): JsonObject {
  if (schema && "type" in schema && schema.type !== "object" && !isList(schema.type)) {
    return { type: "object", properties: {} };
  }
  return schema && "type" in schema && "properties" in schema ? schema : { type: "object", properties: {}, ...schema };
}

/** `["object", "null"]` is an object schema too. */
function isList(type: unknown): boolean {
  return Array.isArray(type) && type.includes("object");
}
