/** The calls that ask for an operation, and one of them made: without what the upstream refuses. */
import { CACHE_HINT, withoutCacheHints } from "../canonical/cache_hints.ts";
import type { GenerateRequest, Message } from "../canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../canonical/json.ts";
import type { Input, ModelOperation, Output } from "../canonical/operations.ts";
import { withFormInWords } from "../canonical/output_form.ts";
import { withoutReasoning } from "../canonical/reasoning.ts";
import { withUpstreamNames } from "../canonical/tool_names.ts";
import type { AnswerContext } from "../contract/context.ts";
import type { Call, LocalOperation, Reply, Target, UpstreamOperation } from "../contract/driver.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { type Fetch, readReply, send, type Upstream } from "./send.ts";

export interface Ask<K extends ModelOperation> {
  operation: K;
  input: Input<K>;
  target: Target;
  upstream: Upstream;
  context: AnswerContext;
  fetch: Fetch;
  /** Aborted when nobody waits for the answer any more. */
  signal: AbortSignal;
  /**
   * Present where the form of the answer is asked for in words: the turns that correct an answer which had not that form,
   * none at the first try. Where it is absent, what is known of the upstream decides.
   */
  corrections?: readonly Message[];
  /** Called when the upstream's calls are described, and before one is made again with less: the last moment to refuse. */
  onDescribed(): void;
  /** Hears the head of each answer that is no failure. */
  onHead?(headers: Headers): void;
}

/** How the upstream is asked. Throws where it lacks its secret, or does not serve the operation. */
export function wayOf<K extends ModelOperation>(
  { operation, upstream }: Ask<K>,
): UpstreamOperation<K> | LocalOperation<K> {
  if (upstream.missingSecret !== undefined) {
    const message = `Upstream "${upstream.name}" has no secret: set the environment variable ${upstream.missingSecret}`;
    throw new GatewayError("unavailable", message, { retryable: false });
  }
  const way = upstream.driver.operations[operation];
  if (!way) throw new GatewayError("unsupported", `Upstream "${upstream.name}" does not serve "${operation}"`);
  return way;
}

/** Among what an upstream refuses, the reasoning of earlier turns, which is no field of the body. */
const REASONING = "reasoning of earlier turns";

/** The calls, as they would be made. */
export function describe<K extends ModelOperation>(ask: Ask<K>, way: UpstreamOperation<K>): Call[] {
  const { target, context } = ask;
  const refused = refusedBy(ask);
  const bare = refused.includes(CACHE_HINT) ? bareInput(ask) : ask.input;
  const told = "messages" in bare && refused.includes(REASONING) ? withoutReasoning(bare, context.note) : bare;
  const heard = "messages" in told ? inWords(withUpstreamNames(told), ask) : told;
  const calls = [way.request(heard, target, context)].flat().map((call) => withoutRefused(call, ask));
  ask.onDescribed();
  return calls;
}

/** The request, with the form of its answer in words where the upstream has no other way to hear of it. */
function inWords<K extends ModelOperation, T extends GenerateRequest>(input: T, ask: Ask<K>): T {
  const { corrections = needsWords(ask) ? [] : undefined, context } = ask;
  if (!corrections) return input;
  context.note("asked for response_format by instruction");
  const told = withFormInWords(input);
  return corrections.length > 0 ? { ...told, messages: [...told.messages, ...corrections] } : told;
}

/** What upstreams call the form of an answer when they refuse it, whichever field of their wire it stands in. */
const FORM = "response_format";

/** Whether this upstream can only be told in words what form the answer is to have. */
export function needsWords<K extends ModelOperation>(ask: Ask<K>): boolean {
  const { operation, input, target, upstream } = ask;
  if (!("messages" in input) || !input.outputSchema) return false;
  const way = upstream.driver.operations[operation];
  const hasForm = !way || "local" in way || way.hasForm?.(input.outputSchema) !== false;
  return !hasForm || target.structuredOutput === "instruct" ||
    upstream.refuses.includes(FORM) || upstream.refusals.of(placeOf(ask)).includes(nameOfForm(input));
}

/** Whether the upstream failed for the form of the answer that it was asked for: then it may answer when it is told in words. */
export function refusesForm(thrown: unknown, { input }: Ask<"generate">): boolean {
  return input.outputSchema !== undefined && toGatewayError(thrown).details.unsupported?.includes(FORM) === true;
}

/** What is learnt once it has answered without. */
export function rememberWords(ask: Ask<"generate">): void {
  if (!needsWords(ask)) ask.upstream.refusals.add(placeOf(ask), [nameOfForm(ask.input)]);
}

/** Some servers take a form, and tools, but not both. */
function nameOfForm({ tools = [] }: GenerateRequest): string {
  return tools.length > 0 ? "a form beside tools" : "a form";
}

function withoutRefused<K extends ModelOperation>(call: Call, ask: Ask<K>): Call {
  return without(call, refusedBy(ask), ask)?.call ?? call;
}

/** What the upstream is configured to refuse, and what it turned out to. */
function refusedBy<K extends ModelOperation>(ask: Ask<K>): readonly string[] {
  return [...ask.upstream.refuses, ...ask.upstream.refusals.of(placeOf(ask))];
}

/** Without cache hints, which stand in many places and are for the wire to find in none. */
function bareInput<K extends ModelOperation>({ input, context }: Ask<K>): Input<K> {
  return "messages" in input ? withoutCacheHints(input, context.note) : input;
}

/** The call for the same request without its cache hints, where those are refused and there are some in it. */
function withoutHints<K extends ModelOperation>(first: Call, ask: Ask<K>, refused: readonly string[]) {
  const way = wayOf(ask);
  const input = refused.includes(CACHE_HINT) ? bareInput(ask) : ask.input;
  if (input === ask.input || "local" in way) return undefined;
  const [call] = describe({ ...ask, input }, way);
  const isLess = call && JSON.stringify(call.body) !== JSON.stringify(first.body);
  return isLess ? { call, dropped: [CACHE_HINT] } : undefined;
}

/** The call without those of the fields that it has, or with them under their other names; nothing where it has none. */
function without<K extends ModelOperation>(
  call: Call,
  fields: readonly string[],
  { context, upstream }: Ask<K>,
): { call: Call; dropped: string[] } | undefined {
  const sent = fieldsOf(call);
  const dropped = new Set(fields.filter((field) => Object.hasOwn(sent, field)));
  if (dropped.size === 0) return undefined;
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
  return { call: { ...call, ...kept }, dropped: [...dropped] };
}

/** The fields under their new names, in their order; without those that have none. */
function rename(fields: JsonObject, nameOf: (field: string) => string | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, value]) => {
      const name = nameOf(field);
      return name === undefined ? [] : [[name, value]];
    }),
  );
}

/** One model at one of the places that an upstream may have. */
function placeOf<K extends ModelOperation>({ upstream, target }: Ask<K>): string {
  return `${upstream.baseUrl} ${target.model}`;
}

/** The response to a call, if it is no failure. */
export async function open<K extends ModelOperation>(call: Call, ask: Ask<K>, signal: AbortSignal): Promise<Response> {
  const response = await accepted(call, ask, signal);
  ask.onHead?.(response.headers);
  return response;
}

/** A call with fields that the upstream turns out to refuse is made once more without them. */
async function accepted<K extends ModelOperation>(call: Call, ask: Ask<K>, signal: AbortSignal): Promise<Response> {
  const { upstream, fetch } = ask;
  const response = await send(call, upstream, fetch, signal);
  if (response.ok) return response;
  const error = refusalOf(upstream, await readReply(response));
  // Without the form of its answer it would be another request.
  const unsupported = error.details.unsupported?.filter((field) => field !== FORM) ?? [];
  const less = withoutHints(call, ask, unsupported) ?? without(call, unsupported, ask) ?? withoutThoughts(ask, error);
  if (!less) throw error;
  ask.onDescribed();
  const second = await send(less.call, upstream, fetch, signal);
  if (!second.ok) throw refusalOf(upstream, await readReply(second));
  upstream.refusals.add(placeOf(ask), less.dropped);
  return second;
}

/**
 * The call for the same request without what was thought before. What one conversation brings, such as another vendor's
 * signature, says nothing of the next one, so only an upstream that takes no reasoning at all is remembered.
 */
function withoutThoughts<K extends ModelOperation>(
  ask: Ask<K>,
  { details: { reasoning } }: GatewayError,
): { call: Call; dropped: string[] } | undefined {
  const { input, context } = ask;
  const way = wayOf(ask);
  if (!reasoning || !("messages" in input) || "local" in way) return undefined;
  const bare = withoutReasoning(input, context.note);
  const [call] = bare === input ? [] : describe({ ...ask, input: bare }, way);
  return call && { call, dropped: reasoning === "any" ? [REASONING] : [] };
}

/** A status that says that it failed says that it does not go on; but for those that say that it took too long. */
function refusalOf({ driver }: Upstream, reply: Reply): GatewayError {
  const { code, message, details } = driver.parseError(reply);
  return new GatewayError(code, message, { ...details, untaken: code !== "upstream_timeout" });
}

/** What a call sends by name: nothing where it sends bytes. */
function fieldsOf({ body, form }: Call): JsonObject {
  if (form) return Object.fromEntries(form.map(({ name, value }) => [name, value ?? null]));
  if (!isJsonObject(body) || body instanceof Uint8Array) return {};
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

/** The embedded upstream is asked by answering, so what it leaves out is known only then. */
export function local<K extends ModelOperation>(way: LocalOperation<K>, ask: Ask<K>): Output<K> {
  const output = way.local(ask.input, ask.target, ask.context);
  ask.onDescribed();
  return output;
}

/** What is asked of an upstream that gives no answer step by step. */
export function cannotStream({ operation, upstream }: Ask<ModelOperation>): GatewayError {
  return new GatewayError("unsupported", `Upstream "${upstream.name}" does not stream "${operation}"`);
}
