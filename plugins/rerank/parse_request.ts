import { extraField } from "../../src/canonical/extra.ts";
import { type JsonObject, present, toJsonText } from "../../src/canonical/json.ts";
import type { RerankRequest } from "../../src/canonical/rerank.ts";
import type { WireRequest } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { REQUEST_KEYS, requestSchema, WIRE } from "./wire.ts";

/** A client's request to order documents, in either version of the wire. `null` means absent. */
export function parseRequest(wire: WireRequest): RerankRequest {
  const body = validate(requestSchema, wire.body);
  const { documents } = body;
  const wanted = body.top_n ?? body.top_k;
  return {
    model: body.model,
    query: body.query,
    documents: documents.map((source, index) => ({
      text: typeof source === "string" ? source : documentText(source, body.rank_fields, index),
      source,
    })),
    ...present("topN", wanted && Math.min(wanted, documents.length)),
    returnDocuments: body.return_documents ?? false,
    ...extraField(WIRE, body, REQUEST_KEYS),
  };
}

/** The text of a document that is an object: its `text`, or the fields to rank by, each with its name. */
function documentText(
  source: JsonObject,
  fields: readonly string[] | null | undefined,
  index: number,
): string {
  const named = fields?.filter((name) => Object.hasOwn(source, name) && source[name] !== null);
  const text = named ? named.map((name) => `${name}: ${toJsonText(source[name])}`).join("\n") : source.text;
  if (typeof text === "string" && named?.length !== 0) return text;
  const param = fields ? `documents[${index}]` : `documents[${index}].text`;
  const expected = fields ? `a field of "rank_fields"` : "a text";
  throw new GatewayError("invalid_request", `Invalid value at "${param}": Expected ${expected}`, { param });
}
