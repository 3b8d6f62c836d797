/** The parts of an OpenAPI document (3.1) that are written here. */
export type Schema = Record<string, unknown>;

export interface MediaType {
  schema?: Schema;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

/** This is a type and not an interface, because only a type is assignable to `Schema`. */
export type Reference = { $ref: string };

export interface ResponseObject {
  description: string;
  headers?: Record<string, Reference>;
  content?: Record<string, MediaType>;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema: Schema;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security?: Record<string, string[]>[];
  parameters?: (Parameter | Reference)[];
  requestBody?: { required: boolean; content: Record<string, MediaType> };
  responses: Record<string, ResponseObject | Reference>;
}

export type Paths = Record<string, Record<string, Operation>>;

export interface Document {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string };
  servers: { url: string }[];
  security: Record<string, string[]>[];
  tags: { name: string; description: string }[];
  paths: Paths;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, ResponseObject>;
    headers: Record<string, { description: string; schema: Schema }>;
    parameters: Record<string, Parameter>;
    securitySchemes: Record<string, Record<string, string>>;
  };
}

export function refTo(kind: keyof Document["components"], name: string): Reference {
  return { $ref: `#/components/${kind}/${name}` };
}

/** `chat-models` as `ChatModels`, which code generators use as a name. */
export function typeName(name: string): string {
  return name.split(/[^A-Za-z0-9]+/).filter((part) => part !== "").map((part) => part[0]!.toUpperCase() + part.slice(1))
    .join("");
}
