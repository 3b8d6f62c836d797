/** One request up to its operation, and the answer: match, authenticate, read, dispatch, answer. */
import type { Gateway } from "./context/gateway.ts";
import type { Observers } from "./context/observers.ts";
import { finish } from "./context/finalize_response.ts";
import { openContext, type RequestContext, shuttingDown, withCaller, withProtocol } from "./context/request_context.ts";
import { TASK_OF } from "./canonical/operations.ts";
import type { FormField } from "./contract/context.ts";
import type { AnyProtocol, Protocol } from "./contract/protocol.ts";
import { GatewayError, toGatewayError } from "./errors.ts";
import type { Account } from "./http/admission.ts";
import type { Caller } from "./http/auth.ts";
import type { Uploads } from "./http/uploads.ts";
import { checkHeaders } from "./http/size.ts";
import { checkHost } from "./http/host.ts";
import { findLostPath } from "./http/lost_path.ts";
import { withoutBody } from "./http/respond.ts";
import { methodNotAllowed } from "./http/operator_endpoints.ts";
import type { Lane } from "./lanes/lane.ts";
import { describeError } from "./inference/describe_error.ts";
import { wantsExplanation } from "./inference/explain.ts";
import { findResponse } from "./endpoints/stored_responses.ts";
import type { ServedOperation } from "./inference/incoming.ts";
import { OPERATIONS } from "./endpoints/mod.ts";
import { answerPage, findPage } from "./pages/mod.ts";
import { findLane, findModel, laneFor, notServed } from "./inference/resolve.ts";
import type { Audit } from "./observe/audit.ts";
import type { Peer } from "./platform/platform.ts";
import { runStep } from "./util/sliced_work.ts";

type Params = Record<string, string | undefined>;

/** `peer`: the caller's address, absent for calls within the process. `known`: the caller, if already authenticated. */
export async function handle(
  request: Request,
  peer: Peer | undefined,
  gateway: Gateway,
  known?: Caller,
): Promise<Response> {
  const loading = loadOnce(gateway.observe);
  if (loading) await loading;
  const opened = openContext(request, peer, gateway);
  const { url, requestLog } = opened;
  const { entry } = requestLog;
  requestLog.isFromConsole = known !== undefined;
  let context: RequestContext | undefined;
  try {
    checkHost(request, url);
    const service = gateway.operatorEndpoints(request, url);
    if (service) {
      requestLog.discard();
      return await service;
    }

    const page = findPage(url, gateway.observe.feed !== undefined);
    if (page) return await servePage(page, withProtocol(opened), known);
    const match = gateway.registry.match(request, url);
    const lost = match ? undefined : findLostPath(request, gateway.registry, gateway.lanes.keys());
    context = withProtocol(opened, (match ?? lost)?.protocol);
    entry.protocol = match?.protocol.name;
    checkHeaders(request.headers, gateway.guards.limits.headerBytes);

    context = withCaller(
      context,
      known ?? await gateway.guards.authenticate(request, peer, context.protocol.keyPlaces),
    );
    if (match?.protocol.operation !== "connect") refuseUpgrade(request);
    if (!match) throw notServed(request, lost, context.caller, gateway);

    const lane = "lane" in match.params ? findLane(match.params.lane, context) : undefined;
    entry.lane = lane?.name;
    if ("allow" in match) {
      await checkNamed(match.protocol, match.params, lane, context);
      throw methodNotAllowed(request.method, match.allow);
    }
    if (match.protocol.load) await match.protocol.load();
    const answer = await dispatch<ServedOperation>(match.protocol, match.params, lane, context);
    return await concluded(answer, context);
  } catch (thrown) {
    context ??= withProtocol(opened);
    const answer = await answerError(thrown, context);
    return await concluded(answer, context);
  }
}

/** Loads the modules for tracing and recording if they are configured. `undefined` once they are loaded. */
function loadOnce({ tracing, captures }: Observers): Promise<unknown> | undefined {
  const isTraced = !tracing || tracing.tracer !== undefined;
  const isRecorded = !captures || captures.loaded !== undefined;
  return isTraced && isRecorded ? undefined : Promise.all([tracing?.load(), captures?.load()]);
}

/** The finished answer. A copy is recorded if the configuration wants one. */
function concluded(answer: Response, context: RequestContext): Response | Promise<Response> {
  return context.requestLog.capture ? recorded(answer, context) : finish(answer, context);
}

async function recorded(answer: Response, context: RequestContext): Promise<Response> {
  const { requestLog } = context;
  const kept = await requestLog.capture?.answered(answer, requestLog) ?? answer;
  const finished = finish(kept, context);
  requestLog.capture?.concluded(finished);
  return finished;
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
  if (!(answer instanceof Response)) return await handle(answer.request, peer, gateway, answer.caller);
  return request.method === "HEAD" ? withoutBody(answer) : answer;
}

/** Reads the request and passes it to its operation. `named`: the lane that the path names, if any. */
async function dispatch<K extends ServedOperation>(
  protocol: Protocol<K>,
  params: Params,
  named: Lane | undefined,
  context: RequestContext,
): Promise<Response> {
  const { request: { headers }, url, gateway, requestLog } = context;
  const { operation } = protocol;
  gateway.observe.feed?.begin(context.id, requestLog, headers.get("user-agent"));
  let account: Account | undefined;
  // An explained request is not sent to any upstream.
  if (!wantsExplanation({ headers })) {
    if (protocol.body !== "none") requestLog.capture = gateway.observe.captures?.loaded?.begin(context);
    if (runsModel(operation)) {
      gateway.guards.loadShedder.check(gateway.guards.limits);
      account = gateway.guards.admission(context.caller);
    }
  }
  const body = await readBody(protocol.body, context, account?.receive());
  const wire = { body, headers, params, query: url?.searchParams ?? new URLSearchParams() };
  const input = await runStep(() => protocol.parse(wire, context));
  const lane = named ?? laneFor(operation, input, context);
  requestLog.entry.lane = lane.name;
  return await OPERATIONS[operation]({ protocol, wire, input, lane, context });
}

function runsModel(operation: ServedOperation): boolean {
  return operation !== "countTokens" && TASK_OF[operation] !== undefined;
}

/** `received` is called when the body is here, or will not come. */
async function readBody(kind: AnyProtocol["body"], context: RequestContext, received?: () => void): Promise<unknown> {
  const { request, isServed, caller: { owner }, gateway: { guards: { uploads }, process }, requestLog } = context;
  try {
    if (kind === "none") return undefined;
    const { body, isLarge, release } = kind === "json"
      ? await uploads.readJson(request, owner, isServed, requestLog.capture?.body)
      : await readForm(request, owner, uploads);
    requestLog.isLarge = isLarge;
    requestLog.atEnd(release);
    if (kind === "form") requestLog.capture?.captureForm(body as FormField[]);
    return body;
  } catch (thrown) {
    // Deno (2.9.6) breaks off every body that is still arriving when its server shuts down or is replaced by another.
    const isBrokenOff = process.draining.aborted || process.renewals() > context.renewals;
    throw isBrokenOff && toGatewayError(thrown).code === "client_closed" ? shuttingDown() : thrown;
  } finally {
    received?.();
  }
}

async function readForm(request: Request, owner: string, uploads: Uploads) {
  const { fields, release } = await uploads.read(request, owner);
  return { body: fields, isLarge: false, release };
}

function refuseUpgrade({ headers }: Request): void {
  if (headers.get("upgrade")?.toLowerCase() !== "websocket") return;
  throw new GatewayError("upgrade_required", "The path does not serve WebSockets: use HTTP");
}

/** Throws `not_found` or `model_not_found` if the id in the path names nothing. */
async function checkNamed(
  { operation }: AnyProtocol,
  { id }: Params,
  lane: Lane | undefined,
  context: RequestContext,
): Promise<void> {
  if (id === undefined || operation === "conversation") return;
  const isModel = operation === "getModel" || TASK_OF[operation] !== undefined;
  if (!isModel) await findResponse(id, context);
  else if (lane) await findModel(id, lane, context);
}

async function answerError(thrown: unknown, context: RequestContext): Promise<Response> {
  const { protocol, requestLog, id } = context;
  const error = await describeError(thrown, context);
  requestLog.fail(error);
  if (context.gateway.observe.audit) auditRefusal(error, context.gateway.observe.audit, context);
  const response = protocol.serializeError(error, { requestId: id });
  requestLog.close(response.status);
  return response;
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
