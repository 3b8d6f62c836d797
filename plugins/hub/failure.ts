import { isJsonObject } from "../../src/canonical/json.ts";
import { upstreamStreamError } from "../shared/errors.ts";

/** Throws where an answer whose status was 2xx tells of a failure: as `error`, or as FastAPI does, as `detail`. */
export function refuseFailure(body: unknown): void {
  if (isJsonObject(body) && (body.error || body.detail)) throw upstreamStreamError(body);
}
