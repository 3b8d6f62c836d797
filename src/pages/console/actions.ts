/** The actions of operators. Each is JSON that is posted from the console's own pages. */
import { isJsonObject, type JsonObject } from "../../canonical/json.ts";
import { type RequestContext, withCaller } from "../../context/request_context.ts";
import { GatewayError } from "../../errors.ts";
import { readJsonBody } from "../../http/body.ts";
import { checkOrigin, operatorOf } from "./sessions.ts";

/** Runs an action. `context.caller` is the operator. */
export type Action = (context: RequestContext, order: JsonObject) => Response | Promise<Response>;

const LONGEST_ORDER = 2 ** 20;
/** How long the body of an action may take to arrive, in milliseconds. */
const PATIENCE_MS = 10_000;

/** Authenticates the operator before it reads the body. */
export async function runAction(order: Action, context: RequestContext): Promise<Response> {
  const { request, isServed, gateway } = context;
  checkOrigin(context);
  const known = withCaller(context, await operatorOf(context));
  // A form on another site can have other content types, but not this one.
  if (!/^application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) {
    throw new GatewayError("unsupported_media_type", "Expected content-type application/json");
  }
  const limits = { limitBytes: LONGEST_ORDER, timeoutMs: PATIENCE_MS, isServed, json: gateway.guards.limits.json };
  const body = await readJsonBody(request, limits);
  if (!isJsonObject(body)) throw new GatewayError("invalid_request", "Expected a JSON object");
  return await order(known, body);
}
