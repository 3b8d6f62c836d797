/** The format of the answer that a request asks for, both ways. */
import { extraOf } from "../../src/canonical/extra.ts";
import type { OutputSchema } from "../../src/canonical/generate.ts";
import { type JsonObject, present } from "../../src/canonical/json.ts";
import { type ResponseFormat, WIRE } from "./wire.ts";

const FORMAT_KEYS: ReadonlySet<string> = new Set(["type", "json_schema"]);
const KNOWN_FORMATS = ["text", "json_object", "json_schema"];

export function parseResponseFormat(format: ResponseFormat): OutputSchema | undefined {
  switch (format.type) {
    case "json_object":
      return {};
    case "json_schema": {
      const { name, description, schema, strict } =
        (format as Extract<ResponseFormat, { json_schema: unknown }>).json_schema;
      return {
        ...present("name", name),
        ...present("description", description),
        ...present("schema", schema),
        ...present("strict", strict),
      };
    }
    default:
      return undefined;
  }
}

function isEmptySchema({ name, schema }: OutputSchema = {}): boolean {
  return name === undefined && schema === undefined;
}

/** Whether the canonical form holds all of it. A schema that is not there makes it another form for all who read no more of it. */
export function isModelled(format: ResponseFormat): boolean {
  const isBare = format.type === "json_schema" && isEmptySchema(parseResponseFormat(format));
  return !isBare && KNOWN_FORMATS.includes(format.type) && !extraOf(WIRE, format, FORMAT_KEYS);
}

export function serializeOutputSchema({ name, description, schema, strict }: OutputSchema): JsonObject {
  if (!schema && name === undefined) return { type: "json_object" };
  return { type: "json_schema", json_schema: { name: name ?? "answer", description, schema, strict } };
}
