/** The errors of each protocol, as the protocol itself writes them. Each status has one response. */
import { TASK_OF } from "../../canonical/operations.ts";
import type { AnyProtocol } from "../../contract/protocol.ts";
import { type ErrorCode, GatewayError, STATUS_OF } from "../../errors.ts";
import { type MediaType, type Reference, refTo, type ResponseObject, type Schema, typeName } from "./json.ts";
import type { Schemas } from "./schemas.ts";

/**
 * The endpoints that can answer with a code: all, those that read a body, that run a model, that name one, or that
 * generate.
 */
type Where = "all" | "body" | "model" | "named" | "generate" | "never";

/** The meaning of each code, and the endpoints that may answer with it. */
const CODES: Record<ErrorCode, readonly [Where, meaning: string]> = {
  invalid_request: ["all", "The request is invalid, or an upstream says so."],
  context_length_exceeded: ["generate", "The conversation does not fit the model's context window."],
  previous_response_not_found: [
    "generate",
    "The stored response is unknown, deleted, expired or belongs to another key.",
  ],
  authentication: ["all", "No key, or one that is unknown or has expired."],
  billing: ["model", "The upstream's account has no credit."],
  budget_exceeded: ["model", "A budget has no room for the request. The message says when it resets."],
  permission: ["all", "The key does not open this lane or model."],
  not_found: ["all", "There is no such lane, response, conversation or item."],
  model_not_found: ["named", "There is no such model."],
  // This answers other methods, which the document does not list.
  method_not_allowed: ["never", "The path does not support this method."],
  request_timeout: ["body", "The body took too long to arrive."],
  request_too_large: ["body", "The body is larger than a limit of the gateway."],
  unsupported_media_type: ["body", "The gateway does not read this content type or encoding."],
  model_task_mismatch: ["named", "The model is for another task than the endpoint."],
  upgrade_required: ["all", "A WebSocket was requested where the gateway serves none."],
  rate_limit: ["all", "The key's quota is used up, or the upstream limits the rate."],
  headers_too_large: ["all", "The headers are longer than a limit of the gateway."],
  // This code appears only in the log.
  client_closed: ["never", "The client disconnected."],
  internal: ["all", "An internal error of the gateway."],
  unsupported: ["model", "The gateway does not offer this mode."],
  upstream_error: ["model", "The upstream failed, or sent an invalid answer."],
  unavailable: ["all", "The gateway or the upstream is overloaded, not ready or shutting down."],
  upstream_timeout: ["model", "The upstream took too long."],
};

function mayAnswer({ operation, body }: AnyProtocol, where: Where): boolean {
  const runsModel = TASK_OF[operation] !== undefined;
  switch (where) {
    case "all":
      return true;
    case "body":
      return body !== "none";
    case "model":
      return runsModel;
    case "named":
      return runsModel || operation === "getModel";
    case "generate":
      return operation === "generate" || operation === "countTokens";
    default:
      return false;
  }
}

const MESSAGE = "What went wrong, in a sentence";
const PARAM = "model";
const REQUEST_ID = "0d4a6f0e";

interface Sample {
  code: ErrorCode;
  status: number;
  mediaType: string;
  body: unknown;
}

/** The errors of all protocols. Protocols that write errors in the same way share them. */
export class Errors {
  readonly all: Record<string, ResponseObject> = {};
  readonly #schemas: Schemas;
  /** The wires by the function that writes their errors. */
  readonly #wires: ReadonlyMap<AnyProtocol["serializeError"], readonly string[]>;
  readonly #named = new Map<AnyProtocol["serializeError"], ReadonlyMap<number, string>>();

  constructor(schemas: Schemas, protocols: readonly AnyProtocol[]) {
    this.#schemas = schemas;
    this.#wires = new Map(
      Array.from(
        Map.groupBy(protocols, ({ serializeError }) => serializeError),
        ([write, own]) => [write, own.map(({ wire }) => wire)],
      ),
    );
  }

  /** The error responses of an endpoint, by status. */
  async of(protocol: AnyProtocol): Promise<Record<string, Reference>> {
    let named = this.#named.get(protocol.serializeError);
    if (!named) this.#named.set(protocol.serializeError, named = await this.#describe(protocol));
    const samples = await samplesOf(protocol, (where) => mayAnswer(protocol, where));
    const statuses = [...new Set(samples.map(({ status }) => status))].sort((a, b) => a - b);
    return Object.fromEntries(statuses.map((status) => [status, refTo("responses", named.get(status)!)]));
  }

  resolve(response: ResponseObject | Reference): ResponseObject {
    return "$ref" in response ? this.all[response.$ref.split("/").at(-1)!]! : response;
  }

  async #describe(protocol: AnyProtocol): Promise<ReadonlyMap<number, string>> {
    const samples = await samplesOf(protocol, (where) => where !== "never");
    const wires = new Set(this.#wires.get(protocol.serializeError));
    const wanted = wires.size === 1 ? `${protocol.wire}-error` : "error";
    const schema = refTo("schemas", this.#schemas.add(wanted, shapeOf(samples.map(({ body }) => body))));
    const byStatus = Map.groupBy(samples, ({ status }) => status);
    return new Map(Array.from(byStatus, ([status, own]) => [status, this.#add(`${wanted}-${status}`, own, schema)]));
  }

  #add(wanted: string, samples: readonly Sample[], schema: Schema): string {
    const codes = Map.groupBy(samples, ({ code }) => code);
    let name = typeName(wanted);
    while (Object.hasOwn(this.all, name)) name += "_";
    const examples: MediaType["examples"] = Object.fromEntries(
      Array.from(codes, ([code, [first]]) => [code, { summary: CODES[code][1], value: first!.body }]),
    );
    const [{ mediaType }] = samples as [Sample];
    this.all[name] = {
      description: [...codes.keys()].map((code) => `\`${code}\`: ${CODES[code][1]}`).join("\n\n"),
      headers: {
        "x-request-id": refTo("headers", "x-request-id"),
        "x-should-retry": refTo("headers", "x-should-retry"),
        "retry-after": refTo("headers", "retry-after"),
        "x-laneway-notes": refTo("headers", "x-laneway-notes"),
        "x-laneway-target": refTo("headers", "x-laneway-target"),
      },
      content: { [mediaType]: { schema, examples } },
    };
    return name;
  }
}

/** The protocol's error for each code, with and without a field that is at fault. */
async function samplesOf(protocol: AnyProtocol, isWanted: (where: Where) => boolean): Promise<Sample[]> {
  const codes = (Object.keys(STATUS_OF) as ErrorCode[]).filter((code) => isWanted(CODES[code][0]));
  const samples = codes.flatMap((code) =>
    [undefined, PARAM].map(async (param): Promise<Sample> => {
      const error = new GatewayError(code, MESSAGE, param === undefined ? {} : { param });
      const response = protocol.serializeError(error, { requestId: REQUEST_ID });
      const mediaType = response.headers.get("content-type")?.split(";")[0]?.trim() ?? "text/plain";
      const text = await response.text();
      return { code, status: response.status, mediaType, body: mediaType.endsWith("json") ? JSON.parse(text) : text };
    })
  );
  return await Promise.all(samples);
}

/** The schema of these values. Texts become an enumeration, unless one of them comes from the sample. */
function shapeOf(values: readonly unknown[]): Schema {
  const objects = values.filter((value) => typeof value === "object" && value !== null && !Array.isArray(value));
  const texts = [...new Set(values.filter((value) => typeof value === "string"))];
  const isOpen = texts.some((text) => [MESSAGE, PARAM, REQUEST_ID].includes(text));
  const kinds = [...new Set(values.map(typeOf))];
  const type = kinds.length === 1 ? kinds[0]! : kinds;
  if (objects.length === 0) {
    if (texts.length === 0 || isOpen) return { type };
    return { type, enum: [...texts, ...(kinds.includes("null") ? [null] : [])] };
  }
  const names = [...new Set(objects.flatMap((object) => Object.keys(object as object)))];
  const valueOf = (object: unknown, name: string) => (object as Record<string, unknown>)[name];
  return {
    type,
    properties: Object.fromEntries(names.map((name) => [
      name,
      shapeOf(objects.map((object) => valueOf(object, name)).filter((value) => value !== undefined)),
    ])),
    required: names.filter((name) => objects.every((object) => valueOf(object, name) !== undefined)),
  };
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
