/** The calls that ask for an operation, and one of them made: without what the upstream refuses. */
import { CACHE_HINT } from "../transforms/cache_hints.ts";
import type { GenerateRequest, Message } from "../canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../canonical/json.ts";
import type { Input, ModelOperation, Output } from "../canonical/operations.ts";
import type { AnswerContext } from "../contract/context.ts";
import type { Call, Reply } from "../contract/call.ts";
import type { LocalOperation, Target, UpstreamOperation } from "../contract/driver.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { type Fetch, readReply, send, type Upstream } from "./send.ts";

/** What a target turned out to refuse, and how else it is asked. */
export interface Lessons {
  refusesCacheHints: boolean;
  /** Whether it takes no reasoning of earlier turns. */
  refusesReasoning: boolean;
  /** Present where the form of the answer is asked for in words: the turns that correct an answer which had not that form. */
  corrections?: readonly Message[];
}

export interface Ask<K extends ModelOperation> {
  operation: K;
  /** As it was asked, before it was prepared for the target: the answer is read by it. */
  input: Input<K>;
  /** The input as the target wants it; nothing but this changes it. */
  prepare(lessons: Lessons): Input<K>;
  /** The tokens of a conversation, estimated; 0 where it is none. */
  estimate: number;
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
    throw new GatewayError("unavailable", message, { retryable: false, notProcessed: true });
  }
  const way = upstream.driver.operations[operation];
  if (!way) throw new GatewayError("unsupported", `Upstream "${upstream.name}" does not serve "${operation}"`);
  return way;
}

/** Among what an upstream refuses, the reasoning of earlier turns: no field of the body, and neither are cache hints. */
const REASONING = "reasoning of earlier turns";

/** What turns with calls and no text have for their content: each is refused by some servers. */
const NULL_CONTENT = "null content";
const EMPTY_CONTENT = "empty content";

/** What stands in many places of the input, so that a call without it is described anew. */
const IN_INPUT: readonly string[] = [CACHE_HINT, REASONING, NULL_CONTENT, EMPTY_CONTENT];

/** The calls, as they would be made. */
export function describe<K extends ModelOperation>(ask: Ask<K>, way: UpstreamOperation<K>): Call[] {
  const calls = callsFor(ask, way, refusedBy(ask));
  ask.onDescribed();
  return calls;
}

/** The calls without what is refused: fields of their bodies, and what stands in many places, for the wire to find in none. */
function callsFor<K extends ModelOperation>(
  ask: Ask<K>,
  way: UpstreamOperation<K>,
  refused: readonly string[],
): Call[] {
  const target = {
    ...ask.target,
    ...(refused.includes(REASONING) && { refusesReasoning: true }),
    ...(refused.includes(NULL_CONTENT) && {
      silentContent: refused.includes(EMPTY_CONTENT) ? "absent" as const : "empty" as const,
    }),
  };
  const input = ask.prepare(lessonsOf(ask, refused));
  return [way.request(input, target, ask.context)].flat().map((call) => without(call, refused, ask));
}

/** What is known of the target, by which its input is prepared. */
export function lessonsOf<K extends ModelOperation>(ask: Ask<K>, refused = refusedBy(ask)): Lessons {
  return {
    refusesCacheHints: refused.includes(CACHE_HINT),
    refusesReasoning: refused.includes(REASONING),
    corrections: ask.corrections ?? (needsWords(ask) ? [] : undefined),
  };
}

/** What upstreams call the form of an answer when they refuse it, whichever field of their wire it stands in. */
const FORM = "response_format";

/** Whether this upstream can only be told in words what form the answer is to have. */
export function needsWords<K extends ModelOperation>(ask: Ask<K>): boolean {
  const { input, target, upstream } = ask;
  if (!("messages" in input) || !input.outputSchema) return false;
  // Whoever only counts is to be told the same.
  const way = upstream.driver.operations.generate;
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

/** What the upstream is configured to refuse, and what it turned out to. */
function refusedBy<K extends ModelOperation>(ask: Ask<K>): readonly string[] {
  return [...ask.upstream.refuses, ...ask.upstream.refusals.of(placeOf(ask))];
}

/** The call without those of the fields that it has, or with them under their other names; itself where it has none. */
function without<K extends ModelOperation>(call: Call, fields: readonly string[], { context, upstream }: Ask<K>): Call {
  const sent = fieldsOf(call);
  const dropped = new Set(fields.filter((field) => Object.hasOwn(sent, field)));
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

/** How often a request is asked of one upstream that refuses a part of it: some name one field at a time. */
const MOST_TRIES = 4;

/** A call with something in it that the upstream turns out to refuse is made again without. */
async function accepted<K extends ModelOperation>(first: Call, ask: Ask<K>, signal: AbortSignal): Promise<Response> {
  const { upstream, fetch } = ask;
  const learnt: string[] = [];
  let refused = refusedBy(ask);
  let call = first;
  let shortened = false;
  for (let tries = 1;; tries++) {
    const response = await send(call, upstream, fetch, signal);
    const error = response.ok
      ? undefined
      : refusalOf(upstream, await readReply(response, upstream.answerBytes, upstream.json));
    // Who finds fault with something else has got past what was left out.
    const isPast = !error || error.details.unsupported?.some((one) => !refused.includes(one));
    if (isPast && learnt.length > 0) upstream.refusals.add(placeOf(ask), learnt);
    if (!error) return response;
    const shorter = shortened ? undefined : withShorterAnswer(call, ask, error);
    if (shorter) {
      // What was only reckoned may be told exactly by the next refusal.
      shortened = tellsRoom(error);
      call = shorter;
      continue;
    }
    const named = namedIn(error);
    refused = [...refused, ...named];
    const less = tries < MOST_TRIES ? lessOf(call, ask, named, refused) : undefined;
    if (!less) throw error;
    ask.onDescribed();
    learnt.push(...named.filter((one) => isLearnt(one, call, less, error)));
    call = less;
  }
}

/** Whether a refusal says how long the answer may be beside this input. */
function tellsRoom({ details: { answerLimit } }: GatewayError): boolean {
  const { most, input, total } = answerLimit ?? {};
  return [most, input, total].some((one) => one !== undefined);
}

/** The part of the window that the input takes at most, by the estimate, which counts high: an upstream says by how much. */
const MOST_TAKEN = 7 / 8;

/**
 * The call with the limit for which the refusal leaves room, where the client set none: what was sent was a guess. Nothing
 * where the input alone is too long.
 */
function withShorterAnswer<K extends ModelOperation>(
  call: Call,
  { input, estimate }: Ask<K>,
  error: GatewayError,
): Call | undefined {
  const { answerLimit } = error.details;
  if (!answerLimit || !("messages" in input) || input.maxOutputTokens !== undefined) return undefined;
  const { field, most, window = 0, input: reported, total } = answerLimit;
  const fields = fieldsOf(call);
  const sent = fields[field];
  if (typeof sent !== "number") return undefined;
  const reckoned = () => Math.min(estimate, Math.floor(window * MOST_TAKEN));
  const counted = reported ?? (total === undefined || total < sent ? total : total - sent);
  const room = most ?? window - (counted ?? reckoned());
  return room > 0 && room < sent ? { ...call, body: { ...fields, [field]: room } } : undefined;
}

/** What an upstream's refusal is about, where the same can be asked without it. Without the form of its answer it could not. */
function namedIn({ details: { unsupported = [], reasoning } }: GatewayError): string[] {
  return [...unsupported.filter((field) => field !== FORM), ...(reasoning ? [REASONING] : [])];
}

/** The call without what was named, `refused` being all that is refused by now; nothing where that is the same call. */
function lessOf<K extends ModelOperation>(
  call: Call,
  ask: Ask<K>,
  named: readonly string[],
  refused: readonly string[],
): Call | undefined {
  const way = wayOf(ask);
  const standsInInput = named.some((one) => IN_INPUT.includes(one));
  if (!standsInInput || !("messages" in ask.input) || "local" in way) {
    const less = without(call, named, ask);
    return less === call ? undefined : less;
  }
  const [less] = callsFor(ask, way, refused);
  return less && JSON.stringify(less.body) !== JSON.stringify(call.body) ? less : undefined;
}

/**
 * Whether the upstream is to be spared it from now on: a field that was sent. What one conversation brings of earlier
 * reasoning, such as another vendor's signature, says nothing of the next one.
 */
function isLearnt(named: string, before: Call, after: Call, { details }: GatewayError): boolean {
  if ([CACHE_HINT, NULL_CONTENT, EMPTY_CONTENT].includes(named)) return true;
  if (named === REASONING) return details.reasoning === "any";
  return Object.hasOwn(fieldsOf(before), named) && !Object.hasOwn(fieldsOf(after), named);
}

/**
 * An answer outside 2xx. A redirect, or a status that is none of HTTP's failures, comes from something that is no model's
 * server, or is set up wrongly: nobody is asked again.
 */
function refusalOf({ driver }: Upstream, reply: Reply): GatewayError {
  const { code, message, details } = driver.parseError(reply);
  const { status } = reply;
  if (status < 400 || status > 599) {
    return new GatewayError("upstream_error", message, { ...details, retryable: false, tryNextTarget: false });
  }
  return new GatewayError(code, message, { ...details, notProcessed: isNotProcessed(status) });
}

/** Of a client's mistakes (RFC 9110) those that a server finds while it works, or waits: 408 and 424, and 499 of proxies. */
const LATE_REFUSALS: ReadonlySet<number> = new Set([408, 424, 499]);
/** Of a server's failures those that say that it is too busy to begin: 529 is how the vendor of the messages wire says it. */
const BUSY: ReadonlySet<number> = new Set([503, 529]);

/** Whether a status says that the work was not begun. A server may be at work still, and charge for it, after any other one. */
function isNotProcessed(status: number): boolean {
  return status < 500 ? !LATE_REFUSALS.has(status) : BUSY.has(status);
}

/** What a call sends by name: nothing where it sends bytes. */
function fieldsOf({ body, form }: Call): JsonObject {
  if (form) return Object.fromEntries(form.map(({ name, value }) => [name, value ?? null]));
  if (!isJsonObject(body) || body instanceof Uint8Array) return {};
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

/** The embedded upstream is asked by answering, so what it leaves out is known only then. */
export function local<K extends ModelOperation>(way: LocalOperation<K>, ask: Ask<K>): Output<K> {
  const input = ask.prepare({ refusesCacheHints: false, refusesReasoning: false });
  const output = way.local(input, ask.target, ask.context);
  ask.onDescribed();
  return output;
}

/** What is asked of an upstream that gives no answer step by step. */
export function cannotStream({ operation, upstream }: Ask<ModelOperation>): GatewayError {
  return new GatewayError("unsupported", `Upstream "${upstream.name}" does not stream "${operation}"`);
}
