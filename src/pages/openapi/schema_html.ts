/** A JSON schema as nested lists. */
import { escape } from "../../http/html.ts";
import type { Schema } from "./json.ts";

/** Schemas below this depth are only mentioned. */
const DEEPEST = 8;

export function schemaHtml(schema: Schema, depth = 0): string {
  const words = `<span>${wordsOf(schema)}</span>${noteHtml(schema)}`;
  return depth >= DEEPEST ? words : `${words}${insideHtml(schema, depth)}`;
}

function noteHtml({ description }: Schema): string {
  return typeof description === "string" ? ` – ${escape(description).replace(/`([^`]+)`/g, "<code>$1</code>")}` : "";
}

/** The schema in a few words: `text`, `list of numbers`, or the name of another schema. */
function wordsOf(schema: Schema): string {
  const { $ref, type, const: only, enum: values } = schema;
  if (typeof $ref === "string") {
    const name = escape($ref.split("/").at(-1)!);
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (only !== undefined) return `<code>${escape(JSON.stringify(only))}</code>`;
  if (Array.isArray(values)) return values.map((value) => `<code>${escape(JSON.stringify(value))}</code>`).join(" or ");
  const options = optionsOf(schema);
  if (options.length > 0 && options.every(isPlain)) return [...new Set(options.map(wordsOf))].join(" or ");
  if (options.length > 0) return "one of";
  if (type === "array") return isPlain(itemOf(schema)) ? `list of ${wordsOf(itemOf(schema))}` : "list";
  const types = [type].flat().filter((one) => typeof one === "string");
  return types.length === 0 ? "anything" : escape(types.join(" or "));
}

function optionsOf({ anyOf, oneOf }: Schema): Schema[] {
  return ((anyOf ?? oneOf) as Schema[] | undefined) ?? [];
}

function itemOf({ items }: Schema): Schema {
  return typeof items === "object" && items !== null ? items as Schema : {};
}

/** Whether a few words describe the schema completely. */
function isPlain(schema: Schema): boolean {
  if (schema.properties !== undefined) return false;
  if (optionsOf(schema).length > 0) return optionsOf(schema).every(isPlain);
  return schema.type !== "array" || isPlain(itemOf(schema));
}

function insideHtml(schema: Schema, depth: number): string {
  const { properties, type } = schema;
  const options = optionsOf(schema);
  if (options.length > 0 && !options.every(isPlain)) {
    return foldedHtml(options.map((option) => `<li>${schemaHtml(option, depth + 1)}</li>`), depth);
  }
  if (type === "array" && !isPlain(itemOf(schema))) {
    return foldedHtml([`<li>of ${schemaHtml(itemOf(schema), depth + 1)}</li>`], depth);
  }
  if (properties === undefined) return "";
  const required = new Set(schema.required as string[] | undefined);
  const fields = Object.entries(properties as Record<string, Schema>).map(([name, field]) =>
    `<li><code>${escape(name)}</code>${required.has(name) ? " <strong>required</strong>" : ""} ${
      schemaHtml(field, depth + 1)
    }</li>`
  );
  return foldedHtml(fields, depth);
}

/** The rows as a list. A nested list is folded away. */
function foldedHtml(rows: readonly string[], depth: number): string {
  const list = `<ul class="fields">${rows.join("\n")}</ul>`;
  return depth === 0 ? list : `<details><summary>Show</summary>${list}</details>`;
}
