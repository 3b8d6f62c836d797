/** The endpoints of the protocols in the registry. */
import { TASK_OF } from "../../canonical/operations.ts";
import type { EndpointDescription } from "../../contract/description.ts";
import type { AnyProtocol } from "../../contract/protocol.ts";
import { MEDIA_TYPE } from "../../http/framing.ts";
import { yieldToEventLoop } from "../../util/sliced_work.ts";
import type { Errors } from "./errors.ts";
import { allowanceHeaders, COMMON_HEADERS, MODEL_HEADERS } from "./headers.ts";
import { type Document, type MediaType, type Operation, type Parameter, type Paths, refTo } from "./json.ts";
import { jsonSchemaOf, type Schemas } from "./schemas.ts";

/** The shared parts of a document, to which endpoints add theirs. */
export interface Parts {
  schemas: Schemas;
  errors: Errors;
  headers: Document["components"]["headers"];
}

const GROUP = /(?<!\\):(\w+)(\([^)]*\))?/g;

/** `/:lane/v1/models/:id(.+)\\:run` as `/{lane}/v1/models/{id}:run`. */
export function templateOf(pathname: string): string {
  return pathname.replace(GROUP, "{$1}").replaceAll("\\", "");
}

/**
 * The paths of all endpoints. Those that share a path and a method are one operation, which says which requests each of
 * them answers.
 */
export async function pathsOf(protocols: readonly AnyProtocol[], parts: Parts): Promise<Paths> {
  const paths: Paths = {};
  const places = Map.groupBy(
    protocols,
    ({ method, pattern }) => `${method.toLowerCase()} ${templateOf(pattern.pathname)}`,
  );
  for (const [place, sharing] of places) {
    const [method, path] = place.split(" ") as [string, string];
    const operations: Operation[] = [];
    for (const protocol of sharing) {
      const described = await descriptionOf(protocol);
      await yieldToEventLoop();
      operations.push(await operationOf(protocol, described, parts));
      await yieldToEventLoop();
    }
    (paths[path] ??= {})[method] = operations.reduceRight((rest, one) => merged(rest, one, parts.errors));
  }
  return paths;
}

async function descriptionOf(protocol: AnyProtocol): Promise<EndpointDescription> {
  return await protocol.describe?.() ??
    { summary: `${protocol.name}: ${protocol.operation}`, answer: { "*/*": undefined } };
}

async function operationOf(protocol: AnyProtocol, described: EndpointDescription, parts: Parts): Promise<Operation> {
  const { name, wire, operation } = protocol;
  const { summary, description, when } = described;
  const text = when === undefined ? description : `Answers requests ${when}. ${description ?? ""}`.trim();
  return {
    operationId: name.replaceAll("-", "_"),
    tags: [wire],
    summary,
    ...(text !== undefined && { description: text }),
    parameters: parametersOf(protocol, described),
    ...bodyOf(protocol, described, parts.schemas),
    responses: {
      ...(operation === "connect"
        ? { 101: { description: "The connection is a WebSocket from now on." } }
        : { 200: answerOf(protocol, described, parts) }),
      ...await parts.errors.of(protocol),
    },
  };
}

function answerOf(protocol: AnyProtocol, { answer, event }: EndpointDescription, { schemas, headers }: Parts) {
  const { name, operation, stream } = protocol;
  const mediaOf = (schema: Parameters<Schemas["refer"]>[0] | undefined, kind: string): MediaType =>
    schema ? { schema: schemas.refer(schema, `${name}-${kind}`) } : {};
  const content = Object.entries(answer).map(([type, schema]) => [type, mediaOf(schema, "answer")] as const);
  const framing = stream?.framing ?? "sse";
  const streamed = event ? [[MEDIA_TYPE[framing].split(";")[0]!, mediaOf(event, "event")] as const] : [];
  const own = [...COMMON_HEADERS, ...(TASK_OF[operation] === undefined ? [] : MODEL_HEADERS)];
  return {
    description: event
      ? "The answer. Of a streamed one the schema is that of the data of each event, or of each line."
      : "The answer.",
    headers: {
      ...Object.fromEntries(own.map((header) => [header, refTo("headers", header)])),
      ...allowanceHeaders(protocol, headers),
    },
    content: Object.fromEntries([...content, ...streamed]),
  };
}

function parametersOf(protocol: AnyProtocol, { parameters = {} }: EndpointDescription): Operation["parameters"] {
  const { pattern, operation, sessionHeaders = [] } = protocol;
  const groups = [...pattern.pathname.matchAll(GROUP)].map(([, name, rule]) =>
    name === "lane" ? refTo("parameters", "lane") : pathParameter(name!, rule !== undefined)
  );
  const own = Object.entries(parameters).map(([name, parameter]): Parameter => ({
    name,
    in: parameter.in,
    ...(parameter.isRequired && { required: true }),
    description: parameter.description,
    schema: parameter.schema ? jsonSchemaOf(parameter.schema) : { type: "string" },
  }));
  const sessions = sessionHeaders.map((name): Parameter => ({
    name,
    in: "header",
    description: "Which conversation the request belongs to: it goes where that went before.",
    schema: { type: "string" },
  }));
  const runsModel = TASK_OF[operation] !== undefined;
  const common = runsModel ? [refTo("parameters", "strict"), refTo("parameters", "explain")] : [];
  return [...groups, ...own, ...sessions, ...common];
}

function pathParameter(name: string, mayHoldSlashes: boolean): Parameter {
  const description = `The id${mayHoldSlashes ? ", whose slashes may stand as they are or encoded" : ""}.`;
  return { name, in: "path", required: true, description, schema: { type: "string", minLength: 1 } };
}

const BODY_TYPE = {
  json: "application/json",
  form: "multipart/form-data",
  bytes: "application/octet-stream",
  none: undefined,
};

function bodyOf(
  { name, body }: AnyProtocol,
  { request }: EndpointDescription,
  schemas: Schemas,
): Pick<Operation, "requestBody"> {
  const type = BODY_TYPE[body];
  if (type === undefined) return {};
  const media = request ? { schema: schemas.refer(request, `${name}-request`) } : {};
  return { requestBody: { required: true, content: { [type]: media } } };
}

/** Joins two operations that share a path and a method. `rest` answers the requests that `one` does not. */
function merged(rest: Operation, one: Operation, errors: Errors): Operation {
  const names = new Set((one.parameters ?? []).map(nameOf));
  const others = (rest.parameters ?? []).filter((parameter) => !names.has(nameOf(parameter)));
  return {
    ...rest,
    tags: [...new Set([...rest.tags, ...one.tags])],
    description: [rest.description, `**${one.summary}.** ${one.description ?? ""}`].filter(Boolean).join("\n\n"),
    parameters: [...(one.parameters ?? []), ...others],
    responses: { ...one.responses, ...rest.responses, ...bothAnswers(rest, one, errors) },
  };
}

function nameOf(parameter: NonNullable<Operation["parameters"]>[number]): string {
  return "$ref" in parameter ? parameter.$ref : `${parameter.in} ${parameter.name}`;
}

/** The answers for the statuses that both operations have. Either of the two may come. */
function bothAnswers(rest: Operation, one: Operation, errors: Errors): Operation["responses"] {
  const statuses = Object.keys(rest.responses).filter((status) => Object.hasOwn(one.responses, status));
  return Object.fromEntries(statuses.map((status) => {
    const [a, b] = [rest.responses[status]!, one.responses[status]!];
    if ("$ref" in a && "$ref" in b && a.$ref === b.$ref) return [status, a];
    const [own, other] = [errors.resolve(a), errors.resolve(b)];
    const types = new Set([...Object.keys(own.content ?? {}), ...Object.keys(other.content ?? {})]);
    const content = Array.from(types, (type) => [type, either(own.content?.[type], other.content?.[type])] as const);
    return [status, { ...own, headers: { ...other.headers, ...own.headers }, content: Object.fromEntries(content) }];
  }));
}

function either(a: MediaType | undefined, b: MediaType | undefined): MediaType {
  if (!a?.schema || !b?.schema) return a ?? b ?? {};
  const all = [a.schema, b.schema].flatMap((schema) => (schema.anyOf as MediaType["schema"][] | undefined) ?? [schema]);
  return { schema: { anyOf: all } };
}
