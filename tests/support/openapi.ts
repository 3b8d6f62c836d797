/** The gateway's description of its API, as a client reads it. */
import type { Document, Operation, ResponseObject } from "../../src/pages/openapi/json.ts";
import { Ajv2020, type ValidateFunction } from "ajv/2020";
import { newApp, type TestAppOptions } from "./app.ts";

export async function readOpenapi(options: TestAppOptions = {}): Promise<Document> {
  return await (await newApp(options).get("/openapi.json")).json();
}

/** Follows a reference within the document. */
export function resolved<T extends object>(document: Document, value: T | { $ref: string }): T {
  if (!("$ref" in value)) return value;
  const steps = value.$ref.replace("#/", "").split("/");
  return steps.reduce<unknown>((inner, step) => (inner as Record<string, unknown>)[step], document) as T;
}

export function* operationsOf(document: Document): Generator<{ place: string; operation: Operation }> {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      yield { place: `${method.toUpperCase()} ${path}`, operation };
    }
  }
}

/** Whether values are as the document's schemas have them. */
export class Checker {
  readonly #document: Document;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: Document) {
    this.#document = document;
    this.#ajv.addSchema(document, "api");
  }

  /** The faults in the body of a request, by the path of its endpoint. */
  request(place: string, body: unknown, mediaType = "application/json"): string[] {
    const [method, path] = place.split(" ") as [string, string];
    return this.#faults(
      `paths/${escaped(path)}/${method.toLowerCase()}/requestBody/content/${escaped(mediaType)}/schema`,
      body,
    );
  }

  /** The faults in an answer. */
  answer(place: string, status: number, body: unknown, mediaType = "application/json"): string[] {
    const [method, path] = place.split(" ") as [string, string];
    const response = this.#document.paths[path]?.[method.toLowerCase()]?.responses[status];
    if (!response) return [`${place} does not answer ${status}`];
    const { content } = resolved<ResponseObject>(this.#document, response);
    if (!content?.[mediaType]) return [`${place} does not answer ${status} as ${mediaType}`];
    if (!content[mediaType].schema) return [];
    const at = "$ref" in response
      ? response.$ref.replace("#/", "")
      : `paths/${escaped(path)}/${method.toLowerCase()}/responses/${status}`;
    return this.#faults(`${at}/content/${escaped(mediaType)}/schema`, body);
  }

  #faults(pointer: string, value: unknown): string[] {
    let validate = this.#compiled.get(pointer);
    if (!validate) this.#compiled.set(pointer, validate = this.#ajv.compile({ $ref: `api#/${pointer}` }));
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`);
  }
}

/** As a step of a JSON pointer in a URI. */
function escaped(step: string): string {
  return encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1"));
}
