/** The endpoints of the gateway itself, outside all lanes. */
import { z } from "zod";
import type { AnyProtocol } from "../../contract/protocol.ts";
import type { Parts } from "./endpoints.ts";
import type { Operation, Parameter, Paths, ResponseObject } from "./json.ts";
import { jsonSchemaOf } from "./schemas.ts";

type Opens = "everybody" | "keys" | "operators";

interface OwnEndpoint {
  opens: Opens;
  summary: string;
  description?: string;
  parameters?: Record<string, { description: string; schema?: z.ZodType }>;
  /** The schemas by media type. `undefined` for text. */
  answer: Record<string, z.ZodType | undefined>;
  /** Another status with the same shape. */
  also?: Record<string, string>;
}

const count = z.int().min(0);
const text = z.string();
const json = (schema: z.ZodType) => ({ "application/json": schema });

export const OWN: Readonly<Record<string, OwnEndpoint>> = {
  "/": {
    opens: "everybody",
    summary: "Name, version and lanes",
    description: "A page for browsers.",
    answer: { ...json(z.object({ name: text, version: text, lanes: z.array(text) })), "text/html": undefined },
  },
  "/healthz": {
    opens: "everybody",
    summary: "Whether the process is alive",
    answer: json(z.object({ status: z.literal("ok") })),
  },
  "/readyz": {
    opens: "everybody",
    summary: "Whether the gateway takes requests",
    answer: json(z.object({ status: z.enum(["ready", "draining"]) })),
    also: { 503: "The gateway is about to stop." },
  },
  "/openapi.json": {
    opens: "everybody",
    summary: "This document",
    answer: json(z.looseObject({ openapi: text })),
  },
  "/docs": {
    opens: "everybody",
    summary: "This document as a page",
    answer: { "text/html": undefined },
  },
  "/metrics": {
    opens: "operators",
    summary: "Metrics, in the text format of Prometheus",
    answer: { "text/plain": undefined },
  },
  "/status": {
    opens: "operators",
    summary: "Upstreams with their breakers, queues, latencies and last errors",
    answer: json(z.looseObject({
      object: z.literal("status"),
      status: z.enum(["ready", "draining"]),
      requestsRunning: count,
      streamsOpen: count,
      webSocketsOpen: count,
      memoryBytes: count,
      upstreams: z.array(z.looseObject({
        name: text,
        driver: text,
        missingSecret: text.optional(),
        missingFile: text.optional(),
        resting: z.array(text),
        running: count.optional(),
        waiting: count.optional(),
        latencyMs: count.optional(),
        lastError: z.looseObject({ code: text, time: text }).optional(),
        refused: z.array(z.looseObject({
          model: text,
          kind: text.meta({ description: "What is done instead." }),
          part: text,
          holdsFor: z.enum(["all keys", "one key"]).meta({
            description: "Whose requests are written without it. It holds for one key until a second key confirms it.",
          }),
          until: text.meta({ description: "When one request tries the full form again. ISO 8601." }),
          settings: z.looseObject({}).optional().meta({
            description: "The settings of the upstream that would say the same of all its models, if there are any.",
          }),
        })).optional().meta({ description: "What its models were found to refuse. Absent if nothing." }),
      })),
      catalogs: z.array(z.looseObject({
        name: text,
        models: count.optional(),
        ageSeconds: count.optional().meta({ description: "How long ago its list was loaded. Absent if it never was." }),
        lastError: text.optional(),
      })).optional().meta({ description: "The lists of models that are loaded from services." }),
      prices: z.looseObject({ version: text, date: text }).optional().meta({
        description: "The public prices that come with the gateway, and when they were published.",
      }),
      workers: z.array(z.looseObject({ worker: count, pid: count, status: text })).optional().meta({
        description: "The processes, if several share one port: the figures above are their totals.",
      }),
    })),
  },
  "/usage": {
    opens: "keys",
    summary: "The usage of a key, by day and model",
    description: "An operator's key sees all keys, or the one that `key` names.",
    parameters: {
      days: { description: "How many days, with today. Without it, 30.", schema: z.int().min(1) },
      key: { description: "The name of one key. For operators." },
    },
    answer: json(z.looseObject({
      object: z.literal("usage"),
      days: count,
      data: z.array(z.looseObject({
        day: text,
        key: text,
        model: text,
        requests: count,
        inputTokens: count,
        outputTokens: count,
        dollars: text.optional().meta({ description: "A decimal text; absent where no price was known." }),
        unpricedRequests: count.optional().meta({ description: "The requests that are not in `dollars`." }),
        estimatedRequests: count.optional().meta({ description: "The requests whose tokens are estimated." }),
      })),
      budgets: z.array(z.looseObject({
        budget: text.meta({ description: "`key:` or `team:` and a name, or `gateway`." }),
        period: text,
        dollars: text,
        spent: text,
        left: text,
        resets: text.optional().meta({ description: "ISO 8601; absent if it never resets." }),
      })).optional().meta({ description: "The state of budgets. Amounts are decimal texts." }),
    })),
  },
};

/** `fallback`: the protocol of the errors of these endpoints. */
export async function ownPaths(fallback: AnyProtocol, parts: Parts): Promise<Paths> {
  const errors = await parts.errors.of(fallback);
  return Object.fromEntries(
    Object.entries(OWN).map(([path, endpoint]) => [path, { get: operationOf(path, endpoint, errors, parts) }]),
  );
}

/**
 * The statuses of errors: a bad parameter, a missing or wrong key, a key without permission, and a page that the
 * configuration disables.
 */
const ERRORS: Record<Opens, readonly string[]> = {
  everybody: [],
  keys: ["400", "401", "403", "404"],
  operators: ["401", "403", "404"],
};

function operationOf(
  path: string,
  { opens, summary, description, parameters = {}, answer, also = {} }: OwnEndpoint,
  errors: Operation["responses"],
  { schemas }: Parts,
): Operation {
  const name = path === "/" ? "index" : path.slice(1).replaceAll(".", "-");
  const content = Object.fromEntries(
    Object.entries(answer).map(([type, schema]) => [type, schema ? { schema: schemas.refer(schema, name) } : {}]),
  );
  const response = (description: string): ResponseObject => ({ description, content });
  const given = Object.entries(parameters).map(([name, { description, schema = text }]): Parameter => ({
    name,
    in: "query",
    description,
    schema: jsonSchemaOf(schema),
  }));
  const refused = ERRORS[opens].filter((status) => Object.hasOwn(errors, status));
  return {
    operationId: `gateway_${name.replaceAll("-", "_")}`,
    tags: ["gateway"],
    summary,
    ...(description !== undefined && { description }),
    ...(opens === "everybody" && { security: [] }),
    ...(opens === "operators" && { security: [{ bearer: [] }, { apiKey: [] }] }),
    parameters: given,
    responses: {
      200: response("The answer."),
      ...Object.fromEntries(Object.entries(also).map(([status, meaning]) => [status, response(meaning)])),
      ...Object.fromEntries(refused.map((status) => [status, errors[status]!])),
    },
  };
}
