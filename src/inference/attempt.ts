/** One attempt at a target: how the target is called, and what is recorded about it. */
import type { HostedTool } from "../canonical/generate.ts";
import type { Input, ModelOperation } from "../canonical/operations.ts";
import type { Capture } from "../context/capture.ts";
import type { Gateway } from "../context/gateway.ts";
import { refuseIfStrict, type RequestContext } from "../context/request_context.ts";
import { addNote, type AttemptRecord, type RequestLog } from "../context/request_log.ts";
import type { Hide } from "../context/secrets.ts";
import type { AnswerContext } from "../contract/context.ts";
import type { Driver, Target } from "../contract/driver.ts";
import type { Intake } from "../contract/intake.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import { GatewayError } from "../errors.ts";
import type { ListedPrice } from "../observe/cost.ts";
import { withinBudget } from "../transforms/controls.ts";
import type { Attempt, Lessons, WayBack } from "../upstream/attempt.ts";
import type { Upstream } from "../upstream/send.ts";
import { settleWithin } from "../util/timeout.ts";
import { pricedTarget } from "./billing.ts";
import { count } from "./counting.ts";
import { FACT } from "./facts.ts";
import { isLostOn, isOffAt } from "./hosted_tool_policy.ts";
import type { Inference } from "./inference.ts";
import { passPlugins } from "./plugin_stages.ts";
import { prepareForTarget, type TargetFacts } from "./target_stages.ts";
import { traceAttempt, withTrace } from "./tracing.ts";

/** Opens an attempt at a target, which is the request's current attempt from now on. */
export function openAttempt<K extends ModelOperation>(
  inference: Inference<K>,
  where: PlannedTarget,
  signal?: AbortSignal,
): Attempt<K> {
  const { operation, input, context, steps, facts } = inference;
  const { requestLog } = context;
  const upstream = upstreamOf(where, context);
  const attempt = requestLog.begin(where);
  if (!where.price) attempt.listed = listedPrice(where, attempt, context.gateway);
  if (!steps && requestLog.trace) attempt.trace = traceAttempt(operation, input, { where, upstream }, context);
  const created = createAttempt(inference, { where, upstream, attempt }, signal);
  return facts & FACT.strict ? { ...created, onDescribed: () => refuseIfStrict(context, attempt) } : created;
}

/** A function of its own: its closure lives as long as the answer, and the attempt holds the whole conversation. */
function listedPrice(where: PlannedTarget, attempt: AttemptRecord, { prices }: Gateway): ListedPrice {
  return (inputTokens) => prices.of(pricedTarget(where, attempt), inputTokens);
}

/** How long an answer whose head has come waits for the first list of prices, in milliseconds. */
const PRICES_MS = 500;

/** Opens an attempt that is not recorded as one of the request's. Its notes go to `attempt` only. */
export function openUnrecordedAttempt<K extends ModelOperation>(
  inference: Inference<K>,
  where: PlannedTarget,
  attempt: AttemptRecord,
  signal: AbortSignal,
): Attempt<K> {
  return createAttempt(inference, { where, upstream: upstreamOf(where, inference.context), attempt }, signal);
}

/** A target, its upstream, and the record of the attempt. */
interface AttemptParts {
  where: PlannedTarget;
  upstream: Upstream;
  attempt: AttemptRecord;
}

function createAttempt<K extends ModelOperation>(
  inference: Inference<K>,
  { where, upstream, attempt }: AttemptParts,
  signal: AbortSignal = inference.context.signal,
): Attempt<K> {
  const { operation, input, estimate, steps, facts, context } = inference;
  const { gateway, clientWire, caller, requestLog } = context;
  const answer = answerContext(clientWire, attempt, context.hide);
  // One made here would hold the conversation, which the stages of plugins may not.
  const { note } = answer;
  const target: Target = { ...upstream.quirks, ...where, model: where.pinned ?? where.model };
  if ("messages" in input) attempt.counted = count(input, estimate, facts, attempt.target, gateway.counting);
  const tools = facts & HOSTED ? hostedToolsAt(where, inference) : undefined;
  const prepareFor = (lessons: Lessons): Input<K> => {
    if (!("messages" in input)) return withBudgetOnly(input, attempt, target, note) as Input<K>;
    const targetFacts: TargetFacts = {
      facts,
      target: attempt.target,
      clientWire,
      systemMessages: target.systemMessages,
      refusedTools: upstream.refuses,
      intake: upstream.driver.intake?.(target),
      hosted: tools?.offer,
      refusesTool: tools?.refuses,
      refusesCacheHints: lessons.refusesCacheHints,
      refusesReasoning: lessons.refusesReasoning,
      corrections: lessons.corrections,
      answerLimit: attempt.answerLimit,
      answerRoom: target.answerRoom,
    };
    return prepareForTarget(input, targetFacts, note, steps) as Input<K>;
  };
  const wayBack: WayBack<K> | undefined = gateway.stages.length > 0 ? { back: [] } : undefined;
  return {
    operation,
    input,
    estimate: "messages" in input ? estimate : 0,
    largeFor: requestLog.isLarge ? caller.owner : undefined,
    key: caller.owner,
    target,
    upstream: calleeOf(upstream, inference, attempt, tools?.lost),
    context: answer,
    signal,
    calls: requestLog,
    wayBack,
    prepare(lessons) {
      const prepared = prepareFor(lessons);
      return wayBack ? passPlugins(inference, prepared, { attempt, signal, note }, wayBack) : prepared;
    },
    onHead: upstream.providers || attempt.listed
      ? (headers) => noteProvider(headers, { where, upstream, attempt }, context)
      : undefined,
  };
}

/** Notes which provider answers, and loads its price. The body is read once that has settled. */
function noteProvider(
  headers: Headers,
  { where, upstream, attempt }: AttemptParts,
  { gateway, hide }: RequestContext,
): Promise<unknown> | undefined {
  const provider = providerIn(headers, upstream);
  if (provider !== undefined && hide(provider) === provider) attempt.provider = provider;
  const loading = attempt.listed && gateway.prices.load(pricedTarget(where, attempt));
  return loading && settleWithin(loading, PRICES_MS);
}

/** The facts about requests to which hosted tools matter. */
const HOSTED = FACT.hostedTools | FACT.offered;

/** How the target treats hosted tools. `lost`: the fields that ask for tools which it does not run. */
function hostedToolsAt(where: PlannedTarget, { offer, beside, context }: Inference) {
  const isOff = isOffAt(where, context);
  const refuses = (tool: HostedTool) => offer !== undefined && isOff || isLostOn(tool, where, context);
  const lost = beside.filter(refuses).flatMap(({ extra }) => Object.keys(extra.fields));
  return { offer: isOff ? undefined : offer, refuses, lost };
}

/** The upstream as this attempt calls it. */
function calleeOf(
  upstream: Upstream,
  { context: { caller, request, requestLog } }: Inference,
  attempt: AttemptRecord,
  lost: readonly string[] = [],
): Upstream {
  let callee = upstream;
  if (upstream.takesTokens) callee = { ...callee, secret: caller.token };
  if (lost.length > 0) callee = { ...callee, refuses: [...upstream.refuses, ...lost] };
  if (attempt.trace || upstream.propagateTrace) callee = withTrace(callee, attempt.trace, request.headers);
  return requestLog.capture ? withCapture(callee, attempt, requestLog.capture, requestLog.reason) : callee;
}

/** Prepares a request that is not a conversation in canonical form: only the limit of its budget is applied. */
function withBudgetOnly<T extends Input<ModelOperation>>(
  input: T,
  { answerLimit }: AttemptRecord,
  target: Target,
  note: (text: string) => void,
): T | Input<"relay" | "complete"> {
  return answerLimit !== undefined && ("body" in input || "prompts" in input)
    ? withinBudget<Input<"relay" | "complete">>(input, answerLimit, target, note)
    : input;
}

/** The upstream, with its calls captured. */
function withCapture(
  upstream: Upstream,
  { target }: AttemptRecord,
  capture: Capture,
  reason: RequestLog["reason"],
): Upstream {
  const { name, driver, transport, secretPlace } = upstream;
  const secret = { secretHeader: secretPlace?.header, secretParameter: secretPlace?.query };
  const facts = { target, upstream: name, driver: driver.name, reason, ...secret };
  return { ...upstream, transport: capture.recorded(transport, facts) };
}

/**
 * Lives as long as the answer, so it is given nothing of the request. An attempt that serves has other `notes` from then
 * on.
 */
function answerContext(clientWire: string, attempt: AttemptRecord, hide: Hide): AnswerContext {
  return {
    clientWire,
    note: (text) => addNote(attempt.notes, hide(text)),
    get inputTokens() {
      if (!attempt.counted) return 0;
      attempt.counted.used = true;
      return attempt.counted.inputTokens;
    },
  };
}

/**
 * The provider that served, as named by an upstream that chooses among several. Only an id that would fit into a
 * model's name is taken.
 */
function providerIn(headers: Headers, { providers }: Upstream): string | undefined {
  const provider = providers && headers.get(providers.servedBy);
  return provider && /^[\w.-]{1,64}$/.test(provider) ? provider : undefined;
}

/** How the target's driver takes conversations. */
export function intakeAt(
  where: PlannedTarget,
  { gateway: { upstreams, drivers } }: RequestContext,
): Intake | undefined {
  const upstream = upstreams.get(where.upstream);
  const driver = where.driver === undefined ? upstream?.driver : drivers.get(where.driver);
  return upstream && driver?.intake?.({ ...upstream.quirks, ...where, model: where.pinned ?? where.model });
}

/** The upstream with the driver, the base URL and the errors of this target. Throws if the caller may not use it. */
export function upstreamOf(
  { upstream: name, driver: spoken, path, guessed, pinned }: PlannedTarget,
  { gateway: { upstreams, drivers }, caller }: RequestContext,
): Upstream {
  const upstream = upstreams.get(name);
  const driver = spoken === undefined ? upstream?.driver : drivers.get(spoken);
  if (!upstream || !driver) throw new GatewayError("internal", `Upstream "${name}" is not configured`);
  if (caller.isStranger && !upstream.takesTokens && upstream.baseUrl !== undefined) {
    throw new GatewayError("permission", `Upstream "${name}" requires a key of this gateway`, {
      tryNextTarget: true,
    });
  }
  if (upstream.takesTokens && !caller.token) {
    const message = `Upstream "${name}" takes the caller's own token: send it as "Authorization: Bearer <token>"`;
    throw new GatewayError("authentication", message, { tryNextTarget: true });
  }
  const own = upstream.takesTokens ? withCallersToken(driver) : driver;
  if (pinned !== undefined) return { ...upstream, driver: withOtherProviders(own) };
  if (path === undefined) return own === driver ? upstream : { ...upstream, driver: own };
  return { ...upstream, driver: guessed ? withGuessedPath(own) : own, baseUrl: `${upstream.baseUrl}/${path}` };
}

/** The driver, with its errors changed. */
function withErrors(driver: Driver, change: (error: GatewayError) => GatewayError): Driver {
  return { ...driver, parseError: (reply) => change(driver.parseError(reply)) };
}

/** The path was guessed, so "no such model" from there does not prove that the model does not exist. */
function withGuessedPath(driver: Driver): Driver {
  const message = "Cannot locate the model: the catalog does not answer, and the default place does not have the model";
  return withErrors(
    driver,
    (error) => error.code === "model_not_found" ? new GatewayError("unavailable", message, error.details) : error,
  );
}

/** Another provider may accept a request that this one refuses. */
function withOtherProviders(driver: Driver): Driver {
  return withErrors(
    driver,
    ({ code, message, details }) => new GatewayError(code, message, { ...details, tryNextTarget: true }),
  );
}

/** A refusal of the token is the caller's error, because the token is the caller's. */
function withCallersToken(driver: Driver): Driver {
  return withErrors(driver, (error) => {
    const { upstreamStatus: status, ...details } = error.details;
    if (status !== 401 && status !== 403) return error;
    const code = status === 401 ? "authentication" : "permission";
    const message = `The upstream refused your token (${status})`;
    return new GatewayError(code, message, { ...details, upstreamStatus: status, tryNextTarget: true });
  });
}
