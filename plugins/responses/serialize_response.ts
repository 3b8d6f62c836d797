// deno-lint-ignore-file house/file-length -- one subject: an answer as a response object
import { fieldsFor } from "../../src/canonical/extra.ts";
import {
  type FilePart,
  type Finish,
  type GenerateResponse,
  type HostedPart,
  isCut,
  type OutputPart,
  type ReasoningPart,
  type TextPart,
} from "../../src/canonical/generate.ts";
import { asObject, isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { RunState } from "../../src/canonical/stored.ts";
import { noteDropped } from "../../src/transforms/placeholder.ts";
import type { Context, Exchange } from "../../src/contract/context.ts";
import { conversationId } from "./conversations.ts";
import { serializeFailure } from "./errors.ts";
import { serializeAnnotations } from "./content.ts";
import { serializeFinish } from "./finish.ts";
import { citeFiles, filesMadeBy, includesSources, type MadeHere, serializeHosted } from "./hosted_items.ts";
import { partId } from "./item_ids.ts";
import { serializeCall } from "./serialize_items.ts";
import { type Define, definitionsIn, type Namespaces, namespacesOf } from "./namespaces.ts";
import { SEARCH, searchesItself, serializeSearch } from "./tool_search.ts";
import { echoTool } from "./tools.ts";
import { serializeUsage } from "./usage.ts";
import { WIRE } from "./wire.ts";

/** The facts of the exchange that the object states, apart from the answer itself. */
export interface Facts {
  id: string;
  created: number;
  model: string;
  /** The request, as the client sent it. */
  body: unknown;
  previous?: string;
  stored: boolean;
}

export function factsOf({ id, created, input, wire, stored }: Exchange<"generate">): Facts {
  return { id, created, model: input.model, body: wire.body, previous: input.recall?.previous, stored };
}

/** A whole answer, with the id and the model name that the client knows. */
export function serializeResponse(output: GenerateResponse, exchange: Exchange<"generate">): JsonObject {
  return serializeAnswer(output, factsOf(exchange), exchange.now(), exchange);
}

/** Like `serializeResponse`, but for an answer that may be of another day. */
export function serializeAnswer(
  answer: GenerateResponse,
  facts: Facts,
  completed: number,
  context: Context,
): JsonObject {
  const [only] = answer.content;
  const isBare = only?.type === "text" && answer.content.length === 1 && !only.extra && !only.annotations?.length;
  const output = isBare ? [plainItem(only, facts, answer.finish)] : serializeParts(answer, facts, context);
  return serializeEnd(answer, facts, completed, output);
}

/** The result of `serializeItem` for a text alone. */
function plainItem(part: TextPart, { id }: Facts, finish: Finish): JsonObject {
  return {
    id: partId(id, part, 0),
    type: "message",
    status: isCut(finish, part) ? "incomplete" : "completed",
    role: "assistant",
    content: [{ type: "output_text", text: part.text, annotations: [], logprobs: [] }],
  };
}

function serializeParts({ content, finish }: GenerateResponse, facts: Facts, context: Context): JsonObject[] {
  const speech = speechFor(facts, context);
  // A step of a hosted tool stands where it began, as it is once it has run.
  const steps = new Map<string, HostedPart>();
  for (const part of content) if (part.type === "hosted") steps.set(part.id, part);
  const output: JsonObject[] = [];
  for (const [index, one] of content.entries()) {
    const isStep = one.type === "hosted" && one.call.kind !== "tool-search";
    const part = isStep ? steps.get(one.id) : one;
    if (isStep) steps.delete(one.id);
    const written = part && spoken(part, speech);
    if (!written) continue;
    if (written.type === "hosted") speech.made.push(...filesMadeBy(written));
    const item = serializeItem(written, partId(facts.id, part, index), speech);
    if (index === content.length - 1 && isCut(finish, part)) item.status = "incomplete";
    output.push(item);
  }
  return output;
}

/** A response as it has become, with all of its items. */
export function serializeEnd(
  { finish, usage, extra }: Pick<GenerateResponse, "finish" | "usage" | "extra">,
  facts: Facts,
  completed: number,
  output: JsonObject[],
): JsonObject {
  const { usage: counts, ...fields } = extra ? fieldsFor(WIRE, extra) : NO_FIELDS;
  const ending = serializeFinish(finish, fields);
  return {
    ...serializeHead(facts),
    ...fields,
    ...ending,
    completed_at: ending.status === "completed" ? completed : null,
    output,
    usage: serializeUsage(usage, counts === undefined ? undefined : asObject(counts)),
  };
}

const NO_FIELDS: JsonObject = Object.freeze({});

/**
 * A response that is not there yet: every key that the published schema has, the request's own words, and the protocol's
 * defaults for what the request does not set.
 */
export function serializeHead({ id, created, model, body, previous, stored }: Facts): JsonObject {
  const asked = asObject(body);
  const echo = (field: string, otherwise: JsonValue = null) => asked[field] ?? otherwise;
  const { reasoning, text } = asked;
  return {
    id,
    object: "response",
    created_at: created,
    completed_at: null,
    status: "in_progress",
    background: asked.background === true,
    ...(asked.conversation && { conversation: { id: conversationId(asked.conversation) } }),
    error: null,
    frequency_penalty: echo("frequency_penalty", 0),
    incomplete_details: null,
    instructions: echo("instructions"),
    max_output_tokens: echo("max_output_tokens"),
    max_tool_calls: echo("max_tool_calls"),
    model,
    output: [],
    parallel_tool_calls: echo("parallel_tool_calls", true),
    presence_penalty: echo("presence_penalty", 0),
    previous_response_id: previous ?? null,
    prompt_cache_key: echo("prompt_cache_key"),
    reasoning: { effort: null, summary: null, ...(isJsonObject(reasoning) && reasoning) },
    safety_identifier: echo("safety_identifier"),
    service_tier: "default",
    store: stored,
    temperature: echo("temperature", 1),
    text: isJsonObject(text) ? { ...text, format: formatIn(text) } : { format: { type: "text" } },
    tool_choice: echo("tool_choice", "auto"),
    tools: Array.isArray(asked.tools) ? asked.tools.map(echoTool) : [],
    top_logprobs: echo("top_logprobs", 0),
    top_p: echo("top_p", 1),
    truncation: "disabled",
    usage: null,
    user: echo("user"),
    metadata: echo("metadata", {}),
  };
}

/** A response that there is no answer of: not yet, or not any more. */
export function serializeRun({ status, error }: RunState, facts: Facts): JsonObject {
  return { ...serializeHead(facts), status, error: error && status === "failed" ? serializeFailure(error) : null };
}

/** The keys of the object, all of which are ours to tell. */
export const RESPONSE_KEYS: ReadonlySet<string> = new Set([
  ...Object.keys(serializeHead({ id: "", created: 0, model: "", body: {}, stored: false })).filter((key) =>
    key !== "service_tier"
  ),
  "output_text",
]);

function formatIn(text: JsonObject): JsonObject {
  const format = isJsonObject(text.format) ? text.format : { type: "text" };
  const { description, strict } = format;
  return format.type === "json_schema"
    ? { ...format, description: description ?? null, strict: strict ?? false }
    : format;
}

/** The facts on which the spelling of output depends. */
export interface Speech extends Context {
  namespaces: Namespaces;
  stored: boolean;
  /** Whether calls of the search for tools are items of their own. */
  searches: boolean;
  /** Whether the client wants to see what a search found. */
  showsSources: boolean;
  /** The definitions of tools that a search has found. */
  define: Define;
  /** Whether thoughts go out as their summary: clients that ask for one show nothing else. */
  summarizes: boolean;
  /** The files that code has made and no text has cited. */
  made: MadeHere[];
}

export function speechFor({ body, stored }: Facts, context: Context): Speech {
  const reasoning = asObject(asObject(body).reasoning);
  const { clientWire, note } = context;
  const namespaces = namespacesOf(body);
  const { tools } = asObject(body); // alone: an answer may not hold the conversation
  return {
    clientWire,
    note,
    namespaces,
    stored,
    searches: searchesItself(body),
    showsSources: includesSources(body),
    define: (names) => definitionsIn(tools, names, namespaces),
    made: [],
    summarizes: typeof (reasoning.summary ?? reasoning.generate_summary) === "string",
  };
}

/** A part of an answer as this wire can say it. Nothing, and a note, for what only another wire has. */
export function spoken(part: OutputPart, { note, stored }: Speech): SpokenPart | undefined {
  if (part.type === "file") {
    note(`dropped a file of type ${part.mediaType}`);
    return undefined;
  }
  if (part.type === "reasoning" && !stored && isUnspeakable(part)) return undefined;
  if (part.type !== "opaque" || part.extra.wire === WIRE) return part;
  noteDropped(part, note);
  return undefined;
}

/** Whether nothing of it is in words, and what it holds is not sealed for the client: it can be referred to, if it is stored. */
function isUnspeakable({ text, opaque }: ReasoningPart): boolean {
  return text === "" && opaque !== undefined && opaque.origin !== WIRE;
}

export type SpokenPart = Exclude<OutputPart, FilePart>;

export function serializeItem(part: SpokenPart, id: string, speech: Speech): JsonObject {
  switch (part.type) {
    case "text":
    case "refusal": {
      const { item, own } = splitFields(part);
      const content = [contentOf(part, own, speech)];
      return over({ id, type: "message", status: "completed", role: "assistant", content, ...item });
    }
    case "reasoning":
      return serializeReasoning(part, id, speech.summarizes);
    case "tool-call":
      if (isSearchCall(part, speech)) return { id, ...serializeSearch(part.id, part.input), status: "completed" };
      return {
        id,
        ...serializeCall(part, { name: speech.namespaces.split, reader: "client" }),
        status: "completed",
      };
    case "hosted":
      return serializeHosted(part, speech.showsSources, speech.define);
    case "opaque": {
      const { fields } = part.extra;
      return { id, ...fields, ...(typeof fields.id !== "string" && { id }) };
    }
    default:
      return part satisfies never;
  }
}

export function isSearchCall(part: SpokenPart, { searches }: Speech): boolean {
  return searches && part.type === "tool-call" && part.name === SEARCH;
}

/** Fields of the item that a text stood in at the upstream, and those of the text itself. */
function splitFields({ extra }: Pick<OutputPart, "extra">): { item: JsonObject; own: JsonObject } {
  const item: JsonObject = {};
  const own: JsonObject = {};
  if (!extra) return { item, own };
  for (const [key, value] of Object.entries(fieldsFor(WIRE, extra))) {
    if (key.startsWith("message.")) item[key.slice("message.".length)] = value;
    else own[key] = value;
  }
  return { item, own };
}

function contentOf(
  part: Extract<OutputPart, { type: "text" | "refusal" }>,
  own: JsonObject,
  { made }: Speech,
): JsonObject {
  return part.type === "refusal" ? { type: "refusal", refusal: part.text, ...own } : {
    type: "output_text",
    text: part.text,
    annotations: made.length > 0 && part.text !== ""
      ? [...serializeAnnotations(part), ...citeFiles(part.text, made)]
      : serializeAnnotations(part),
    logprobs: [],
    ...own,
  };
}

/** If the client asks for a summary, thoughts go out as the summary, whatever they were called upstream. */
function serializeReasoning({ text, opaque, extra }: ReasoningPart, id: string, summarizes: boolean): JsonObject {
  const hasText = text !== "";
  return over({
    id,
    type: "reasoning",
    summary: summarizes && hasText ? [{ type: "summary_text", text }] : [],
    ...(!summarizes && hasText && { content: [{ type: "reasoning_text", text }] }),
    ...(opaque?.origin === WIRE && { encrypted_content: opaque.data }),
    status: "completed",
    ...(extra?.wire === WIRE && extra.fields),
  });
}

/** An item that is sent whole is over, whatever else an upstream calls it. */
function over(item: JsonObject): JsonObject {
  return item.status === "incomplete" ? item : { ...item, status: "completed" };
}
