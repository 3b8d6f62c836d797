import { isJsonObject } from "../../src/canonical/json.ts";
import { upstreamStreamError } from "../shared/errors.ts";

/** Throws if an answer with a 2xx status reports a failure, as `error`, or as `detail` as FastAPI does. */
export function refuseFailure(body: unknown): void {
  if (isJsonObject(body) && (body.error || body.detail)) throw upstreamStreamError(body);
}
