/** One request up to its operation, and the answer: match, authenticate, read, dispatch, answer. */
import { type Input, TASK_OF } from "./canonical/operations.ts";
import { finish } from "./context/finalize_response.ts";
import type { Gateway } from "./context/gateway.ts";
import {
  identified,
  openContext,
  type OpenedContext,
  type RequestContext,
  shuttingDown,
  withCaller,
  withProtocol,
} from "./context/request_context.ts";
import type { WireRequest } from "./contract/context.ts";
import type { AnyProtocol, Protocol } from "./contract/protocol.ts";
import type { Match } from "./contract/registry.ts";
import { OPERATIONS } from "./endpoints/mod.ts";
import { findResponse } from "./endpoints/stored_responses.ts";
import { GatewayError, toGatewayError } from "./errors.ts";
import type { Account } from "./http/admission.ts";
import type { Caller } from "./http/auth.ts";
import { checkHost } from "./http/host.ts";
import { findLostPath, type LostPath } from "./http/lost_path.ts";
import { methodNotAllowed, OPERATOR_PATHS } from "./http/operator_endpoints.ts";
import { withoutBody } from "./http/respond.ts";
import { checkHeaders } from "./http/size.ts";
import type { JsonUpload, Uploads } from "./http/uploads.ts";
import { describeError } from "./inference/describe_error.ts";
import { wantsExplanation } from "./inference/explain.ts";
import type { ServedOperation } from "./inference/incoming.ts";
import { findLane, findModel, laneFor, notServed } from "./inference/resolve.ts";
import type { Lane } from "./lanes/lane.ts";
import type { Audit } from "./observe/audit.ts";
import { answerPage, findPage, PAGE_SEGMENTS } from "./pages/mod.ts";
import type { Peer } from "./platform/platform.ts";
import { runStep } from "./util/sliced_work.ts";

/** The first segments of the gateway's own paths, outside all lanes. */
const OWN_SEGMENTS: ReadonlySet<string> = new Set([
  ...OPERATOR_PATHS.map((path) => path.slice(1)),
  ...PAGE_SEGMENTS,
]);

/** The operations that take from the caller's limits: those that run a model, and those on files. */
const LIMITED: ReadonlySet<string> = new Set([
  ...Object.entries(TASK_OF).flatMap(([name, task]) => task === undefined || name === "countTokens" ? [] : [name]),
  "files",
]);

/** `peer`: the caller's address, absent for calls within the process. `known`: the caller, if already authenticated. */
export async function handle(
  request: Request,
  peer: Peer | undefined,
  gateway: Gateway,
  known?: Caller,
  isFromConsole = false,
): Promise<Response> {
  const loading = gateway.observe.load?.();
  if (loading) await loading;
  const opened = openContext(request, peer, gateway);
  const { url, requestLog } = opened;
  requestLog.isFromConsole = isFromConsole;
  let protocol: AnyProtocol | undefined;
  let context: RequestContext | undefined;
  let isReading = false;
  try {
    checkHost(request, url);
    const own = OWN_SEGMENTS.has(url.pathname.split("/", 2)[1]!) ? serveOwn(url, opened, known) : undefined;
    if (own) return await own;

    const match = gateway.registry.match(request, url);
    const found = match ?? unserved(opened);
    protocol = found.protocol;
    requestLog.entry.protocol = match?.protocol.name;
    checkHeaders(request.headers, gateway.guards.limits.headerBytes);
    gateway.observe.feed?.begin(opened.id, requestLog, request.headers);
    const caller = known ?? gateway.guards.authenticate(request, peer, protocol.keyPlaces);
    context = identified(opened, protocol, caller instanceof Promise ? await caller : caller);
    if (context.caller.team !== undefined) gateway.observe.feed?.identify(opened.id, context.caller.team);
    if (!match || "allow" in match) throw await refusalOf(found, context);
    const lane = enter(match, context);
    if (match.protocol.load) await match.protocol.load();
    isReading = true;
    const received = await receive(match.protocol, context);
    isReading = false;
    const answer = await dispatch<ServedOperation>(match.protocol, match.params, lane, received, context);
    return requestLog.capture ? await recorded(answer, context) : finish(answer, context);
  } catch (thrown) {
    context ??= withProtocol(opened, protocol);
    const answer = await answerError(thrown, context, isReading);
    return requestLog.capture ? await recorded(answer, context) : finish(answer, context);
  }
}

/** Records a copy of the answer, as the configuration wants. Returns the finished answer. */
async function recorded(answer: Response, context: RequestContext): Promise<Response> {
  const { requestLog } = context;
  const kept = await requestLog.capture?.answered(answer, requestLog) ?? answer;
  const finished = finish(kept, context);
  requestLog.capture?.concluded(finished);
  return finished;
}

/** Serves the gateway's own paths. `undefined` for any other path. */
function serveOwn(
  url: URL,
  opened: OpenedContext,
  known: Caller | undefined,
): Response | Promise<Response> | undefined {
  const { request, gateway, requestLog } = opened;
  const service = gateway.operatorEndpoints(request, url);
  if (service) {
    requestLog.discard();
    return service;
  }
  const page = findPage(url, gateway.observe.feed !== undefined);
  return page && servePage(page, withProtocol(opened), known);
}

/** Serves the gateway's own pages. A page may turn its request into another one, which is then handled like any other. */
async function servePage(
  page: NonNullable<ReturnType<typeof findPage>>,
  opened: RequestContext,
  known: Caller | undefined,
): Promise<Response> {
  const { request, peer, gateway } = opened;
  checkHeaders(request.headers, gateway.guards.limits.headerBytes);
  const isOpen = page.opens === "everybody";
  const context = isOpen ? opened : withCaller(opened, known ?? await gateway.guards.authenticate(request, peer));
  if (!page.takesAny && request.method !== "GET" && request.method !== "HEAD") {
    throw methodNotAllowed(request.method, ["GET", "HEAD"]);
  }
  const answer = await answerPage(page, context);
  if (!(answer instanceof Response)) {
    const own = await handle(answer.request, peer, gateway, answer.caller, true);
    return await answer.answered?.(own) ?? own;
  }
  return request.method === "HEAD" ? withoutBody(answer) : answer;
}

/** The lane that the path names, if any. */
function enter(
  { protocol, params }: Pick<NonNullable<Match>, "protocol" | "params">,
  context: RequestContext,
): Lane | undefined {
  const { request, requestLog } = context;
  if (request.headers.has("upgrade") && protocol.operation !== "connect") refuseUpgrade(request);
  const lane = "lane" in params ? findLane(params.lane, context) : undefined;
  requestLog.entry.lane = lane?.name;
  return lane;
}

/** A path that no protocol serves. */
interface Unserved {
  protocol: AnyProtocol;
  /** The path that may have been intended. */
  lost: LostPath | undefined;
}

function unserved({ request, gateway: { registry, lanes } }: OpenedContext): Unserved {
  const lost = findLostPath(request, registry, lanes.keys());
  return { protocol: lost?.protocol ?? registry.fallback(request.headers, new URL(request.url).pathname), lost };
}

/** The error for a path that is not served, or not with this method. */
async function refusalOf(found: NonNullable<Match> | Unserved, context: RequestContext): Promise<GatewayError> {
  const { request, caller, gateway } = context;
  if ("lost" in found) {
    refuseUpgrade(request);
    const reason = found.lost ? undefined : found.protocol.unserved?.(new URL(request.url).pathname);
    // A status from 500 on would be tried again.
    if (reason !== undefined) return new GatewayError("not_found", reason);
    return notServed(request, found.lost, caller, gateway);
  }
  const lane = enter(found, context);
  await checkNamed(found.protocol, found.params, lane, context);
  return methodNotAllowed(request.method, "allow" in found ? found.allow : []);
}

/** The body of a request. */
type Received = JsonUpload;

const NO_BODY: Received = { body: undefined, isShort: true, isLarge: false };

/** Admits a request that is about to arrive, and reads its body. */
function receive({ operation, body: kind }: AnyProtocol, context: RequestContext): Received | Promise<Received> {
  const { request, isServed, caller, gateway: { guards, observe }, requestLog } = context;
  const { headers } = request;
  let account: Account | undefined;
  // An explained request is not sent to any upstream.
  if (!headers.has("x-laneway-explain") || !wantsExplanation({ headers })) {
    if (kind !== "none") requestLog.capture = observe.captures?.loaded?.begin(context);
    if (LIMITED.has(operation)) {
      guards.loadShedder.check(guards.limits, operation === "complete");
      if (caller.quota) account = guards.admission(caller);
    }
  }
  const arrived = account?.receive();
  if (kind === "none") {
    arrived?.();
    return NO_BODY;
  }
  const reading = kind === "json"
    ? guards.uploads.readJson(request, caller.owner, isServed, requestLog.capture?.bodyCopy)
    : readForm(request, kind, caller.owner, guards.uploads);
  return arrived ? reading.finally(arrived) : reading;
}

async function readForm(request: Request, kind: "form" | "bytes", owner: string, uploads: Uploads): Promise<Received> {
  if (kind === "bytes") {
    const { bytes: body, release } = await uploads.readBytes(request, owner);
    return { body, isShort: false, isLarge: false, release };
  }
  const { fields, release } = await uploads.read(request, owner);
  return { body: fields, isShort: false, isLarge: false, release };
}

/** Passes a request to its operation. `named`: the lane that the path names, if any. */
function dispatch<K extends ServedOperation>(
  protocol: Protocol<K>,
  params: WireRequest["params"],
  named: Lane | undefined,
  { body, isShort, isLarge, release }: Received,
  context: RequestContext,
): Promise<Response> {
  const { request: { headers }, url, requestLog } = context;
  requestLog.isLarge = isLarge;
  if (release) requestLog.atEnd(release);
  requestLog.capture?.receive(protocol.body, body);
  const wire = { body, headers, params, query: url?.searchParams ?? new URLSearchParams() };
  const variant = protocol.variant?.(wire) as Protocol<K> | undefined;
  if (variant) [requestLog.entry.protocol, context.protocol] = [variant.name, variant as AnyProtocol];
  const serving = variant ?? protocol;
  if (isShort) return operate(serving, wire, serving.parse(wire, context), named, context);
  const parsed = runStep(() => serving.parse(wire, context));
  return parsed instanceof Promise
    ? parsed.then((input) => operate(serving, wire, input, named, context))
    : operate(serving, wire, parsed, named, context);
}

function operate<K extends ServedOperation>(
  protocol: Protocol<K>,
  wire: WireRequest,
  input: Input<K>,
  named: Lane | undefined,
  context: RequestContext,
): Promise<Response> {
  const { operation } = protocol;
  const lane = named ?? laneFor(operation, input, context);
  context.requestLog.entry.lane = lane.name;
  return OPERATIONS[operation]({ protocol, wire, input, lane, context });
}

function refuseUpgrade({ headers }: Request): void {
  if (headers.get("upgrade")?.toLowerCase() !== "websocket") return;
  throw new GatewayError("upgrade_required", "The path does not serve WebSockets: use HTTP");
}

/** Throws `not_found` or `model_not_found` if the id in the path names nothing. */
async function checkNamed(
  { operation }: AnyProtocol,
  { id }: WireRequest["params"],
  lane: Lane | undefined,
  context: RequestContext,
): Promise<void> {
  if (id === undefined || operation === "conversation" || operation === "files") return;
  const isModel = operation === "getModel" || TASK_OF[operation] !== undefined;
  if (!isModel) await findResponse(id, context);
  else if (lane) await findModel(id, lane, context);
}

/** `isReading`: whether the body was on its way. */
async function answerError(thrown: unknown, context: RequestContext, isReading: boolean): Promise<Response> {
  const { protocol, requestLog, id } = context;
  const error = await describeError(isReading ? whyUnread(thrown, context) : thrown, context);
  requestLog.fail(error);
  if (context.gateway.observe.audit) auditRefusal(error, context.gateway.observe.audit, context);
  const response = protocol.serializeError(error, { requestId: id });
  requestLog.close(response.status);
  return response;
}

/** Deno (2.9.6) breaks off every body that is still arriving when its server shuts down or is replaced by another. */
function whyUnread(thrown: unknown, { gateway: { process }, renewals }: RequestContext): unknown {
  const isBrokenOff = process.draining.aborted || process.renewals.count > renewals;
  return isBrokenOff && toGatewayError(thrown).code === "client_closed" ? shuttingDown() : thrown;
}

/** Records a key that the gateway itself refused. Refusals by an upstream do not concern the gateway's keys. */
function auditRefusal(
  { code, message, details }: GatewayError,
  audit: Audit,
  { peer, requestLog }: RequestContext,
): void {
  if ((code !== "authentication" && code !== "permission") || details.upstreamStatus !== undefined) return;
  // A `permission` message may name something from the request, so it is left out.
  const [reason] = code === "authentication" ? message.split(":", 1) : [];
  audit.write({ event: "key refused", code, key: requestLog.entry.key, reason, address: peer?.hostname });
}
