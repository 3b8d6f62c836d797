/** Changes to a call: without the fields that its upstream refuses, or with a lower token limit. */
import { isJsonObject, type JsonObject } from "../canonical/json.ts";
import type { Input, ModelOperation } from "../canonical/operations.ts";
import type { RelayRequest } from "../canonical/relay.ts";
import type { Call } from "../contract/call.ts";
import type { GatewayError } from "../errors.ts";
import { type Attempt, placeOf } from "./attempt.ts";

/** Entries of a list of refused fields that are not fields of the body: reasoning of earlier turns, and cache hints. */
export const REASONING = "reasoning of earlier turns";

/** An entry, too: a last turn of the assistant that the server is to go on with. */
export const UNFINISHED = "unfinished turns";

/** The content of a turn with tool calls and no text. Each form is refused by some servers. */
export const NULL_CONTENT = "null content";
export const EMPTY_CONTENT = "empty content";

/** The field for the text after a gap. Without it, the gap is written with the marks of the model's family. */
export const SUFFIX = "native suffix";

/** The fields that the upstream refuses, as configured and as learned. */
export function refusedBy<K extends ModelOperation>(attempt: Attempt<K>): readonly string[] {
  const { operation, upstream: { refuses, refusals }, key } = attempt;
  // Completions have only this name for their limit, whatever the server's conversations have.
  const configured = operation === "complete" ? refuses.filter((field) => field !== "max_tokens") : refuses;
  return [...configured, ...refusals.names(placeOf(attempt), key)];
}

/** Without these, a completion would be the answer to another request. */
const NEEDED: ReadonlySet<string> = new Set(["prompt", "suffix", "n", "best_of", "echo", "logprobs", "max_tokens"]);

/** The call without these fields, or with them under their synonyms. Returns the same call if it has none of them. */
export function without<K extends ModelOperation>(
  call: Call,
  fields: readonly string[],
  { operation, context, upstream }: Attempt<K>,
): Call {
  if (fields.length === 0) return call;
  const sent = fieldsOf(call);
  const isKept = (field: string) => operation === "complete" && NEEDED.has(field);
  const dropped = new Set(fields.filter((field) => Object.hasOwn(sent, field) && !isKept(field)));
  if (dropped.size === 0) return call;
  const { synonyms = {} } = upstream.driver;
  const nameOf = (field: string) => {
    if (!dropped.has(field)) return field;
    const other = synonyms[field];
    return other === undefined || Object.hasOwn(sent, other) || fields.includes(other) ? undefined : other;
  };
  for (const field of dropped) if (nameOf(field) === undefined) context.note(`dropped ${field}`);
  const kept = call.form
    ? { form: call.form.filter(({ name }) => !dropped.has(name)) }
    : { body: rename(sent, nameOf) };
  return { ...call, ...kept };
}

/** The fields under their new names, in their original order. Fields without a new name are dropped. */
function rename(fields: JsonObject, nameOf: (field: string) => string | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const name = nameOf(field);
      return name === undefined ? [] : [[name, value]];
    }),
  );
}

/** Whether a refusal states the token limit that would fit this input. */
export function tellsRoom({ details: { answerLimit } }: GatewayError): boolean {
  const { most, input, total } = answerLimit ?? {};
  return [most, input, total].some((one) => one !== undefined);
}

/** The names that the wires have for the limit of an answer. */
const LIMIT_FIELDS = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/**
 * The largest share of the context window that the input takes by the gateway's estimate, which is high. The upstream's
 * refusal shows by how much.
 */
const MOST_TAKEN = 7 / 8;

/**
 * The call with the token limit that the refusal leaves room for, if the client set none and the gateway had guessed.
 * `undefined` if the input alone is too long.
 */
export function withShorterAnswer<K extends ModelOperation>(
  call: Call,
  { input, estimate }: Attempt<K>,
  error: GatewayError,
): Call | undefined {
  const { answerLimit } = error.details;
  if (!answerLimit || isLimited(input)) return undefined;
  const { most, window = 0, input: reported, total } = answerLimit;
  const fields = fieldsOf(call);
  const field = LIMIT_FIELDS.find((name) => typeof fields[name] === "number");
  if (field === undefined) return undefined;
  const sent = fields[field] as number;
  const reckoned = () => Math.min(estimate, Math.floor(window * MOST_TAKEN));
  const counted = reported ?? (total === undefined || total < sent ? total : total - sent);
  const room = most ?? window - (counted ?? reckoned());
  return room > 0 && room < sent ? { ...call, body: { ...fields, [field]: room } } : undefined;
}

/** Whether the client set the limit, or nothing of this kind has one. */
function isLimited(input: Input<ModelOperation>): boolean {
  if ("body" in input) return limitOf(input) !== undefined;
  return !("messages" in input) || input.maxOutputTokens !== undefined;
}

/** The limit of each answer that the client of a relayed request set, in tokens. */
export function limitOf(
  { body: { max_completion_tokens: limit, max_tokens: same } }: RelayRequest,
): number | undefined {
  const wanted = limit ?? same;
  return typeof wanted === "number" && wanted > 0 ? wanted : undefined;
}

/** The named fields of a call's body; none if the body is bytes. */
export function fieldsOf({ body, form }: Call): JsonObject {
  if (form) return Object.fromEntries(form.map(({ name, value }) => [name, value ?? null]));
  if (!isJsonObject(body) || body instanceof Uint8Array) return {};
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
