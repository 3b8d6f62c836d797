/** The console: pages for operators, and the data of those pages. */
import { isJsonObject, type JsonObject } from "../../canonical/json.ts";
import { type OwnRequest, type RequestContext, withCaller } from "../../context/request_context.ts";
import { GatewayError } from "../../errors.ts";
import { readJsonBody } from "../../http/body.ts";
import { methodNotAllowed } from "../../http/operator_endpoints.ts";
import { mayAsk } from "../../inference/resolve.ts";
import { LimitedBytesTransformStream } from "../../std/streams/limited_bytes_transform_stream.ts";
import { toText } from "../../std/streams/to_text.ts";
import { Slots } from "../../util/shares.ts";
import { flushEventLoop, runExclusively } from "../../util/sliced_work.ts";
import { usagePage } from "../usage_page.ts";
import { readAnswer } from "./answer_read.ts";
import { ASSETS } from "./assets.ts";
import { clients } from "./clients.ts";
import {
  applyConfiguration,
  checkConfiguration,
  completeConfiguration,
  listSettings,
  readConfiguration,
} from "./configuration.ts";
import { clientLibraries } from "./client_libraries.ts";
import { fidelity } from "./fidelity.ts";
import { conversation, conversations, turn } from "./conversations.ts";
import { examine, health } from "./health.ts";
import { createKey, limitKey, listKeys, revokeKey, rotateKey } from "./keys.ts";
import { forgetRefusals, live, status } from "./live.ts";
import { beginLogin, finishLogin, loginWays } from "./oidc.ts";
import { record, recordedText, records } from "./records.ts";
import { requestAgain } from "./replayed.ts";
import { series } from "./series.ts";
import { readSetup, setUp } from "./setup.ts";
import { asCaller, checkOrigin, logIn, logOut, operatorOf } from "./sessions.ts";
import { understood } from "./understood.ts";

/** Each of these takes so long that many at once would hold up all other requests. */
const LONG: ReadonlySet<string> = new Set([
  "record",
  "record/answer",
  "record/request",
  "record/text",
  "record/understood",
  "records",
  "clients",
  "configuration",
  "configuration/entries",
  "series",
  "session/turn",
]);
const slots = new Slots(1);

/** Few operators open a form, so that its part is loaded with the first one. */
const forms = () => import("./edits.ts");

const files = () => import("./files.ts");

/** The data below `/console/api/` that an operator may read. */
const READ: Readonly<Record<string, (context: RequestContext) => Response | Promise<Response>>> = {
  clients,
  fidelity,
  files: async (context) => await (await files()).listFiles(context),
  health,
  libraries: clientLibraries,
  live,
  models,
  record,
  "record/answer": readAnswer,
  "record/request": requestAgain,
  "record/text": recordedText,
  "record/understood": understood,
  records,
  series,
  session: conversation,
  "session/turn": turn,
  sessions: conversations,
  status,
  usage: usagePage,
  keys: listKeys,
  configuration: readConfiguration,
  "configuration/schema": completeConfiguration,
  "configuration/settings": listSettings,
  "configuration/entries": async (context) => await (await forms()).readEntries(context),
  setup: readSetup,
};

/** The steps of a login at a provider, which need no session. */
const LOGIN: Readonly<Record<string, (context: RequestContext) => Promise<Response>>> = {
  ways: loginWays,
  oidc: beginLogin,
  callback: finishLogin,
};

/** The actions below `/console/api/`. */
const ACTIONS: Readonly<Record<string, Action>> = {
  "files/delete": async (context, body) => await (await files()).deleteFile(context, body),
  "keys/create": createKey,
  "keys/limit": limitKey,
  "keys/revoke": revokeKey,
  "keys/rotate": rotateKey,
  "configuration/check": checkConfiguration,
  "configuration/apply": applyConfiguration,
  "configuration/plan": async (context, body) => await (await forms()).planEdits(context, body),
  "upstreams/forget": forgetRefusals,
  "health/examine": examine,
  "upstreams/test": async (context, body) => await (await forms()).testUpstream(context, body),
  "setup/open": setUp("open"),
  "setup/find": setUp("find"),
  "setup/check": setUp("check"),
  "setup/plan": setUp("plan"),
  "setup/write": setUp("write"),
  "setup/connect": setUp("connect"),
};

/** The longest possible key, in bytes. */
const LONGEST_KEY = 8_192;
/** How long a key may take to arrive, in milliseconds. */
const KEY_PATIENCE_MS = 10_000;

/**
 * Everything below `/console`. The files need no login, because they contain nothing about this gateway. A path below
 * `call/` is the operator's own request to the gateway.
 */
export async function consolePage(context: RequestContext): Promise<Response | OwnRequest> {
  const { request: { method }, url } = context;
  const name = url!.pathname.replace(/^\/console\/?/, "");
  if (name.startsWith("playground/")) return await (await import("./playground.ts")).playground(name, context);
  if (name.startsWith("call/")) return await called(name.slice("call".length), context);
  if (name === "login" || name === "logout") return await session(name, context);
  if (name.startsWith("api/")) return await answer(name, context);
  checkMethod(method, ["GET", "HEAD"]);
  if (Object.hasOwn(LOGIN, name)) return await LOGIN[name]!(context);
  if (url!.pathname === "/console") return redirect("console/");
  return await (ASSETS.get(name) ?? notThere(name))(context.request);
}

async function answer(name: string, context: RequestContext): Promise<Response> {
  const { request: { method } } = context;
  const asked = name.slice("api/".length);
  const action = Object.hasOwn(ACTIONS, asked) ? ACTIONS[asked] : undefined;
  checkMethod(method, action ? ["POST"] : ["GET", "HEAD"]);
  const response = action ? await runAction(action, context) : await read(name, asked, context);
  response.headers.set("cache-control", "no-store");
  return response;
}

/** A request to another path of the gateway, with the operator as its caller. It counts like any other request. */
async function called(path: string, context: RequestContext): Promise<OwnRequest> {
  checkOrigin(context);
  if (context.request.headers.get("upgrade")?.toLowerCase() === "websocket") {
    throw new GatewayError("upgrade_required", "The console opens no WebSockets: use HTTP");
  }
  const own = await asCaller(context, path);
  return /^\/(console(\/|$)|\/)/.test(path) ? notThere(path) : own;
}

async function read(name: string, asked: string, context: RequestContext): Promise<Response> {
  const caller = await operatorOf(context);
  const answer = Object.hasOwn(READ, asked) ? READ[asked] : undefined;
  if (!answer) return notThere(name);
  const run = () => answer(withCaller(context, caller));
  return LONG.has(asked)
    ? await slots.run(caller.owner, context.signal, () => flushEventLoop().then(run))
    : await run();
}

async function session(name: "login" | "logout", context: RequestContext): Promise<Response> {
  const { request } = context;
  checkMethod(request.method, ["POST"]);
  checkOrigin(context);
  const { cookie, next }: { cookie?: string; next?: string } = name === "logout"
    ? await logOut(context)
    : { cookie: await logIn(context, await keyIn(request)) };
  const headers = { ...(cookie !== undefined && { "set-cookie": cookie }), "cache-control": "no-store" };
  return next === undefined ? new Response(null, { status: 204, headers }) : Response.json({ next }, { headers });
}

function checkMethod(method: string, allow: readonly string[]): void {
  if (!allow.includes(method)) throw methodNotAllowed(method, allow);
}

/** The body is the key. Its sender is not authenticated yet, so it has little time and room. */
async function keyIn({ body }: Request): Promise<string> {
  if (!body) return "";
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), KEY_PATIENCE_MS);
  try {
    const limited = body.pipeThrough(new LimitedBytesTransformStream(LONGEST_KEY, { error: true }), late);
    return (await toText(limited)).trim();
  } catch (cause) {
    if (!late.signal.aborted && !(cause instanceof RangeError)) throw cause;
    throw new GatewayError("authentication", "Invalid API key", { cause });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Redirects to the path with a slash, which the relative addresses of the console's files need. The location is
 * relative as well, for a proxy that serves the gateway below a path.
 */
function redirect(location: string): Response {
  return new Response(null, { status: 308, headers: { location } });
}

function notThere(name: string): never {
  throw new GatewayError("not_found", `The console has no page "${name}"`);
}

/** The models that the operator may use, by lane. */
async function models({ gateway: { lanes }, caller, hide, note, signal }: RequestContext): Promise<Response> {
  const open = [...lanes.values()].filter(({ name }) => caller.lanes?.includes(name) ?? true);
  // The lists are read outside the turn, so that a slow catalog does not keep others waiting.
  const lists = await Promise.all(open.map(async (lane) => ({ name: lane.name, models: await lane.list(note) })));
  const write = () => {
    signal.throwIfAborted();
    const data = lists.flatMap(({ name, models }) =>
      models.filter(({ id }) => mayAsk(id, caller)).map(({ id, task }) => ({ lane: name, id: hide(id), task }))
    );
    return Response.json({ data });
  };
  return await runExclusively(caller.owner, () => flushEventLoop().then(write));
}

/** Runs an action. `context.caller` is the operator. */
type Action = (context: RequestContext, body: JsonObject) => Response | Promise<Response>;

const LONGEST_BODY = 2 ** 20;
/** How long the body of an action may take to arrive, in milliseconds. */
const PATIENCE_MS = 10_000;

/** Authenticates the operator before it reads the body. */
async function runAction(action: Action, context: RequestContext): Promise<Response> {
  const { request, isServed, gateway } = context;
  checkOrigin(context);
  const known = withCaller(context, await operatorOf(context));
  // A form on another site can have other content types, but not this one.
  if (!/^application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) {
    throw new GatewayError("unsupported_media_type", "Expected content-type application/json");
  }
  const limits = { limitBytes: LONGEST_BODY, timeoutMs: PATIENCE_MS, isServed, json: gateway.guards.limits.json };
  const body = await readJsonBody(request, limits);
  if (!isJsonObject(body)) throw new GatewayError("invalid_request", "Expected a JSON object");
  return await action(known, body);
}
