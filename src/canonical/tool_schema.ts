import type { JsonObject } from "./json.ts";

/** A tool's schema as every server takes it: of an object, its properties named. Clients of some wires leave out what is empty. */
export function objectSchema(schema: JsonObject | undefined): JsonObject {
  return schema && "type" in schema && "properties" in schema ? schema : { type: "object", properties: {}, ...schema };
}
